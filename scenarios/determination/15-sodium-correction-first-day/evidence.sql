-- Which rows satisfy which requirement. A sodium of the laboratory may be cited by its copy in the ICU chart
-- (220645, same draw and value). Any value above the limits proves a YES; where nothing is above them the peak
-- itself has to be shown, and a late value beside it.
with
span as (
    select
        k.task_id, k.as_of, a.rule, a.n0, a.rise, a.upper_limit, a.high_risk, a.low_potassium, a.sodiums,
        k.index_time as t,
        k.index_time + interval 24 hour as day_end
    from task k
    join adjudicated a using (task_id)
),
series as (
    select task_id, unnest(x.eids) as eid, x.moment as moment, x.value as value, x.rise as rise, x.place as place
    from (select task_id, unnest(sodiums) as x from span)
),
sodium as (
    select task_id, eid, moment, rise, place from series
    union
    select n.task_id, c.eid, n.moment, n.rise, n.place
    from series n
    join icu.chartevents c
        on c.task_id = n.task_id and c.charttime = n.moment and c.itemid = 220645 and c.valuenum = n.value
),
peak as (
    select n.task_id, n.eid
    from sodium n
    join span s using (task_id)
    where (s.rule in ('above_limits', 'above_limits_high_risk')
           and n.place in ('early', 'late') and n.rise > s.upper_limit)
       or (s.rule not in ('above_limits', 'above_limits_high_risk')
           and n.rise = s.rise and n.place in ('early', 'late', 'bound'))
),
last_before as (
    select task_id, eid from sodium where place = 'early'
    qualify rank() over (partition by task_id order by moment desc) = 1
),
context as (  -- worth showing, and decides nothing: glucose, whole blood, potassium, what speeds or slows correction
    select l.task_id, l.eid
    from hosp.labevents l
    join span s using (task_id)
    where l.itemid in (50931, 50809, 50824, 50971)
      and l.charttime between s.t - interval 12 hour and s.t + interval 28 hour
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.itemid in (225161, 228341) and i.starttime between s.t - interval 6 hour and s.day_end
    union
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t - interval 6 hour and s.day_end
      and regexp_matches(e.medication, 'sodium chloride (3|23)|hypertonic|desmopressin|tolvaptan|conivaptan', 'i')
      and not regexp_matches(e.medication, 'inhal|neb', 'i')
),
found as (
    select task_id, 'index_sodium' as requirement, eid, 'sufficient' as role from sodium where place = 'index'
    union all
    select task_id, 'peak_sodium', eid, 'sufficient' from peak
    union all
    select task_id, unnest(['peak_sodium', 'no_late_sodium', 'no_follow_up']), eid, 'relevant'
    from sodium where place <> 'index'
    union all
    select task_id, 'index_sodium', eid, 'relevant' from context
    union all
    select task_id, 'late_sodium', eid, 'sufficient' from sodium where place in ('late', 'bound')
    union all
    select task_id, unnest(['no_late_sodium', 'no_follow_up']), eid, 'qualifying'
    from sodium where place in ('late', 'bound')
    union all
    select task_id, 'no_follow_up', eid, 'qualifying' from sodium where place = 'early'
    union all
    select task_id, 'last_sodium', eid, 'sufficient' from last_before
    union all
    select task_id, 'risk_factor', unnest(low_potassium), 'sufficient' from span where low_potassium is not null
    union all
    select n.task_id, 'risk_factor', n.eid, 'sufficient'
    from sodium n
    join span s using (task_id)
    where n.place = 'index' and s.n0 <= 105
)
select distinct task_id, requirement, eid as alternative, eid, role
from found
order by task_id, requirement, role, eid
