-- Which rows satisfy which requirement. Heights that lie within 5 cm of each other are one height. A median rests on
-- the whole series of a day: on one search for it, or on all its rows where they are few (an answer has no room for
-- more).
--
-- Correction: the catalogue is content with three rows of set volumes, which show no median of a day. Here the answer
-- cites a search that covers the window and was read to its end, or, where the volumes are few, every row of them.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.height_source, a.height_cm, a.other_cm, a.heights,
        k.index_time as t,
        k.index_time + interval 24 hour as closes
    from task k
    join adjudicated a using (task_id)
),
height as (
    select task_id, x.eid, x.source, x.cm, height_cm, height_source, other_cm
    from (select task_id, height_cm, height_source, other_cm, unnest(heights) as x from span)
),
volume as (
    select c.task_id, c.eid, count(*) over (partition by c.task_id) as rows_in_all
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid = 224684 and c.valuenum between 100 and 1500 and c.charttime between s.t and s.closes
),
index_gas as (
    select task_id, index_eid as eid, t from span
    union
    select s.task_id, c.eid, s.t
    from span s
    join icu.chartevents c on c.task_id = s.task_id and c.itemid = 220224 and c.charttime = s.t
    union
    select s.task_id, l.eid, s.t
    from span s
    join hosp.labevents i on i.task_id = s.task_id and i.eid = s.index_eid
    join hosp.labevents l on l.task_id = s.task_id and l.specimen_id = i.specimen_id and l.itemid = 50821
),
beside as (  -- what an answer may well show although it does not decide
    select s.task_id, l.eid
    from span s
    join hosp.labevents l using (task_id)
    where l.itemid in (50816, 52033, 50821, 50819) and l.charttime between s.t - interval 4 hour and s.closes
    union
    select s.task_id, c.eid
    from span s
    join icu.chartevents c using (task_id)
    where (c.itemid in (223835, 220339, 223849, 229314, 224684, 224685, 224686, 224696, 220224, 226732)
            and c.charttime between s.t - interval 4 hour and s.closes)
       or c.itemid in (226730, 226707)
    union
    select s.task_id, o.eid
    from span s
    join hosp.omr o using (task_id)
    where regexp_matches(o.result_name, '^height', 'i')
    union
    select s.task_id, p.eid
    from span s
    join icu.procedureevents p using (task_id)
    where p.itemid = 225792
),
found as (
    select task_id, 'index_gas' as requirement, eid as alternative, eid, 'sufficient' as role from index_gas
    union all
    select task_id, 'height', eid, eid, 'sufficient' from height where round(abs(cm - height_cm), 6) <= 5
    union all
    select task_id, 'other_height', eid, eid, 'sufficient'
    from height
    where source = 'clinic' and round(abs(cm - other_cm), 6) <= 5
    union all
    select task_id, 'no_height', eid, eid, 'qualifying' from height
    union all
    select task_id, 'set_volumes', 'all', eid, 'sufficient' from volume where rows_in_all <= 8
    union all
    select
        b.task_id,
        unnest([
            'index_gas', 'height', 'other_height', 'no_height', 'set_volumes', 'observed_volumes', 'few_volumes',
            'missing_input']),
        b.eid, b.eid, 'relevant'
    from beside b
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
