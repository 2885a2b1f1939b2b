-- Which rows satisfy which requirement. What each glucose row amounts to is decided in adjudicate.sql; a
-- laboratory row and its copy in the chart are alternatives of each other.
with
span as (
    select
        k.task_id, k.stay_id, k.index_eid, k.as_of, a.rule, a.operating, a.readings,
        k.index_time as t,
        k.index_time + interval 60 minute as closes
    from task k
    join adjudicated a using (task_id)
),
reading as (
    select task_id, t, x.eid, x.itemid, x.moment, x.method, x.role
    from (select task_id, t, unnest(readings) as x from span)
),
recheck as (  -- one row of each low recheck: the laboratory's before its copy
    select task_id, eid
    from reading
    where role = 'low'
    qualify row_number() over (
        partition by task_id, method, moment order by itemid in (220621, 226537), eid) = 1
),
heart_rate as (
    select s.task_id, c.eid, c.charttime, s.t, s.closes
    from span s
    join icu.chartevents c on c.task_id = s.task_id and c.stay_id = s.stay_id and c.itemid = 220045
),
watched as (  -- from the last at or before T to the first at or after the hour
    select h.task_id, h.eid
    from heart_rate h
    where h.charttime >= coalesce(
            (select max(b.charttime) from heart_rate b where b.task_id = h.task_id and b.charttime <= b.t), h.t)
      and h.charttime <= coalesce(
            (select min(a.charttime) from heart_rate a where a.task_id = h.task_id and a.charttime >= a.closes), h.closes)
),
treatment as (
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t - interval 10 minute and s.closes
      and regexp_matches(e.medication, 'dextrose|glucagon|glucose|glutose|insulin', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.t - interval 10 minute and s.closes
      and i.itemid in (220952, 220950, 220951, 228140, 228141, 228142, 220949, 223258)
),
departure as (
    select s.task_id, u.eid
    from span s
    join icu.icustays u on u.task_id = s.task_id and u.stay_id = s.stay_id
    union
    select s.task_id, x.eid
    from span s
    join hosp.transfers x using (task_id)
    where x.intime > s.t and x.intime <= s.closes
),
found as (
    select task_id, 'index_glucose' as requirement, eid as alternative, eid, 'sufficient' as role
    from reading where role = 'index'
    union all
    select task_id, 'recovered', eid, eid, 'sufficient' from reading where role = 'recovered'
    union all
    select task_id, 'no_recovery', eid, eid, 'qualifying' from reading where role = 'recovered'
    union all
    select r.task_id, 'no_recovery', 'rechecks', r.eid, 'sufficient'
    from recheck r
    join span s using (task_id)
    where s.rule = 'still_low'
    union all
    select task_id, unnest(['recovered', 'no_recovery']), eid, eid, 'relevant' from reading where role <> 'recovered'
    union all
    select task_id, unnest(['recovered', 'no_recovery']), eid, eid, 'relevant' from treatment
    union all
    select task_id, 'unit_recording', eid, eid, 'sufficient' from watched
    union all
    select task_id, 'discordant_glucose', eid, eid, 'sufficient' from reading where role = 'discordant'
    union all
    select task_id, 'unresulted_glucose', eid, eid, 'sufficient' from reading where role = 'unresulted'
    union all
    select task_id, 'departure', eid, eid, 'sufficient' from departure
    union all
    select task_id, 'operating_room', eid, eid, 'sufficient'
    from (select task_id, unnest(operating) as eid from span)
    union all
    select task_id, 'charting_gap', eid, eid, 'relevant' from watched
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
