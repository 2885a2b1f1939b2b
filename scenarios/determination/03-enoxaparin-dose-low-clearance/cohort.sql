-- The first order of enoxaparin under the skin in an adult's admission, in milligrams, if the latest creatinine known
-- then and drawn in the 72 hours before was 1.5 mg/dL or more, or if there was none. T is the moment the order could be
-- known: that of its entry by the provider, else by the pharmacy. Left out are patients on dialysis in the week before,
-- and those above 89, whose age is not recorded.
--
-- Correction: as-of is an hour after the order, not the order itself, which would be hidden by any slip of its time;
-- what could be known at T is decided by when it was stored.
--
-- Correction: dependence on dialysis that was coded counts as dialysis as well; on wards it leaves no procedure.
--
-- Correction: where several enoxaparin rows belong to the order, or came in the same moment, with different doses or
-- frequencies, nobody can say which is the dose; such cases are left out.
--
-- Correction: patients above 89 are left out; their age stands as 91 in the record, and the clearance turns on it.
with
ordered as (
    select
        o.subject_id, o.hadm_id, o.eid, o.pharmacy_id, o.available_at,
        concat_ws('|', o.dose_val_rx, o.dose_unit_rx, o.doses_per_24_hrs) as written,
        a.dischtime
    from hosp.prescriptions o
    join adult_admissions() a on a.subject_id = o.subject_id and a.hadm_id = o.hadm_id
    where o.drug_type = 'MAIN'
      and regexp_matches(o.drug, 'enoxaparin|lovenox', 'i')
      and o.available_at between a.arrival and a.dischtime
),
first_order as (
    select
        subject_id, hadm_id, available_at,
        min(eid) as eid,
        count(distinct written) as kinds
    from ordered o
    where available_at = (select min(f.available_at) from ordered f where f.hadm_id = o.hadm_id)
    group by subject_id, hadm_id, available_at
),
subcutaneous as (
    select f.*
    from first_order f
    join hosp.prescriptions o on o.subject_id = f.subject_id and o.eid = f.eid
    join hosp.patients p on p.subject_id = f.subject_id
    where f.kinds = 1
      and trim(o.route) = 'SC' and lower(trim(o.dose_unit_rx)) = 'mg'
      and p.anchor_age <= 89
),
creatinine as (
    select * from lab_results([50912])
),
known as (
    select s.subject_id, s.hadm_id, s.available_at, s.eid, max_by(c.value, c.charttime) as latest
    from subcutaneous s
    left join creatinine c
        on c.subject_id = s.subject_id
        and c.charttime between s.available_at - interval 72 hour and s.available_at
        and c.available_at <= s.available_at
    group by s.subject_id, s.hadm_id, s.available_at, s.eid
),
eligible as (
    select k.*
    from known k
    where (k.latest is null or round(k.latest, 6) >= 1.5)
      and not exists (
          select 1 from on_dialysis() d
          where d.subject_id = k.subject_id
            and d.since <= k.available_at and d.until >= k.available_at - interval 7 day)
    qualify row_number() over (partition by k.subject_id order by k.available_at, k.eid) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.available_at as index_time,
    e.available_at + interval 1 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.available_at >= s.intime and e.available_at < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
