-- The end of an adult's first continuous insulin infusion in an ICU stay for diabetic ketoacidosis. Rows of
-- 223258 with a rate belong to one episode as long as no gap between them exceeds two hours; the first episode
-- of the stay that ran for four hours or more in all counts, and T is its end. From 12 hours before its start
-- to 2 hours after, glucose was above 250 mg/dL, the calculated gap above 12, and bicarbonate below 18 or pH
-- below 7.30. Deaths and departures from the ICU within 2 hours after T are left out.
--
-- Correction: these numbers also fit a septic or operated patient on insulin for another reason. The admission
-- must have a coded diagnosis of diabetes with ketoacidosis (ICD-9 250.1x; ICD-10 E08.1 to E13.1), so that the
-- question's premise holds; a cohort may look at what is known later.
with
row_ as (
    select
        i.subject_id, i.stay_id, i.starttime, i.endtime, i.eid, i.orderid,
        max(i.endtime) over (
            partition by i.stay_id order by i.starttime, i.endtime, i.eid
            rows between unbounded preceding and 1 preceding) as before
    from icu.inputevents i
    where i.itemid = 223258
      and i.ordercategorydescription = 'Continuous Med'
      and i.rate > 0 and i.endtime > i.starttime
      and coalesce(i.statusdescription, '') <> 'Rewritten'
),
numbered as (
    select
        *,
        count(*) filter (where before is null or starttime > before + interval 2 hour) over (
            partition by stay_id order by starttime, endtime, eid) as episode
    from row_
),
episode as (
    select
        subject_id, stay_id, episode,
        min(starttime) as begun,
        max(endtime) as ended,
        sum(epoch(endtime - starttime)) / 3600 as hours,
        arg_max(eid, struct_pack(ended := endtime, started := starttime, number := orderid)) as last_eid
    from numbered
    group by subject_id, stay_id, episode
),
first_episode as (
    select e.*, s.hadm_id, s.outtime
    from episode e
    join icu.icustays s using (stay_id)
    where e.hours >= 4
    qualify row_number() over (partition by e.stay_id order by e.episode) = 1
),
lab as (
    select subject_id, itemid, charttime, value from lab_results([50931, 50809, 50882, 50983, 50902, 50820])
),
value_ as (
    select
        f.stay_id,
        bool_or(l.itemid in (50931, 50809) and l.value > 250) as glucose,
        bool_or((l.itemid = 50882 and l.value < 18) or (l.itemid = 50820 and round(l.value, 6) < 7.30)) as acid
    from first_episode f
    join lab l
        on l.subject_id = f.subject_id
        and l.charttime between f.begun - interval 12 hour and f.begun + interval 2 hour
    group by f.stay_id
),
gap as (
    select distinct f.stay_id
    from first_episode f
    join lab n
        on n.subject_id = f.subject_id and n.itemid = 50983
        and n.charttime between f.begun - interval 12 hour and f.begun + interval 2 hour
    join lab c on c.subject_id = n.subject_id and c.itemid = 50902 and c.charttime = n.charttime
    join lab b on b.subject_id = n.subject_id and b.itemid = 50882 and b.charttime = n.charttime
    where round(n.value - c.value - b.value, 6) > 12
),
eligible as (
    select f.*
    from first_episode f
    join adult_admissions() a on a.hadm_id = f.hadm_id
    join value_ v using (stay_id)
    where v.glucose and v.acid
      and f.stay_id in (select stay_id from gap)
      and f.outtime > f.ended + interval 2 hour
      and (a.deathtime is null or a.deathtime > f.ended + interval 2 hour)
      and exists (
          select 1 from hosp.diagnoses_icd d
          where d.hadm_id = f.hadm_id
            and ((d.icd_version = 9 and trim(d.icd_code) like '2501%')
                 or (d.icd_version = 10 and regexp_matches(trim(d.icd_code), '^E(08|09|10|11|13)1'))))
    qualify row_number() over (partition by f.subject_id order by f.ended, f.stay_id) = 1
)
select
    subject_id,
    hadm_id,
    stay_id,
    ended as index_time,
    ended + interval 2 hour as as_of,
    hadm_id as sealed_hadm_id,
    last_eid as index_eid,
    '{}' as params
from eligible
order by subject_id
