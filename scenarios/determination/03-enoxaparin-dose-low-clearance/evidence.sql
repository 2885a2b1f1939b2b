-- Which rows satisfy which requirement. Which creatinine, weight and height decide is said in adjudicate.sql; rows of
-- one time that say the same are alternatives, and so is a creatinine's copy in the ICU chart (220615).
with
span as (
    select
        k.task_id, k.index_eid, a.rule, a.creatinine_eids, a.weight_eids, a.height_eid, a.cm,
        k.index_time as t
    from task k
    join adjudicated a using (task_id)
),
ordered as (
    select s.task_id, o.eid
    from span s
    join hosp.prescriptions i on i.task_id = s.task_id and i.eid = s.index_eid
    join hosp.prescriptions o
        on o.task_id = i.task_id and o.available_at = i.available_at
        and o.drug_type = 'MAIN' and regexp_matches(o.drug, 'enoxaparin|lovenox', 'i')
),
creatinine as (
    select h.task_id, h.laboratory, h.eid
    from (select task_id, unnest(creatinine_eids) as laboratory from span)
    join shown_results(50912, 220615) h using (task_id, laboratory)
),
beside as (  -- what an answer may well show although it does not decide
    select s.task_id, l.eid
    from span s
    join hosp.labevents l using (task_id)
    where l.itemid in (50912, 50920) and l.charttime >= s.t - interval 30 day
    union
    select s.task_id, c.eid
    from span s
    join icu.chartevents c using (task_id)
    where c.itemid in (226512, 224639, 226531, 226730, 226707, 220615)
    union
    select s.task_id, o.eid
    from span s
    join hosp.omr o using (task_id)
    where regexp_matches(o.result_name, '^(weight|height|bmi)', 'i')
    union
    select s.task_id, o.eid
    from span s
    join hosp.prescriptions o using (task_id)
    where regexp_matches(o.drug, 'enoxaparin|lovenox', 'i')
    union
    select s.task_id, p.eid
    from span s
    join hosp.pharmacy p using (task_id)
    where regexp_matches(p.medication, 'enoxaparin|lovenox', 'i')
),
found as (
    select task_id, 'index_order' as requirement, eid as alternative, eid, 'sufficient' as role from ordered
    union all
    select task_id, 'creatinine', eid, eid, 'sufficient' from creatinine
    union all
    select task_id, 'no_creatinine', eid, eid, 'qualifying' from creatinine where eid = laboratory
    union all
    select task_id, 'weight', x, x, 'sufficient' from (select task_id, unnest(weight_eids) as x from span)
    union all
    select task_id, 'no_weight', x, x, 'qualifying' from (select task_id, unnest(weight_eids) as x from span)
    union all
    select h.task_id, 'height', h.eid, h.eid, 'sufficient'
    from heights() h
    join span s using (task_id)
    where h.available_at <= s.t and (h.eid = s.height_eid or round(abs(h.cm - s.cm), 6) <= 1.5)
    union all
    select
        task_id,
        unnest(['index_order', 'creatinine', 'no_creatinine', 'weight', 'no_weight', 'height', 'missing_input']),
        eid, eid, 'relevant'
    from beside
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
