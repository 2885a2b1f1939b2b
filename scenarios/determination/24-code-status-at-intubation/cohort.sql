-- The first start of invasive ventilation of an adult's ICU stay, with the patient under observation there for two
-- hours or more. T is its start.
--
-- Correction: the catalogue places the agent at T, where the row of the intubation is rarely noted yet: half of the
-- ventilation rows of the open demo were stored more than a day later, at the ventilation's end. The agent is placed
-- 12 hours later, or when the row was noted if that is later; what counts is still only what was known at T.
--
-- Correction: two hours after ICU intime do not keep arrivals with a tube out, since a stay can begin while the
-- patient is still in the operating room (half of the demo's candidates came from there, ventilated). So the two
-- hours run from the first heart rate, and cases next to the operating room, or with a tube or a tracheostomy
-- charted more than an hour before, are left out.
with
begun as (
    select stay_id, subject_id, hadm_id, itemid, orderid, eid, starttime, available_at
    from icu.procedureevents
    where itemid in (224385, 225792)
      and coalesce(statusdescription, '') <> 'Rewritten'
),
first_begun as (
    select * from begun
    qualify row_number() over (partition by stay_id order by starttime, itemid, orderid) = 1
),
noted as (  -- of the rows that say so at that moment, the one noted first
    select f.stay_id, b.eid, b.available_at
    from first_begun f
    join begun b on b.stay_id = f.stay_id and b.starttime = f.starttime
    qualify row_number() over (partition by f.stay_id order by b.available_at, b.itemid, b.orderid) = 1
),
observed as (
    select c.stay_id, min(c.charttime) as since
    from icu.chartevents c
    semi join first_begun f using (stay_id)
    where c.itemid = 220045
    group by c.stay_id
),
eligible as (
    select f.subject_id, f.hadm_id, f.stay_id, f.starttime as t, n.eid, n.available_at
    from first_begun f
    join noted n using (stay_id)
    join observed o using (stay_id)
    join icu.icustays i using (stay_id)
    join adult_admissions() a on a.hadm_id = f.hadm_id
    where greatest(i.intime, o.since) + interval 2 hour <= f.starttime
      and f.starttime < i.outtime
      and not exists (
          select 1 from icu.procedureevents p
          where p.subject_id = f.subject_id
            and (p.itemid = 225469 and p.starttime between f.starttime - interval 60 minute and f.starttime + interval 60 minute
                 or p.itemid = 225470 and p.starttime between f.starttime - interval 12 hour and f.starttime + interval 60 minute
                    and not exists (
                        select 1 from icu.procedureevents r
                        where r.subject_id = p.subject_id and r.itemid = 225469
                          and r.starttime >= p.starttime and r.starttime < f.starttime - interval 60 minute)))
      and not exists (
          select 1 from icu.chartevents d
          where d.stay_id = f.stay_id and d.itemid = 226732
            and d.charttime < f.starttime - interval 60 minute
            and regexp_matches(d.value, 'endotracheal|trach', 'i'))
    qualify row_number() over (partition by f.subject_id order by f.starttime, f.stay_id) = 1
)
select
    subject_id,
    hadm_id,
    stay_id,
    t as index_time,
    greatest(t + interval 12 hour, available_at) as as_of,
    hadm_id as sealed_hadm_id,
    eid as index_eid,
    '{}' as params
from eligible
order by subject_id
