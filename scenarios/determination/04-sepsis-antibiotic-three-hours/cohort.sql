-- The first lactate (50813) of 4.0 or more of an adult visit (inpatient, with the emergency visit that led to it),
-- by when its result was available, with a blood culture drawn within six hours of its draw, either side. T is the
-- moment the result was available. Left out: those who left or died before T + 3 h, and visits whose first coded
-- diagnosis is a seizure or an injury (other causes of a high lactate).
--
-- Correction: the catalogue names no codes for seizure and trauma. Taken are epilepsy and convulsions (ICD-9 345,
-- 780.3; ICD-10 G40, R56), and injuries and burns without poisonings (ICD-9 800-959; ICD-10 S, T07, T14, T20-T32).
with
lactate as (
    select * from lab_results([50813])
),
high as (
    select l.*, a.hadm_id, a.dischtime, a.deathtime
    from lactate l
    join adult_admissions() a
        on a.subject_id = l.subject_id
        and l.charttime between a.arrival and a.dischtime
        and l.available_at <= a.dischtime
    where round(l.value, 6) >= 4.0
    qualify row_number() over (partition by l.subject_id, l.charttime order by a.arrival desc, a.hadm_id) = 1
),
first_high as (
    select * from high
    qualify row_number() over (partition by subject_id, hadm_id order by available_at, labevent_id) = 1
),
culture as (
    select subject_id, micro_specimen_id, charttime
    from hosp.microbiologyevents
    where spec_type_desc = 'BLOOD CULTURE' and charttime is not null
    group by subject_id, micro_specimen_id, charttime
    having not bool_or(coalesce(org_itemid, 0) = 90760)
),
eligible as (
    select f.*
    from first_high f
    where least(f.dischtime, coalesce(f.deathtime, f.dischtime)) >= f.available_at + interval 3 hour
      and exists (
          select 1 from culture c
          where c.subject_id = f.subject_id
            and c.charttime between f.charttime - interval 6 hour and f.charttime + interval 6 hour)
      and not exists (
          select 1 from hosp.diagnoses_icd d
          where d.hadm_id = f.hadm_id and d.seq_num = 1
            and case d.icd_version
                when 9 then regexp_matches(d.icd_code, '^(345|7803|8\d\d|9[0-5]\d)')
                else regexp_matches(d.icd_code, '^(G40|R56|S|T07|T14|T2|T3[0-2])')
            end)
    qualify row_number() over (partition by f.subject_id order by f.available_at, f.labevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.available_at as index_time,
    e.available_at + interval 12 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.available_at >= s.intime and e.available_at < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
