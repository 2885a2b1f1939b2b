-- Which rows satisfy which requirement. What a dose and an INR amount to is decided in adjudicate.sql; a
-- laboratory row and its copy in the ICU chart (227467) are alternatives of each other.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.drawn, a.repeat_by, a.doses, a.inrs, a.interfering,
        k.index_time as t,
        k.index_time + interval 24 hour as closes
    from task k
    join adjudicated a using (task_id)
),
dose as (
    select task_id, rule, x.eid, x.moment, x.state, x.latest_eid
    from (select task_id, rule, unnest(doses) as x from span)
),
inr as (
    select task_id, rule, t, repeat_by, x.eid, x.drawn, x.number, x.in_time
    from (select task_id, rule, t, repeat_by, unnest(inrs) as x from span)
),
shown as (  -- a laboratory row: itself, and its copy in the chart
    from shown_results(51237, 227467)
),
next_inr as (  -- the first one that came too late
    select task_id, eid
    from inr
    where number and drawn > repeat_by
    qualify row_number() over (partition by task_id order by drawn, eid) = 1
),
laboratory as (
    select s.task_id, l.eid
    from span s
    join hosp.labevents l using (task_id)
    where l.charttime > s.t + interval 10 minute and l.charttime <= s.repeat_by
),
beside as (  -- what an answer may well show although it does not decide
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t - interval 72 hour and s.as_of
      and regexp_matches(
          e.medication,
          'warfarin|coumadin|phytonadione|vitamin k|argatroban|apixaban|rivaroxaban|dabigatran|edoxaban', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.t - interval 72 hour and s.as_of and i.itemid in (225913, 227535, 225147)
    union
    select o.task_id, o.eid
    from hosp.prescriptions o
    join span s using (task_id)
    where regexp_matches(o.drug, 'warfarin|coumadin|phytonadione', 'i')
      and o.starttime <= s.as_of and coalesce(o.stoptime, s.as_of) >= s.t - interval 72 hour
),
found as (
    select s.task_id, 'index_inr' as requirement, h.eid as alternative, h.eid, 'sufficient' as role
    from span s
    join shown h on h.task_id = s.task_id and h.laboratory = s.index_eid
    union all
    select i.task_id, 'repeat_inr', h.eid, h.eid, 'sufficient'
    from inr i
    join shown h on h.task_id = i.task_id and h.laboratory = i.eid
    where i.number and i.in_time
    union all
    select task_id, unnest(['index_inr', 'repeat_inr', 'no_repeat']), eid, eid, 'relevant' from inr
    union all
    select task_id, 'no_repeat', eid, eid, 'qualifying' from inr where number and in_time
    union all
    select n.task_id, unnest(['no_repeat', 'laboratory_in_use']), n.eid, n.eid, 'sufficient'
    from next_inr n
    join span s using (task_id)
    where s.rule = 'not_repeated'
    union all
    select task_id, 'laboratory_in_use', eid, eid, 'sufficient' from laboratory
    union all
    select task_id, 'unresulted_inr', eid, eid, 'sufficient' from inr where not number and in_time
    union all
    select task_id, 'warfarin_dose', eid, eid, 'sufficient'
    from dose
    where (rule = 'given_while_high' and state = 'high')
       or (rule = 'resumed_in_dispute' and state = 'disputed')
       or (rule = 'resumed_after_fall' and state = 'fallen')
    union all
    select d.task_id, 'lower_inr', h.eid, h.eid, 'sufficient'
    from dose d
    join shown h on h.task_id = d.task_id and h.laboratory = d.latest_eid
    where (d.rule = 'resumed_in_dispute' and d.state = 'disputed')
       or (d.rule = 'resumed_after_fall' and d.state = 'fallen')
    union all
    select task_id, 'no_warfarin', eid, eid, 'qualifying' from dose where state in ('high', 'disputed', 'fallen')
    union all
    -- a dose that was due and was not given
    select d.task_id, 'no_warfarin', d.eid, d.eid, 'sufficient'
    from dose d
    join hosp.emar e using (task_id, eid)
    where d.rule = 'withheld' and regexp_matches(trim(e.event_txt), '^(not given|hold dose)', 'i')
    union all
    select s.task_id, 'interfering_drug', x.eid, x.eid, 'sufficient'
    from span s, unnest(s.interfering) as x(eid)
    union all
    select task_id, unnest(['warfarin_dose', 'no_warfarin', 'interfering_drug']), eid, eid, 'relevant' from beside
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
