-- Which rows satisfy which requirement. Any set of codes of different factors that reaches what the age leaves due
-- proves the score. A note's passages count as the note.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_time as t, a.rule, a.due, a.admitted,
        a.fibrillation, a.factors, a.lists, a.summaries, a.reasons
    from task k
    join adjudicated a using (task_id)
),
factor as (
    select task_id, due, x.eid, x.name, x.points
    from (select task_id, due, unnest(factors) as x from span)
),
proof as (
    select task_id, eid as alternative, eid
    from factor
    where points >= due
    union all
    select one.task_id, one.eid || ' ' || other.eid, unnest([one.eid, other.eid])
    from factor one
    join factor other on other.task_id = one.task_id and other.name > one.name
    where one.due = 2 and one.points = 1 and other.points = 1
),
spoken as (
    select n.task_id, n.eid, regexp_matches(n.text, '\ba-?fib\b|\bp?af\b|atrial (fibrillation|flutter)', 'i') as names_it
    from note.discharge n
    join span s using (task_id, hadm_id)
),
doses as (  -- what an answer may well show although it decides nothing: anticoagulants in hospital
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.admitted and s.t
      and regexp_matches(e.medication, 'warfarin|apixaban|rivaroxaban|dabigatran|edoxaban|heparin|enoxaparin|aspirin', 'i')
    union
    select p.task_id, p.eid
    from hosp.prescriptions p
    join span s using (task_id, hadm_id)
    where regexp_matches(p.drug, 'warfarin|apixaban|rivaroxaban|dabigatran|edoxaban|heparin|enoxaparin|aspirin', 'i')
),
found as (
    select task_id, 'fibrillation' as requirement, eid as alternative, eid, 'sufficient' as role
    from (select task_id, unnest(fibrillation) as eid from span)
    union all
    select task_id, 'fibrillation', eid, eid, 'sufficient' from spoken where names_it
    union all
    select s.task_id, 'fibrillation', k.index_eid, k.index_eid, 'relevant'
    from span s
    join task k using (task_id)
    union all
    select task_id, 'risk_factors', alternative, eid, 'sufficient' from proof
    union all
    select d.task_id, unnest(['risk_factors', 'no_other_factor']), d.eid, d.eid, 'relevant' from hosp.diagnoses_icd d
    union all
    select task_id, 'discharge_list', eid, eid, 'sufficient' from (select task_id, unnest(lists) as eid from span)
    union all
    select d.task_id, 'discharge_list', d.eid, d.eid, 'relevant' from doses d
    union all
    select task_id, 'reason', eid, eid, 'sufficient' from (select task_id, unnest(reasons) as eid from span)
    union all
    select task_id, 'summary_without_list', eid, eid, 'sufficient' from (select task_id, unnest(summaries) as eid from span)
    union all
    select n.task_id, 'no_summary', n.eid, n.eid, case when n.hadm_id = s.hadm_id then 'qualifying' else 'relevant' end
    from note.discharge n
    join span s using (task_id)
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
