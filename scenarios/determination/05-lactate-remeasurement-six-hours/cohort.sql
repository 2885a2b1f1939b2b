-- The first lactate above 2 mmol/L of an adult admission in which infection was suspected: a blood
-- culture within six hours and a systemic antibacterial ordered within a day, either side of the draw.
-- T is the draw. Patients who leave or die within the six hours stay in.
with
lactate as (
    select * from lab_results([50813])
),
high_lactate as (
    select l.*, a.hadm_id
    from lactate l
    join adult_admissions() a on a.subject_id = l.subject_id and l.charttime between a.arrival and a.dischtime
    where l.value > 2.0
    qualify row_number() over (partition by l.subject_id, l.charttime order by a.arrival desc, a.hadm_id) = 1
),
first_high as (
    select * from high_lactate
    qualify row_number() over (partition by subject_id, hadm_id order by charttime, labevent_id) = 1
),
culture as (
    select subject_id, micro_specimen_id, charttime
    from hosp.microbiologyevents
    where regexp_matches(spec_type_desc, '^blood culture', 'i')
      and not regexp_matches(spec_type_desc, 'post-mortem|neonat', 'i')
      and charttime is not null
    group by subject_id, micro_specimen_id, charttime
    having not bool_or(coalesce(org_itemid, 0) = 90760)
),
eligible as (
    select f.*
    from first_high f
    where f.available_at <= f.charttime + interval 12 hour
      and exists (
          select 1 from culture c
          where c.subject_id = f.subject_id
            and c.charttime between f.charttime - interval 6 hour and f.charttime + interval 6 hour)
      and exists (
          select 1 from antibacterial_orders() b
          where b.subject_id = f.subject_id
            and b.starttime between f.charttime - interval 24 hour and f.charttime + interval 24 hour)
    qualify row_number() over (partition by f.subject_id order by f.charttime, f.labevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.charttime as index_time,
    e.charttime + interval 12 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.charttime >= s.intime and e.charttime < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
