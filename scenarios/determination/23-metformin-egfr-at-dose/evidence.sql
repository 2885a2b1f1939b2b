-- Which rows satisfy which requirement. Which creatinine is the latest that was known, and which earlier ones show that
-- it is rising, is decided in adjudicate.sql; a laboratory row and its copy in the ICU chart (220615) are alternatives.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.drawn, a.latest_eids, a.earlier_eids,
        k.index_time as t
    from task k
    join adjudicated a using (task_id)
),
beside as (  -- what an answer may well show although it does not decide
    select s.task_id, l.eid
    from span s
    join hosp.labevents l using (task_id)
    where l.itemid in (50912, 50920, 52024) and l.charttime >= s.t - interval 30 day
    union
    select s.task_id, c.eid
    from span s
    join icu.chartevents c using (task_id)
    where c.itemid = 220615 and c.charttime >= s.t - interval 30 day
    union
    select s.task_id, e.eid
    from span s
    join hosp.emar e using (task_id)
    where regexp_matches(e.medication, 'metformin|glucophage|janumet', 'i')
    union
    select s.task_id, o.eid
    from span s
    join hosp.prescriptions o using (task_id)
    where regexp_matches(o.drug, 'metformin|glucophage|janumet', 'i')
),
found as (
    select task_id, 'index_dose' as requirement, index_eid as alternative, index_eid as eid, 'sufficient' as role
    from span
    union all
    select h.task_id, 'latest_creatinine', h.eid, h.eid, 'sufficient'
    from (select task_id, unnest(latest_eids) as laboratory from span) s
    join shown_results(50912, 220615) h using (task_id, laboratory)
    union all
    select h.task_id, 'earlier_creatinine', h.eid, h.eid, 'sufficient'
    from (select task_id, unnest(earlier_eids) as laboratory from span) s
    join shown_results(50912, 220615) h using (task_id, laboratory)
    union all
    select h.task_id, 'no_creatinine', h.eid, h.eid, 'qualifying'
    from (select task_id, unnest(latest_eids) as laboratory from span) s
    join shown_results(50912, 220615) h using (task_id, laboratory)
    union all
    select task_id, unnest(['index_dose', 'latest_creatinine', 'earlier_creatinine', 'no_creatinine']), eid, eid, 'relevant'
    from beside
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
