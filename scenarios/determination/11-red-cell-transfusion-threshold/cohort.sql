-- The first red cells (225168 Packed Red Blood Cells) of an adult's ICU stay, given and not within 24 hours after
-- a return from the operating room (225469). T is their start. Red cells that operating room or recovery room
-- charted (226368, ...) are other items, and ward transfusions are in no table of inputs.
with
transfusion as (
    select
        i.subject_id, i.stay_id, s.hadm_id, i.starttime, i.available_at, i.eid, i.orderid
    from icu.inputevents i
    join icu.icustays s using (stay_id)
    join adult_admissions() a on a.hadm_id = s.hadm_id
    where i.itemid = 225168
      and i.amount > 0
      and coalesce(i.statusdescription, '') <> 'Rewritten'
),
first_transfusion as (
    select * from transfusion
    qualify row_number() over (partition by stay_id order by starttime, orderid, eid) = 1
),
eligible as (
    select f.*
    from first_transfusion f
    where f.available_at <= f.starttime + interval 6 hour
      and not exists (
          select 1 from icu.procedureevents p
          where p.subject_id = f.subject_id and p.itemid = 225469
            and p.starttime > f.starttime - interval 24 hour and p.starttime <= f.starttime)
    qualify row_number() over (partition by f.subject_id order by f.starttime, f.orderid, f.eid) = 1
)
select
    subject_id,
    hadm_id,
    stay_id,
    starttime as index_time,
    starttime + interval 6 hour as as_of,
    hadm_id as sealed_hadm_id,
    eid as index_eid,
    '{}' as params
from eligible
order by subject_id
