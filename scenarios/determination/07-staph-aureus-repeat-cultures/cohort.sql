-- The first blood culture of an adult admission (with the emergency visit that led to it) that grew Staphylococcus
-- aureus, none having grown it in the 30 days before. T is the collection of that specimen. Patients who die or leave
-- within the days that follow stay in. The agent is placed 30 days after discharge and sees the whole admission.
with
grown as (
    select
        subject_id, micro_specimen_id, min(charttime) as charttime, min(coalesce(charttime, chartdate)) as drawn,
        min(microevent_id) as microevent_id, arg_min(eid, microevent_id) as eid
    from hosp.microbiologyevents
    where spec_type_desc = 'BLOOD CULTURE' and regexp_matches(org_name, '^staph aureus', 'i')
    group by subject_id, micro_specimen_id
),
positive as (
    select g.*, a.hadm_id, a.dischtime
    from grown g
    join adult_admissions() a on a.subject_id = g.subject_id and g.charttime between a.arrival and a.dischtime
    qualify row_number() over (partition by g.subject_id, g.micro_specimen_id order by a.arrival desc, a.hadm_id) = 1
),
first_positive as (
    select * from positive
    qualify row_number() over (partition by subject_id, hadm_id order by charttime, microevent_id) = 1
),
eligible as (
    select f.*
    from first_positive f
    where not exists (
        select 1 from grown g
        where g.subject_id = f.subject_id and g.micro_specimen_id <> f.micro_specimen_id
          and g.drawn < f.charttime and g.drawn >= f.charttime - interval 30 day)
    qualify row_number() over (partition by f.subject_id order by f.charttime, f.microevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.charttime as index_time,
    e.dischtime + interval 30 day as as_of,
    cast(null as bigint) as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.charttime >= s.intime and e.charttime < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
