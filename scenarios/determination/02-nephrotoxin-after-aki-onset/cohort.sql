-- The first creatinine of an adult admission that meets KDIGO's definition of acute kidney injury: 0.3 mg/dL or more
-- above the lowest of the 48 hours before it, or 1.5 times the lowest of the 7 days before it, or more. T is the
-- moment its result was available; a systemic NSAID or an intravenous aminoglycoside was ordered in the 48 hours
-- before or is in force. Patients who are no longer in hospital 48 hours later are left out.
--
-- Correction: patients on maintenance dialysis (by a code of any admission) or dialysed in the 7 days before are left
-- out. Between two treatments their creatinine rises by more than 0.3 mg/dL a day without any injury.
--
-- Correction: the order must be of a systemic NSAID or of an aminoglycoside into a vein, as the question asks; an order
-- of eye drops or of an inhaled aminoglycoside is no exposure. The catalogue excludes these names for doses only.
with
creatinine as (
    select
        *,
        min(value) over (
            partition by subject_id order by charttime
            range between interval 48 hour preceding and interval 1 second preceding) as low_48_hours,
        min(value) over (
            partition by subject_id order by charttime
            range between interval 7 day preceding and interval 1 second preceding) as low_7_days
    from lab_results([50912])
),
injured as (
    select c.*, a.hadm_id, a.dischtime, a.deathtime
    from creatinine c
    join adult_admissions() a
        on a.subject_id = c.subject_id
        and c.charttime > a.admittime and c.charttime <= a.dischtime and c.available_at <= a.dischtime
    where round(c.value - c.low_48_hours, 6) >= 0.3 or round(c.value - 1.5 * c.low_7_days, 6) >= 0
    qualify row_number() over (
        partition by c.subject_id, c.charttime order by a.admittime desc, a.hadm_id) = 1
),
first_injury as (
    select * from injured
    qualify row_number() over (partition by subject_id, hadm_id order by available_at, labevent_id) = 1
),
ordered as (
    select subject_id, starttime, stoptime, available_at
    from hosp.prescriptions
    where drug_type = 'MAIN'
      and not regexp_matches(
          drug, 'ophth|\botic|\beye|\bear\b|cream|oint|\bgel\b|topical|patch|inhal|\bneb|irrig|lock|dwell', 'i')
      and not regexp_matches(
          coalesce(trim(route), ''),
          '^(both|left|right) (eye|ear)|^(ou|od|os|au|ad|as|tp|td|ih|neb|irrig|dwell)$|topical|ophth|otic', 'i')
      and (regexp_matches(
              drug, 'ibuprofen|naproxen|ketorolac|toradol|indomethacin|diclofenac|meloxicam|nabumetone|etodolac'
                  || '|sulindac|piroxicam|celecoxib|oxaprozin|flurbiprofen|ketoprofen', 'i')
           or (regexp_matches(drug, 'gentamicin|tobramycin|amikacin|streptomycin', 'i')
               and intravenous(nullif(trim(route), ''), drug)))
),
eligible as (
    select f.*
    from first_injury f
    where f.dischtime >= f.available_at + interval 48 hour
      and (f.deathtime is null or f.deathtime >= f.available_at + interval 48 hour)
      and exists (
          select 1 from ordered o
          where o.subject_id = f.subject_id
            and greatest(o.starttime, o.available_at) <= f.available_at
            and (o.stoptime is null or o.stoptime > f.available_at - interval 48 hour)
            and coalesce(o.stoptime, f.dischtime) >= o.starttime)
      and f.subject_id not in (select subject_id from maintenance_dialysis())
      and not exists (
          select 1 from dialyses() d
          where d.subject_id = f.subject_id
            and d.starttime <= f.available_at
            and coalesce(d.endtime, d.starttime) >= f.available_at - interval 7 day)
    qualify row_number() over (partition by f.subject_id order by f.available_at, f.labevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.available_at as index_time,
    e.available_at + interval 48 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.available_at >= s.intime and e.available_at < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
