-- Which rows satisfy which requirement. One sign of removal or of presence is enough; what counts as one is decided
-- in adjudicate.sql.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, k.stay_id, k.index_time as t,
        a.rule, a.cut, a.last_output, a.removals, a.put_back, a.still_in, a.needs
    from task k
    join adjudicated a using (task_id)
),
urine as (
    select s.task_id, o.eid, o.itemid, o.charttime
    from span s
    join icu.outputevents o using (task_id)
    where o.itemid in (226559, 226560, 226561, 226567)
      and o.charttime >= s.t - interval 6 hour
),
device as (
    select s.task_id, p.eid
    from span s
    join icu.procedureevents p using (task_id)
    where p.itemid = 229351 and coalesce(p.endtime, s.as_of) >= s.t - interval 6 hour
),
beside as (  -- what an answer may well show although it decides nothing
    select task_id, eid from urine
    union
    select task_id, eid from device
    union
    select s.task_id, d.eid
    from span s
    join icu.datetimeevents d using (task_id)
    where d.itemid in (229352, 229353, 224878, 227584) and d.charttime >= s.t - interval 6 hour
    union
    select s.task_id, o.eid
    from span s
    join hosp.poe o using (task_id)
    where regexp_matches(o.order_subtype, '^tubes/drains$', 'i') and o.ordertime >= s.t - interval 24 hour
    union
    select s.task_id, p.eid
    from span s
    join icu.procedureevents p using (task_id)
    where p.itemid = 225470 and p.starttime >= s.t - interval 24 hour
    union
    select s.task_id, i.eid
    from span s
    join icu.icustays i using (task_id)
    where i.stay_id = s.stay_id
),
treatment as (
    select s.task_id, i.eid
    from span s
    join icu.inputevents i using (task_id)
    where i.itemid in (
            221906, 221289, 229617, 222315, 221749, 229630, 229631, 229632, 221662, 229709, 229764,
            221794, 228340, 221555, 222062, 229233)
      and i.starttime >= s.t
    union
    select s.task_id, p.eid
    from span s
    join icu.procedureevents p using (task_id)
    where p.itemid in (225802, 225803, 225809, 225955)
    union
    select s.task_id, c.eid
    from span s
    join icu.chartevents c using (task_id)
    where c.itemid = 224366 and c.charttime >= s.t
),
found as (
    select task_id, 'arrival' as requirement, index_eid as eid, 'sufficient' as role from span
    union all
    select task_id, 'removal', unnest(removals), 'sufficient' from span
    union all
    select task_id, 'removal_before', unnest(list_concat(coalesce(removals, []), coalesce(put_back, []))), 'sufficient'
    from span
    union all
    select task_id, 'still_in', unnest(still_in), 'sufficient' from span
    union all
    select task_id, 'need', unnest(needs), 'sufficient' from span
    union all
    select task_id, 'no_need', unnest(needs), 'qualifying' from span
    union all
    select task_id, unnest(['need', 'no_need']), eid, 'relevant' from treatment
    union all
    select s.task_id, 'last_sign', u.eid, 'sufficient'
    from span s
    join urine u on u.task_id = s.task_id and u.itemid = 226559 and u.charttime = s.last_output
    where s.rule in ('left_unit', 'not_charted')
    union all
    select s.task_id, 'last_sign', d.eid, 'sufficient'
    from span s
    join device d using (task_id)
    where s.rule in ('left_unit', 'not_charted') and s.last_output is null
    union all
    select s.task_id, 'left_unit', i.eid, 'sufficient'
    from span s
    join icu.icustays i using (task_id)
    where s.rule = 'left_unit' and i.stay_id = s.stay_id
    union all
    select s.task_id, 'left_unit', x.eid, 'sufficient'
    from span s
    join icu.icustays i on i.task_id = s.task_id and i.stay_id = s.stay_id
    join hosp.transfers x on x.task_id = s.task_id
        and (x.intime between i.outtime - interval 1 minute and i.outtime + interval 1 minute
             or x.outtime between i.outtime - interval 1 minute and i.outtime + interval 1 minute)
    where s.rule = 'left_unit'
    union all
    select task_id, 'nothing_later', unnest(list_concat(coalesce(removals, []), coalesce(still_in, []))), 'qualifying'
    from span
    where rule in ('left_unit', 'not_charted')
    union all
    select task_id, unnest(['removal', 'still_in', 'last_sign', 'nothing_later']), eid, 'relevant' from beside
)
select task_id, requirement, eid as alternative, eid, role
from found
group by task_id, requirement, eid, role
order by task_id, requirement, role, eid
