-- Which rows satisfy which requirement. What is a dose and what a culture is decided in adjudicate.sql. One dose can
-- stand in the eMAR and in the ICU record: rows within an hour of each other are alternatives.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.doses, a.cultures, a.cancelled, a.disputed_growth,
        k.index_time as t,
        k.index_time + interval 96 hour as opens,
        k.index_time + interval 120 hour as closes
    from task k
    join adjudicated a using (task_id)
),
dose as (
    select task_id, rule, t, opens, closes, x.eid, x.moment, x.what
    from (select task_id, rule, t, opens, closes, unnest(doses) as x from span)
),
last_dose as (
    select task_id, max(moment) as moment
    from dose
    where what = 'given' and moment <= opens
    group by task_id
),
beside as (  -- what an answer may well show although it does not decide
    select m.task_id, m.eid
    from hosp.microbiologyevents m
    join span s using (task_id)
    where coalesce(m.charttime, m.chartdate) between s.t - interval 48 hour and s.as_of
    union
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t and s.as_of and regexp_matches(e.medication, 'vancomycin|vancocin', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.t and s.as_of and i.itemid = 225798
    union
    select o.task_id, o.eid
    from hosp.prescriptions o
    join span s using (task_id)
    where regexp_matches(o.drug, 'vancomycin|vancocin', 'i') and o.starttime between s.t - interval 24 hour and s.as_of
),
found as (
    select task_id, 'first_dose' as requirement, eid, 'sufficient' as role
    from dose
    where what = 'given' and moment >= t and moment <= t + interval 1 hour
    union all
    select task_id, 'culture_result', unnest(cultures), 'sufficient' from span
    union all
    select d.task_id, 'last_dose', d.eid, 'sufficient'
    from dose d
    join last_dose l using (task_id)
    where d.what = 'given' and d.moment between l.moment - interval 1 hour and l.moment
    union all
    select task_id, 'late_dose', eid, 'sufficient'
    from dose
    where what = 'given' and moment > opens and moment <= closes
    union all
    select task_id, 'no_late_dose', eid, 'qualifying'
    from dose
    where what = 'given' and moment > opens and moment <= closes
    union all
    select task_id, 'no_culture', unnest(cultures), 'qualifying' from span
    union all
    select task_id, 'disputed_growth', unnest(disputed_growth), 'sufficient' from span
    union all
    select task_id, unnest(['first_dose', 'culture_result', 'no_culture', 'no_late_dose']), eid, 'relevant' from beside
)
select distinct task_id, requirement, eid as alternative, eid, role
from found
order by task_id, requirement, role, eid
