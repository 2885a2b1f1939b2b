-- A subject's first arrival in the ICU from the operating room with an indwelling urinary catheter. T is OR Received.
--
-- Correction: the catalogue asks for a row of the catheter (229351), which exists in later years only: of 30 arrivals
-- in the open demo six had one, nearly all had Foley output. Output in the six hours from T shows a catheter as well.
--
-- Correction: another operation before as_of begins the count anew, which the catalogue does not say; such arrivals
-- are left out. The row of the arrival must have been noted by as_of.
with
arrival as (
    select p.subject_id, p.hadm_id, p.stay_id, p.eid, p.orderid, p.starttime as t, p.available_at,
        date_trunc('day', p.starttime) + interval 3 day - interval 1 second + interval 12 hour as as_of
    from icu.procedureevents p
    where p.itemid = 225469
      and coalesce(p.statusdescription, '') <> 'Rewritten'
),
with_catheter as (
    select a.*, v.dischtime, v.deathtime
    from arrival a
    join adult_admissions() v on v.hadm_id = a.hadm_id
    where exists (
        select 1 from icu.procedureevents c
        where c.subject_id = a.subject_id and c.itemid = 229351
          and coalesce(c.statusdescription, '') <> 'Rewritten'
          and c.starttime <= a.t + interval 6 hour and c.endtime >= a.t - interval 6 hour)
    or exists (
        select 1 from icu.outputevents o
        where o.subject_id = a.subject_id and o.itemid = 226559 and o.value is not null
          and o.charttime between a.t and a.t + interval 6 hour)
),
service as (
    select w.eid, s.curr_service
    from with_catheter w
    join hosp.services s on s.hadm_id = w.hadm_id and s.transfertime <= w.t
    qualify row_number() over (partition by w.eid order by s.transfertime desc) = 1
),
eligible as (
    select w.*
    from with_catheter w
    left join service s using (eid)
    where coalesce(s.curr_service, '') not in ('URO', 'GU', 'OB', 'OBS', 'GYN')
      and w.dischtime >= w.as_of
      and coalesce(w.deathtime > w.as_of, true)
      and w.available_at <= w.as_of
      and not exists (
          select 1 from icu.procedureevents p
          where p.subject_id = w.subject_id and p.itemid in (225469, 225470)
            and p.starttime > w.t and p.starttime <= w.as_of)
    qualify row_number() over (partition by w.subject_id order by w.t, w.orderid) = 1
)
select
    subject_id,
    hadm_id,
    stay_id,
    t as index_time,
    as_of,
    hadm_id as sealed_hadm_id,
    eid as index_eid,
    '{}' as params
from eligible
order by subject_id
