-- The first potassium of 6.5 or more of an adult visit (inpatient, with the emergency visit that led to
-- it), still in the hospital when the result came. T is the moment the result was available. Deaths
-- within the hour and comfort care are left out.
with
potassium as (
    select * from lab_results([50971, 50822])
),
severe as (
    select k.*, v.hadm_id, v.deathtime
    from potassium k
    join adult_admissions() v
        on v.subject_id = k.subject_id
        and k.charttime between v.arrival and v.dischtime
        and k.available_at <= v.dischtime
    where round(k.value, 6) >= 6.5
    qualify row_number() over (
        partition by k.subject_id, k.itemid, k.charttime order by v.arrival desc, v.hadm_id) = 1
),
first_severe as (
    select * from severe
    qualify row_number() over (partition by subject_id, hadm_id order by available_at, labevent_id) = 1
),
eligible as (
    select f.*
    from first_severe f
    where (f.deathtime is null or f.deathtime >= f.available_at + interval 60 minute)
      and not exists (
          select 1 from comfort_care() c
          join adult_admissions() v on v.hadm_id = f.hadm_id
          where c.subject_id = f.subject_id
            and c.since between v.arrival and f.available_at + interval 60 minute)
    qualify row_number() over (partition by f.subject_id order by f.available_at, f.labevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.available_at as index_time,
    e.available_at + interval 4 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.available_at >= s.intime and e.available_at < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
