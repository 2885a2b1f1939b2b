-- Which rows satisfy which requirement. A result of the laboratory may be cited by its copy in the ICU chart (same
-- draw and value); of a chemistry, all three values belong together.
with
span as (
    select k.task_id, k.stay_id, k.index_eid, k.as_of, a.*exclude (task_id), k.index_time as t
    from task k
    join adjudicated a using (task_id)
),
reading as (
    select g.*, s.t
    from glucose_readings() g
    join span s using (task_id)
    where g.moment between s.t - interval 2 hour and s.as_of
),
glucose as (
    select r.task_id, r.eid
    from reading r
    join span s using (task_id)
    where r.moment = s.glucose_moment and r.value is not distinct from s.glucose and r.beyond is not distinct from s.beyond
),
panel as (
    select task_id, 'laboratory' as alternative, unnest(sodium || chloride || bicarbonate) as eid from span
    union all
    select task_id, 'chart', unnest(copies)
    from (
        select s.task_id, list(c.eid order by c.eid) as copies
        from span s
        join icu.chartevents c
            on c.task_id = s.task_id and c.stay_id = s.stay_id and c.charttime = s.panel_time
            and c.itemid in (220645, 220602, 227443)
        group by s.task_id
        having count(distinct c.itemid) = 3
    )
),
known as (
    select l.task_id, l.eid, l.itemid, l.charttime, l.available_at, s.t
    from hosp.labevents l
    join span s using (task_id)
    where l.itemid in (50983, 50902, 50882, 50868, 50820, 51567, 50931, 50809)
      and l.charttime between s.t - interval 12 hour and s.as_of
),
beside as (  -- basal insulin, dextrose, and earlier rows of the infusion: worth showing, and decide nothing
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t - interval 12 hour and s.as_of
      and regexp_matches(e.medication, 'insulin|glargine|lantus|detemir|levemir|nph|humalog', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.itemid in (223258, 223257, 223259, 223260, 223261, 223262, 220949, 220950)
      and i.starttime between s.t - interval 24 hour and s.as_of
),
found as (
    select i.task_id, 'infusion_stop' as requirement, i.eid as alternative, i.eid, 'sufficient' as role
    from icu.inputevents i
    join span s using (task_id)
    where i.itemid = 223258 and (i.eid = s.index_eid or (i.stay_id = s.stay_id and i.endtime = s.t and i.rate > 0))
    union all
    select task_id, 'infusion_stop', eid, eid, 'relevant' from beside
    union all
    select task_id, 'glucose', eid, eid, 'sufficient' from glucose
    union all
    select task_id, unnest(['glucose', 'no_glucose']), eid, eid, 'relevant' from reading
    union all
    select task_id, 'chemistry', alternative, eid, 'sufficient' from panel
    union all
    select task_id, unnest(['chemistry', 'no_chemistry']), eid, eid, 'relevant' from known
    union all
    select task_id, 'blood_gas', x, x, 'sufficient' from (select task_id, unnest(ph_eids) as x from span)
    union all
    select s.task_id, 'blood_gas', c.eid, c.eid, 'sufficient'
    from span s
    join known p on p.task_id = s.task_id and p.itemid = 50820 and list_contains(s.ph_eids, p.eid)
    join icu.chartevents c
        on c.task_id = s.task_id and c.charttime = p.charttime and c.itemid in (223830, 220274)
        and round(c.valuenum, 6) = s.ph
    union all
    select task_id, 'ketone', x, x, 'sufficient' from (select task_id, unnest(ketone_eids) as x from span)
    union all
    select task_id, 'no_glucose', glucose_eid, glucose_eid, 'qualifying' from span where glucose_eid is not null
    union all
    select task_id, 'no_chemistry', eid, eid, 'qualifying' from panel where alternative = 'laboratory'
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
