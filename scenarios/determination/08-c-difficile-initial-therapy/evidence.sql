-- Which rows satisfy which requirement. Any one first-line dose proves a YES. White cells and creatinine are those
-- nearest to T; a result may be cited by its copy in the ICU chart (220546, 220615; same draw and value).
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.micro_specimen_id, a.doses, a.grade,
        a.white_cells, a.white_cells_at, a.white_cell_eids, a.creatinine, a.creatinine_at, a.creatinine_eids,
        k.index_time as t,
        k.index_time - interval 24 hour as opens
    from task k
    join adjudicated a using (task_id)
),
dose as (
    select task_id, x.eid, x.drug, x.what from (select task_id, unnest(doses) as x from span)
),
test as (
    select
        m.task_id, m.eid,
        m.eid = s.index_eid
            or (m.micro_specimen_id = s.micro_specimen_id and regexp_matches(m.test_name, 'difficile', 'i')
                and coalesce(m.org_itemid, 0) not in (90760, 90856)
                and (regexp_matches(coalesce(m.org_name, ''), 'difficile', 'i') or m.org_name = 'POSITIVE'
                     or regexp_matches(coalesce(m.comments, ''), '^\s*(feces )?positive', 'i'))) as positive
    from hosp.microbiologyevents m
    join span s using (task_id)
    where m.micro_specimen_id = s.micro_specimen_id or m.eid = s.index_eid
       or (regexp_matches(m.test_name, 'difficile', 'i') and coalesce(m.charttime, m.chartdate) >= s.t - interval 56 day)
),
white_cells as (
    select task_id, unnest(white_cell_eids) as eid, white_cells as value from span
    union
    select s.task_id, c.eid, s.white_cells
    from span s
    join icu.chartevents c
        on c.task_id = s.task_id and c.charttime = s.white_cells_at and c.itemid = 220546 and c.valuenum = s.white_cells
),
creatinine as (
    select task_id, unnest(creatinine_eids) as eid, creatinine as value from span
    union
    select s.task_id, c.eid, s.creatinine
    from span s
    join icu.chartevents c
        on c.task_id = s.task_id and c.charttime = s.creatinine_at and c.itemid = 220615 and c.valuenum = s.creatinine
),
beside as (  -- what an answer may well show although it decides nothing: intravenous vancomycin, orders, other results
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.opens and s.as_of
      and regexp_matches(e.medication, 'vancomycin|fidaxomicin|dificid|metronidazole|flagyl|loperamide', 'i')
    union
    select p.task_id, p.eid
    from hosp.prescriptions p
    join span s using (task_id)
    where p.starttime between s.opens - interval 1 hour and s.as_of
      and regexp_matches(p.drug, 'vancomycin|fidaxomicin|dificid|metronidazole|flagyl', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.opens and s.as_of and i.itemid in (225798, 225884)
    union
    select l.task_id, l.eid
    from hosp.labevents l
    join span s using (task_id)
    where l.itemid in (51301, 50912) and l.charttime between s.t - interval 48 hour and s.as_of
),
found as (
    select task_id, 'positive_test' as requirement, eid, 'sufficient' as role from test where positive
    union all
    select task_id, 'positive_test', eid, 'relevant' from test
    union all
    select task_id, 'first_line_dose', eid, 'sufficient' from dose where drug = 'first_line' and what = 'given'
    union all
    select task_id, unnest(['no_first_line', 'no_therapy']), eid, 'qualifying'
    from dose where drug = 'first_line' and what = 'given'
    union all
    select d.task_id, 'no_therapy', d.eid, 'qualifying'
    from dose d
    join span s using (task_id)
    where d.drug = 'metronidazole' and d.what = 'given' and s.rule = 'untreated'
    union all
    select task_id, 'metronidazole_dose', eid, 'sufficient' from dose where drug = 'metronidazole' and what = 'given'
    union all
    select task_id, unnest(['first_line_dose', 'no_first_line', 'no_therapy', 'metronidazole_dose', 'severity']), eid, 'relevant'
    from beside
    union all
    select task_id, 'severity', eid, 'sufficient' from white_cells where value >= 15.0
    union all
    select task_id, 'severity', eid, 'sufficient' from creatinine where value > 1.5
    union all
    select task_id, 'white_cells', eid, 'sufficient' from white_cells
    union all
    select task_id, 'creatinine', eid, 'sufficient' from creatinine
    union all
    select task_id, 'no_white_cells', eid, 'qualifying' from white_cells
    union all
    select task_id, 'no_creatinine', eid, 'qualifying' from creatinine
)
select distinct task_id, requirement, eid as alternative, eid, role
from found
order by task_id, requirement, role, eid
