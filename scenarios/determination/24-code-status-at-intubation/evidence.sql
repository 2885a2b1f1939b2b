-- Which rows satisfy which requirement. Where an order and the chart agree and both are in force, either shows
-- the status; where they disagree, both together.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_eid, k.index_time as t,
        a.rule, a.arrival, a.entered, a.in_force, a.refusing, a.arrests, a.entries
    from task k
    join adjudicated a using (task_id)
),
index_row as (
    select s.task_id, p.eid, p.eid = s.index_eid or p.starttime = s.t as starts
    from span s
    join task k using (task_id)
    join icu.procedureevents p on p.task_id = s.task_id and p.stay_id = k.stay_id
    where p.itemid in (224385, 225792)
      and p.starttime between s.t and s.t + interval 60 minute
),
around as (  -- entries of the whole stay: earlier ones, reversals afterwards, and those noted too late
    select s.task_id, c.eid
    from span s
    join icu.chartevents c using (task_id)
    where c.itemid in (223758, 228687, 229784) and c.charttime >= s.arrival
    union
    select s.task_id, o.eid
    from span s
    join hosp.poe o using (task_id)
    where regexp_matches(o.order_subtype, '^code status$', 'i') and o.ordertime >= s.arrival
),
beside as (  -- talks about goals of care, which set no status
    select s.task_id, p.eid
    from span s
    join icu.procedureevents p using (task_id)
    where p.itemid in (228125, 225466) and p.starttime >= s.arrival
    union
    select s.task_id, o.eid
    from span s
    join hosp.poe o using (task_id)
    where regexp_matches(o.order_subtype, 'palliative', 'i') and o.ordertime >= s.arrival
),
found as (
    select task_id, 'ventilation' as requirement, eid as alternative, eid,
        case when starts then 'sufficient' else 'relevant' end as role
    from index_row
    union all
    select task_id, 'deciding_entry', eid, eid, 'sufficient'
    from (select task_id, unnest(in_force) as eid from span where rule in ('limited', 'not_limited'))
    union all
    select task_id, unnest(['deciding_entry', 'no_entry', 'entries_at_odds']), eid, eid, 'relevant' from around
    union all
    select task_id, unnest(['deciding_entry', 'no_entry', 'entries_at_odds']), eid, eid, 'relevant' from beside
    union all
    select s.task_id, 'no_entry', e.eid, e.eid, 'qualifying'
    from (select task_id, unnest(entries) as eid from span where rule = 'no_entry') e
    join span s using (task_id)
    union all
    select task_id, 'entries_at_odds', 'both', eid, 'sufficient'
    from (select task_id, unnest(in_force) as eid from span where rule = 'sources_at_odds')
    union all
    select task_id, 'resuscitation_refused', eid, eid, 'sufficient'
    from (select task_id, unnest(refusing) as eid from span where rule = 'cardiac_arrest')
    union all
    select task_id, 'cardiac_arrest', eid, eid, 'sufficient'
    from (select task_id, unnest(arrests) as eid from span where rule = 'cardiac_arrest')
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
