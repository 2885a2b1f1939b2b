-- Which rows satisfy which requirement. A note's passages count as the note. Fractions at odds may stand in one note or
-- in two.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_time as t, k.index_eid, a.rule, a.admitted,
        a.failure, a.low_notes, a.high_notes, a.lists, a.summaries, a.reasons
    from task k
    join adjudicated a using (task_id)
),
low as (select task_id, rule, unnest(low_notes) as eid from span),
high as (select task_id, rule, unnest(high_notes) as eid from span),
spoken as (
    select n.task_id, n.eid, regexp_matches(n.text, 'heart failure|\bchf\b|\bhfref\b|cardiomyopathy', 'i') as names_it
    from note.discharge n
    join span s using (task_id, hadm_id)
),
doses as (  -- what an answer may well show although it decides nothing: beta-blockers in hospital
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.admitted and s.t
      and regexp_matches(e.medication, '\w+olol\b|carvedilol', 'i')
    union
    select p.task_id, p.eid
    from hosp.prescriptions p
    join span s using (task_id, hadm_id)
    where regexp_matches(p.drug, '\w+olol\b|carvedilol', 'i')
),
notes as (
    select n.task_id, n.hadm_id, n.eid from note.discharge n
    union all
    select n.task_id, null, n.eid from note.radiology n
),
found as (
    select task_id, 'heart_failure' as requirement, eid as alternative, eid, 'sufficient' as role
    from (select task_id, unnest(failure) as eid from span)
    union all
    select task_id, 'heart_failure', eid, eid, 'sufficient' from spoken where names_it
    union all
    select task_id, 'heart_failure', index_eid, index_eid, 'relevant' from span
    union all
    select d.task_id, 'heart_failure', d.eid, d.eid, 'relevant' from hosp.diagnoses_icd d
    union all
    select task_id, 'ejection_fraction', eid, eid, 'sufficient' from low where rule <> 'fractions_at_odds'
    union all
    select l.task_id, 'ejection_fraction', l.eid || ' ' || h.eid, unnest([l.eid, h.eid]), 'sufficient'
    from low l
    join high h using (task_id)
    where l.rule = 'fractions_at_odds'
    union all
    select task_id, 'ejection_fraction', eid, eid, 'relevant' from notes
    union all
    select task_id, 'discharge_list', eid, eid, 'sufficient' from (select task_id, unnest(lists) as eid from span)
    union all
    select task_id, 'discharge_list', eid, eid, 'relevant' from doses
    union all
    select task_id, 'reason', eid, eid, 'sufficient' from (select task_id, unnest(reasons) as eid from span)
    union all
    select task_id, unnest(['summary_without_list', 'summary_without_fraction']), eid, eid, 'sufficient'
    from (select task_id, unnest(summaries) as eid from span)
    union all
    select task_id, 'summary_without_fraction', eid, eid, 'relevant' from notes
    union all
    select n.task_id, 'no_summary', n.eid, n.eid, case when n.hadm_id = s.hadm_id then 'qualifying' else 'relevant' end
    from note.discharge n
    join span s using (task_id)
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
