-- The first INR of 5.0 or more of an adult admission, by when its result was available, in a patient on
-- warfarin: a dose given in the 72 hours before, or, where the eMAR had no row of any drug in these hours, an
-- order of a dose above zero that overlaps them. T is the moment the result was available.
--
-- Correction: the catalogue asks for presence at T + 24 h, but lets the repeat be drawn until T + 30 h. Nobody can
-- repeat the INR of a patient who has left, so that the patient must be there for the 30 hours.
--
-- Correction: an order in the unit "dose" is no dose above zero: it is a placeholder that says that a dose is to
-- be ordered each day.
with
reported as (  -- what lies beyond the analyser's range has no number of its own: ">22" counts as 22
    select
        subject_id, charttime, available_at, labevent_id, eid,
        coalesce(
            valuenum,
            try_cast(regexp_extract(
                concat_ws(' ', value, comments), '(?i)(?:>|greater than)\s*=?\s*(\d+(?:\.\d+)?)', 1) as double)) as inr
    from hosp.labevents
    where itemid = 51237
      and not regexp_matches(
          concat_ws(' ', value, comments), 'cancel|not sufficient|\bqns\b|specimen lost|lost specimen', 'i')
),
result as (
    select
        subject_id, charttime, avg(inr) as inr, max(available_at) as available_at,
        min(labevent_id) as labevent_id, arg_min(eid, labevent_id) as eid
    from reported
    where inr > 0
    group by subject_id, charttime
),
high as (
    select r.*, a.hadm_id, a.dischtime, a.deathtime
    from result r
    join adult_admissions() a
        on a.subject_id = r.subject_id
        and r.charttime between a.arrival and a.dischtime
        and r.available_at <= a.dischtime
    where round(r.inr, 6) >= 5.0
    qualify row_number() over (partition by r.subject_id, r.charttime order by a.arrival desc, a.hadm_id) = 1
),
first_high as (
    select * from high
    qualify row_number() over (partition by subject_id, hadm_id order by available_at, labevent_id) = 1
),
dose as (
    select subject_id, moment from administrations('warfarin|coumadin|jantoven') where what = 'given'
    union all
    select subject_id, moment from infusions([225913])
),
ordered as (
    select subject_id, starttime, stoptime, available_at
    from hosp.prescriptions
    where drug_type = 'MAIN'
      and regexp_matches(drug, 'warfarin|coumadin|jantoven', 'i')
      and try_cast(regexp_extract(dose_val_rx, '\d+(\.\d+)?') as double) > 0
      and coalesce(dose_unit_rx, '') not ilike '%dose%'
),
eligible as (
    select f.*
    from first_high f
    where f.dischtime >= f.available_at + interval 30 hour
      and (f.deathtime is null or f.deathtime >= f.available_at + interval 30 hour)
      and (exists (
              select 1 from dose d
              where d.subject_id = f.subject_id
                and d.moment between f.available_at - interval 72 hour and f.available_at)
          or (not exists (
                  select 1 from hosp.emar e
                  where e.subject_id = f.subject_id
                    and e.charttime between f.available_at - interval 72 hour and f.available_at)
              and exists (
                  select 1 from ordered o
                  where o.subject_id = f.subject_id
                    and greatest(o.starttime, o.available_at) <= f.available_at
                    and coalesce(o.stoptime, f.dischtime) > f.available_at - interval 72 hour)))
    qualify row_number() over (partition by f.subject_id order by f.available_at, f.labevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.available_at as index_time,
    e.available_at + interval 36 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.available_at >= s.intime and e.available_at < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
