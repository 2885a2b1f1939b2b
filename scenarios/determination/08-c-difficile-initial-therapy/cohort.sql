-- The first stool test positive for C. difficile of an adult visit (inpatient, with the emergency visit that led to
-- it), without a positive one drawn in the 56 days before. T is the moment the result was available; the patient is in
-- the hospital, alive, for the 24 hours that follow.
--
-- Correction: where a toxin assay of the same specimen is negative, a positive gene test may mean carriage, which is
-- not treated; such cases are left out. So are results that came after the day on which they could be acted upon in
-- this visit (T after discharge).
with
reported as (
    select
        subject_id, micro_specimen_id, microevent_id, eid, available_at, test_name,
        coalesce(charttime, chartdate) as drawn,
        coalesce(org_itemid, 0) not in (90760, 90856)
            and (regexp_matches(coalesce(org_name, ''), 'difficile', 'i') or coalesce(org_name, '') = 'POSITIVE'
                 or regexp_matches(coalesce(comments, ''), '^\s*(feces )?positive', 'i')) as positive,
        regexp_matches(test_name, 'toxin', 'i')
            and (coalesce(org_itemid, 0) = 90856
                 or (org_name is null and regexp_matches(coalesce(comments, ''), '^\s*(feces )?negative', 'i'))) as toxin_negative
    from hosp.microbiologyevents
    where regexp_matches(test_name, 'difficile', 'i')
),
positive as (
    select r.*, a.hadm_id, a.dischtime, a.deathtime
    from reported r
    join adult_admissions() a
        on a.subject_id = r.subject_id
        and r.drawn between date_trunc('day', a.arrival) and a.dischtime
        and r.available_at between a.arrival and a.dischtime
    where r.positive
    qualify row_number() over (partition by r.microevent_id order by a.arrival desc, a.hadm_id) = 1
),
first_positive as (
    select * from positive
    qualify row_number() over (partition by subject_id, hadm_id order by available_at, microevent_id) = 1
),
eligible as (
    select f.*
    from first_positive f
    where f.dischtime >= f.available_at + interval 24 hour
      and (f.deathtime is null or f.deathtime >= f.available_at + interval 24 hour)
      and not exists (
          select 1 from reported r
          where r.subject_id = f.subject_id and r.positive
            and r.micro_specimen_id is distinct from f.micro_specimen_id
            and r.drawn < f.drawn and r.drawn >= f.drawn - interval 56 day)
      and not exists (
          select 1 from reported r
          where r.subject_id = f.subject_id and r.toxin_negative and r.micro_specimen_id = f.micro_specimen_id)
    qualify row_number() over (partition by f.subject_id order by f.available_at, f.microevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.available_at as index_time,
    e.available_at + interval 24 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.available_at >= s.intime and e.available_at < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
