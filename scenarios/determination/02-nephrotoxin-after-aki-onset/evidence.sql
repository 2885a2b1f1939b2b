-- Which rows satisfy which requirement. The rise is shown by two creatinines together; a laboratory value and its copy
-- in the ICU chart (220615) are alternatives of each other. What counts as a dose is decided in adjudicate.sql.
with
span as (
    select
        k.task_id, k.as_of, a.rule, a.drawn, a.index_eids, a.reference_eids, a.doses, a.susceptibilities, a.recoveries,
        k.index_time as t,
        k.index_time + interval 48 hour as closes
    from task k
    join adjudicated a using (task_id)
),
pair as (
    select i.task_id, i.eid || ' ' || r.eid as alternative, [i.eid, r.eid] as eids
    from (
        select s.task_id, h.eid
        from (select task_id, unnest(index_eids) as eid from span) s
        join shown_results(50912, 220615) h on h.task_id = s.task_id and h.laboratory = s.eid
    ) i
    join (
        select s.task_id, h.eid
        from (select task_id, unnest(reference_eids) as eid from span) s
        join shown_results(50912, 220615) h on h.task_id = s.task_id and h.laboratory = s.eid
    ) r using (task_id)
),
dose as (
    select task_id, x.eid, x.what from (select task_id, unnest(doses) as x from span)
),
ordered as (
    select o.task_id, o.eid
    from hosp.prescriptions o
    join span s using (task_id)
    where o.drug_type = 'MAIN'
      and o.starttime <= s.closes and coalesce(o.stoptime, s.as_of) > s.t - interval 48 hour
      and regexp_matches(
          o.drug, 'ibuprofen|naproxen|ketorolac|toradol|indomethacin|diclofenac|meloxicam|nabumetone|etodolac'
              || '|sulindac|piroxicam|celecoxib|oxaprozin|flurbiprofen|ketoprofen'
              || '|gentamicin|tobramycin|amikacin|streptomycin', 'i')
      and not regexp_matches(
          o.drug, 'ophth|\botic|\beye|\bear\b|cream|oint|\bgel\b|topical|patch|inhal|\bneb|irrig|lock|dwell', 'i')
      and not regexp_matches(
          coalesce(trim(o.route), ''),
          '^(both|left|right) (eye|ear)|^(ou|od|os|au|ad|as|tp|td|ih|neb|irrig|dwell)$|topical|ophth|otic', 'i')
),
beside as (  -- what an answer may well show although it does not decide
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t - interval 48 hour and s.as_of
      and regexp_matches(
          e.medication, 'ibuprofen|naproxen|ketorolac|toradol|indomethacin|diclofenac|meloxicam|nabumetone|etodolac'
              || '|sulindac|piroxicam|celecoxib|oxaprozin|flurbiprofen|ketoprofen'
              || '|gentamicin|tobramycin|amikacin|streptomycin', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.t - interval 48 hour and s.as_of and i.itemid in (229072, 225875, 225902, 225840)
    union
    select l.task_id, l.eid
    from hosp.labevents l
    join span s using (task_id)
    where l.itemid in (50912, 50929, 50997) and l.charttime between s.drawn - interval 7 day and s.as_of
    union
    select task_id, eid from ordered
),
found as (
    select task_id, 'creatinine_rise' as requirement, alternative, unnest(eids) as eid, 'sufficient' as role
    from pair
    union all
    select task_id, 'nephrotoxin_dose', eid, eid, 'sufficient' from dose where what = 'given'
    union all
    select task_id, 'no_nephrotoxin', eid, eid, 'qualifying' from dose where what = 'given'
    union all
    select task_id, 'exposing_order', eid, eid, 'sufficient' from ordered
    union all
    select task_id, 'susceptibility', x, x, 'sufficient' from (select task_id, unnest(susceptibilities) as x from span)
    union all
    select s.task_id, 'recovered_creatinine', h.eid, h.eid, 'sufficient'
    from (select task_id, unnest(recoveries) as eid from span) s
    join shown_results(50912, 220615) h on h.task_id = s.task_id and h.laboratory = s.eid
    union all
    select task_id, unnest(['creatinine_rise', 'nephrotoxin_dose', 'no_nephrotoxin']), eid, eid, 'relevant' from beside
    union all
    select m.task_id, unnest(['nephrotoxin_dose', 'susceptibility']), m.eid, m.eid, 'relevant'
    from hosp.microbiologyevents m
    join span s using (task_id)
    where m.ab_name is not null and coalesce(m.charttime, m.chartdate) >= s.t - interval 14 day
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
