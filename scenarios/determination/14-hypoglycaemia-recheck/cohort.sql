-- The first glucose below 54 mg/dL of an adult's ICU stay, by finger stick (225664) or gas analyser (50809 and
-- its chart copy 226537). T is its charttime. Laboratory chemistry is known only an hour or more after the draw
-- and can be no index. Comfort care charted or ordered before T is left out.
with
reading as (
    select subject_id, charttime, available_at, eid, value, 1 as place
    from lab_results([50809])
    union all
    select subject_id, charttime, max(available_at), min(eid), avg(valuenum), case itemid when 225664 then 2 else 3 end
    from icu.chartevents
    where itemid in (225664, 226537) and valuenum is not null
    group by subject_id, itemid, charttime
),
low as (
    select r.*, s.hadm_id, s.stay_id, a.arrival
    from reading r
    join icu.icustays s on s.subject_id = r.subject_id and r.charttime >= s.intime and r.charttime < s.outtime
    join adult_admissions() a on a.hadm_id = s.hadm_id
    where r.value > 0 and round(r.value, 6) < 54
      and r.available_at <= r.charttime + interval 3 hour
),
first_low as (
    select * from low
    qualify row_number() over (partition by stay_id order by charttime, place, eid) = 1
),
eligible as (
    select f.*
    from first_low f
    where not exists (
        select 1 from comfort_care() c
        where c.subject_id = f.subject_id and c.since between f.arrival and f.charttime)
    qualify row_number() over (partition by f.subject_id order by f.charttime, f.eid) = 1
)
select
    subject_id,
    hadm_id,
    stay_id,
    charttime as index_time,
    charttime + interval 3 hour as as_of,
    hadm_id as sealed_hadm_id,
    eid as index_eid,
    '{}' as params
from eligible
order by subject_id
