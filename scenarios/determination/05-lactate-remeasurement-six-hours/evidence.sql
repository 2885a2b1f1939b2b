-- Which rows satisfy which requirement. Each alternative here is a single row: any one lactate of the
-- window proves a repeat, any one laboratory row of the window proves that specimens were being sent.
-- The specimen parts are those of adjudicate.sql; first_repeat and first_culture are its facts.
--
-- Correction: a departure, a lost specimen or a late repeat decides only if no repeat came in time, so that lack of
-- data and ambiguity rest on the search that found none as well; the catalogue asks for the departure, the specimen,
-- or the culture and the late lactate alone.
with
span as (
    select
        task_id, hadm_id, index_eid, as_of, first_repeat, first_culture,
        index_time as t,
        index_time + interval 6 hour as t6,
        index_time + to_minutes(cast(params ->> '$.twin_minutes' as bigint)) as after_twin
    from task
    join adjudicated using (task_id)
),
specimen as (
    select
        s.task_id, l.eid, l.specimen_id, l.charttime,
        coalesce(l.valuenum > 0 and l.valuenum <= 40, false) and not regexp_matches(
            regexp_replace(concat_ws(' ', l.value, l.comments), 'qns to verify( hemolysis)?', '', 'gi'),
            'cancel|not sufficient|\bqns\b|specimen lost|lost specimen', 'i') as numeric_result
    from span s
    join hosp.labevents l on l.task_id = s.task_id and l.itemid = 50813
),
later_specimen as (
    select p.*
    from specimen p
    join span s using (task_id)
    left join specimen i on i.task_id = s.task_id and i.eid = s.index_eid
    where p.charttime > s.after_twin
      and (p.specimen_id is null or i.specimen_id is null or p.specimen_id <> i.specimen_id)
),
bedside as (
    select
        c.task_id, c.eid, c.charttime,
        exists (
            select 1 from specimen p
            where p.task_id = c.task_id
              and p.charttime between c.charttime - interval 60 minute and c.charttime + interval 60 minute
        ) as near_specimen
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid = 225668 and c.valuenum > 0 and c.valuenum <= 40
      and c.charttime between s.t and s.as_of
),
repeat as (
    select task_id, eid, charttime from later_specimen where numeric_result
    union all
    select b.task_id, b.eid, b.charttime
    from bedside b
    join span s using (task_id)
    where not b.near_specimen and b.charttime > s.after_twin
),
repeat_or_copy as (  -- a bedside copy carries the draw time of its specimen
    select task_id, eid, charttime from repeat
    union all
    select b.task_id, b.eid, b.charttime
    from bedside b
    join later_specimen p on p.task_id = b.task_id and p.charttime = b.charttime and p.numeric_result
),
culture as (
    select m.task_id, m.eid, m.charttime
    from hosp.microbiologyevents m
    join span s using (task_id)
    where regexp_matches(m.spec_type_desc, '^blood culture', 'i')
      and not regexp_matches(m.spec_type_desc, 'post-mortem|neonat', 'i')
      and coalesce(m.org_itemid, 0) <> 90760
      and m.charttime between s.t - interval 6 hour and s.t6
),
here as (  -- rows that place the patient in the hospital when the six hours ended
    select s.task_id, x.eid
    from span s
    join hosp.transfers x using (task_id)
    where x.eventtype <> 'discharge' and x.intime <= s.t6 and coalesce(x.outtime, s.as_of) >= s.t6
    union
    select s.task_id, i.eid
    from span s
    join icu.icustays i using (task_id)
    where i.intime <= s.t6 and coalesce(i.outtime, s.as_of) >= s.t6
),
laboratory as (
    select s.task_id, l.eid
    from span s
    join hosp.labevents l using (task_id)
    where l.charttime > s.t + interval 10 minute and l.charttime <= s.t6
),
found as (
    select task_id, 'index_lactate' as requirement, p.eid, 'sufficient' as role
    from span s
    join specimen p using (task_id)
    where p.charttime = s.t and p.numeric_result
    union all
    select task_id, 'index_lactate', b.eid, 'sufficient'
    from span s
    join bedside b using (task_id)
    where b.charttime = s.t
    union all
    select task_id, 'index_lactate', c.eid, 'relevant'
    from culture c
    union all
    select task_id, 'repeat_lactate', r.eid, 'sufficient'
    from span s
    join repeat_or_copy r using (task_id)
    where r.charttime > s.after_twin and r.charttime <= s.t6
    union all
    select task_id, 'no_repeat', r.eid, 'qualifying'
    from span s
    join repeat r using (task_id)
    where r.charttime > s.after_twin and r.charttime <= s.t6
    union all
    -- later lactates, twins of the index specimen and lost specimens are worth showing, but prove no absence
    select task_id, 'no_repeat', p.eid, 'relevant'
    from span s
    join specimen p using (task_id)
    where p.charttime > s.t and not (p.numeric_result and p.charttime > s.after_twin and p.charttime <= s.t6)
    union all
    select task_id, 'presence', l.eid, 'sufficient'
    from laboratory l
    union all
    select task_id, 'presence', r.eid, 'sufficient'
    from span s
    join repeat_or_copy r using (task_id)
    where r.charttime = s.first_repeat and s.first_repeat > s.t6
    union all
    select task_id, 'presence', h.eid, 'sufficient'
    from here h
    union all
    select s.task_id, unnest(['presence', 'departure']), a.eid, 'relevant'
    from span s
    join hosp.admissions a on a.task_id = s.task_id and a.hadm_id = s.hadm_id
    union all
    select s.task_id, 'departure', a.eid, 'sufficient'
    from span s
    join hosp.admissions a on a.task_id = s.task_id and a.hadm_id = s.hadm_id
    where least(a.dischtime, a.deathtime) < s.t6
    union all
    select s.task_id, 'departure', x.eid, 'sufficient'
    from span s
    join hosp.transfers x on x.task_id = s.task_id and x.hadm_id = s.hadm_id
    where x.eventtype = 'discharge' and x.intime >= s.t and x.intime < s.t6
    union all
    select task_id, 'unresulted_specimen', p.eid, 'sufficient'
    from span s
    join later_specimen p using (task_id)
    where p.charttime <= s.t6 and not p.numeric_result
    union all
    select task_id, 'no_laboratory', l.eid, 'qualifying'
    from laboratory l
    union all
    select task_id, 'first_culture', c.eid, 'sufficient'
    from span s
    join culture c using (task_id)
    where c.charttime = s.first_culture
    union all
    select task_id, 'late_lactate', r.eid, 'sufficient'
    from span s
    join repeat_or_copy r using (task_id)
    where r.charttime = s.first_repeat and s.first_repeat > s.t6
)
select task_id, requirement, eid as alternative, eid, role
from found
group by task_id, requirement, eid, role
order by task_id, requirement, role, eid
