-- A subject's first ICU stay, if it lasts 72 hours or more. Left out: coded chronic kidney disease of any
-- admission, dialysis before the stay, and weights that differ by more than a fifth (one of them is wrong,
-- or the rate per kilogram depends on which is used).
with first_stay as (
    select
        subject_id, hadm_id, stay_id, intime, outtime, eid,
        row_number() over (partition by subject_id order by intime, stay_id) as position
    from icu.icustays
),

chronic as (
    select distinct subject_id
    from hosp.diagnoses_icd
    where (icd_version = 9 and icd_code like '585%')
       or (icd_version = 10 and (icd_code like 'N18%' or icd_code like 'N19%'))
),

dialysed as (
    select distinct s.subject_id
    from first_stay s
    join icu.procedureevents p on p.subject_id = s.subject_id
    where s.position = 1
      and p.itemid in (225441, 225802, 225803, 225805, 225809, 225955)
      and p.starttime < s.intime
),

weighed as (
    select
        stay_id, charttime,
        case when itemid = 226531 then valuenum / 2.2046 else valuenum end as kg
    from icu.chartevents
    where itemid in (226512, 224639, 226531)
),

disputed_weight as (
    select w.stay_id
    from weighed w
    join first_stay s on s.stay_id = w.stay_id
    where w.kg between 30 and 300 and w.charttime <= s.intime + interval 72 hour
    group by w.stay_id
    having max(w.kg) > 1.2 * min(w.kg)
)

select
    s.subject_id, s.hadm_id, s.stay_id,
    s.intime as index_time,
    s.intime + interval 72 hour as as_of,
    s.hadm_id as sealed_hadm_id,
    s.eid as index_eid,
    '{}' as params
from first_stay s
left join chronic c on c.subject_id = s.subject_id
left join dialysed d on d.subject_id = s.subject_id
left join disputed_weight w on w.stay_id = s.stay_id
where s.position = 1
  and s.outtime >= s.intime + interval 72 hour
  and c.subject_id is null
  and d.subject_id is null
  and w.stay_id is null
