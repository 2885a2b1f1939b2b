-- Which rows satisfy which requirement. A haemoglobin may be cited by its copy in the ICU chart (220228, same draw
-- and value), the transfusion by any row of its unit.
with
span as (
    select
        k.task_id, a.rule, a.haemoglobin, a.drawn, a.haemoglobin_eids, a.history, a.vasopressors, a.massive,
        a.further, a.index_unit,
        k.index_time as t,
        k.as_of
    from task k
    join adjudicated a using (task_id)
),
deciding as (
    select task_id, unnest(haemoglobin_eids) as eid from span
    union
    select s.task_id, c.eid
    from span s
    join icu.chartevents c
        on c.task_id = s.task_id and c.itemid = 220228 and c.charttime = s.drawn
        and round(c.valuenum, 6) = s.haemoglobin
),
other as (  -- counts and haematocrits around T, that nobody could know or that decide nothing
    select l.task_id, l.eid, l.itemid, l.valuenum, l.available_at, l.charttime, s.t
    from hosp.labevents l
    join span s using (task_id)
    where l.itemid in (51222, 50811, 51221, 50810) and l.charttime between s.t - interval 24 hour and s.as_of
),
found as (
    select task_id, 'transfusion' as requirement, unnest(index_unit) as eid, 'sufficient' as role from span
    union all
    select task_id, 'haemoglobin', eid, 'sufficient' from deciding
    union all
    select task_id, unnest(['haemoglobin', 'no_haemoglobin']), eid, 'relevant' from other
    union all
    select s.task_id, 'no_haemoglobin', unnest(s.haemoglobin_eids), 'qualifying' from span s
    union all
    select task_id, 'cardiovascular_history', unnest(history), 'sufficient' from span
    union all
    select task_id, 'no_bleeding', unnest(further), 'relevant' from span
    union all
    select task_id, 'no_bleeding', unnest(massive), 'qualifying' from span
    union all
    select task_id, 'no_vasopressor', unnest(vasopressors), 'qualifying' from span
)
select distinct task_id, requirement, eid as alternative, eid, role
from found
where eid is not null
order by task_id, requirement, role, eid
