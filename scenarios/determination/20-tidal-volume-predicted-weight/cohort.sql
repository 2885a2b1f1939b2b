-- The first arterial gas of an adult's ICU stay that was drawn on invasive ventilation with a PaO2/FiO2 of 300 or
-- less and a PEEP of 5 or more, if that ventilation went on for 24 hours. T is the draw. FiO2 is that of the
-- specimen, else the last one charted in the four hours before; both are cleaned as in mimic-code (a fraction becomes
-- a percentage, what looks like a flow is none). PEEP is the one set nearest to the draw within two hours, the
-- earlier of two that are as near.
--
-- Correction: stays on extracorporeal oxygenation are left out: gases and volumes do not depend on each other there.
--
-- Correction: a specimen without a type counts as arterial only where the ICU chart took its oxygen over as arterial
-- (220224); in the laboratory the type decides, so that a venous gas which somebody charted as arterial is none.
with
gas as (
    select
        subject_id, specimen_id, charttime,
        max(value) filter (itemid = 52033) as kind,
        avg(valuenum) filter (itemid = 50821 and valuenum > 0 and valuenum <= 800) as po2,
        min(labevent_id) filter (itemid = 50821 and valuenum > 0 and valuenum <= 800) as labevent_id,
        min(eid) filter (itemid = 50821 and valuenum > 0 and valuenum <= 800) as eid,
        max(case
            when itemid = 50816 and valuenum > 20 and valuenum <= 100 then valuenum
            when itemid = 50816 and valuenum > 0.2 and valuenum <= 1 then valuenum * 100
        end) as fio2
    from hosp.labevents
    where itemid in (52033, 50821, 50816)
      and subject_id in (select subject_id from icu.icustays)
    group by subject_id, specimen_id, charttime
    having bool_or(itemid = 50821 and valuenum > 0 and valuenum <= 800)
),
copied as (
    select subject_id, stay_id, charttime, avg(valuenum) as po2, min(eid) as eid
    from icu.chartevents
    where itemid = 220224 and valuenum > 0 and valuenum <= 800
    group by subject_id, stay_id, charttime
),
arterial as (
    select g.subject_id, g.charttime, g.po2, g.fio2, g.labevent_id, g.eid
    from gas g
    where regexp_matches(coalesce(g.kind, ''), '^\s*art', 'i')
       or (g.kind is null and exists (
           select 1 from copied c where c.subject_id = g.subject_id and c.charttime = g.charttime))
    union all
    select c.subject_id, c.charttime, c.po2, null, null, c.eid
    from copied c
    where not exists (select 1 from gas g where g.subject_id = c.subject_id and g.charttime = c.charttime)
),
oxygen as (
    select
        stay_id, charttime,
        max(case when valuenum > 0.2 and valuenum <= 1 then valuenum * 100 else valuenum end) as fio2
    from icu.chartevents
    where itemid = 223835 and ((valuenum > 0.2 and valuenum <= 1) or valuenum between 20 and 100)
    group by stay_id, charttime
),
pressure as (
    select stay_id, charttime, max(valuenum) as peep
    from icu.chartevents
    where itemid = 220339 and valuenum between 0 and 100
    group by stay_id, charttime
),
ventilated as (
    select v.subject_id, v.hadm_id, v.stay_id, v.ends, a.charttime, a.po2, a.fio2, a.labevent_id, a.eid
    from invasive_ventilation() v
    join arterial a on a.subject_id = v.subject_id and a.charttime between v.begins and v.ends
),
inspired as (
    select
        v.* exclude (fio2),
        coalesce(any_value(v.fio2), max_by(o.fio2, o.charttime)) as fio2
    from ventilated v
    left join oxygen o
        on o.stay_id = v.stay_id and o.charttime between v.charttime - interval 4 hour and v.charttime
    group by all
),
pressed as (
    select i.*, p.peep
    from inspired i
    join pressure p
        on p.stay_id = i.stay_id
        and p.charttime between i.charttime - interval 2 hour and i.charttime + interval 2 hour
    qualify row_number() over (
        partition by i.stay_id, i.eid order by abs(epoch(p.charttime) - epoch(i.charttime)), p.charttime) = 1
),
first_gas as (
    select * from pressed
    where round(100 * po2 / fio2, 6) <= 300 and peep >= 5
    qualify row_number() over (partition by stay_id order by charttime, labevent_id, eid) = 1
),
bypass as (
    select stay_id
    from icu.chartevents
    where itemid in (224660, 228193) or itemid in (select itemid from icu.d_items where category = 'ECMO')
    union
    select stay_id from icu.procedureevents where itemid in (229529, 229530)
),
eligible as (
    select g.*
    from first_gas g
    join adult_admissions() a on a.subject_id = g.subject_id and a.hadm_id = g.hadm_id
    where g.ends >= g.charttime + interval 24 hour
      and g.stay_id not in (select stay_id from bypass)
    qualify row_number() over (partition by g.subject_id order by g.charttime, g.labevent_id, g.eid) = 1
)
select
    subject_id,
    hadm_id,
    stay_id,
    charttime as index_time,
    charttime + interval 24 hour as as_of,
    hadm_id as sealed_hadm_id,
    eid as index_eid,
    '{}' as params
from eligible
order by subject_id
