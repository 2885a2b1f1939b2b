-- The first charted extubation of an adult after at least 24 hours of invasive ventilation without a break, up to an
-- hour after that ventilation was noted as ended. T is its start. Extubations that nobody planned, tracheostomies and
-- comfort care are left out.
--
-- Correction: comfort care counts up to an hour after T, since an order is often written down after the act.
with
extubation as (
    select
        p.subject_id, p.hadm_id, p.stay_id, p.eid, p.orderid, p.starttime, p.available_at
    from icu.procedureevents p
    where p.itemid = 227194 and coalesce(p.statusdescription, '') <> 'Rewritten'
      and exists (
          select 1 from invasive_ventilation() v
          where v.stay_id = p.stay_id
            and v.begins <= p.starttime - interval 24 hour and v.ends >= p.starttime - interval 1 hour)
),
unplanned as (
    select subject_id, starttime from icu.procedureevents where itemid in (225468, 225477)
),
tracheostomy as (
    select subject_id, starttime as since from icu.procedureevents where itemid in (225448, 226237)
    union all
    select subject_id, charttime from icu.chartevents
    where itemid in (224829, 224830, 224831) or (itemid = 226732 and regexp_matches(value, '^\s*trach', 'i'))
),
planned as (
    select e.*, a.arrival
    from extubation e
    join adult_admissions() a on a.subject_id = e.subject_id and a.hadm_id = e.hadm_id
    where e.available_at <= e.starttime + interval 1 hour
      and not exists (
          select 1 from unplanned u
          where u.subject_id = e.subject_id
            and u.starttime between e.starttime - interval 2 hour and e.starttime + interval 2 hour)
      and not exists (
          select 1 from tracheostomy t
          where t.subject_id = e.subject_id and t.since between a.arrival and e.starttime)
      and not exists (
          select 1 from comfort_care() c
          where c.subject_id = e.subject_id and c.since between a.arrival and e.starttime + interval 1 hour)
)
select
    subject_id,
    hadm_id,
    stay_id,
    starttime as index_time,
    starttime + interval 1 hour as as_of,
    hadm_id as sealed_hadm_id,
    eid as index_eid,
    '{}' as params
from planned
qualify row_number() over (partition by subject_id order by starttime, orderid) = 1
order by subject_id
