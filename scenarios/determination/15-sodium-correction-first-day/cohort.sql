-- The first serum sodium (50983) below 120 mmol/L of an adult visit (inpatient, with the emergency visit that
-- led to it). T is the draw. The nearest glucose within six hours must be 400 mg/dL or less, so that sugar does
-- not explain the value. Left out: dialysis in the week before or the day after, and values that a second
-- specimen unmasks as an error of sampling. Patients who leave or die within the day stay in.
--
-- Correction: the catalogue takes a sodium six or more higher in the eight hours before as a sign of a false
-- index. One eight or more higher within an hour after T is such a sign too: no treatment raises serum sodium
-- so fast (a bolus of hypertonic saline gives four to six), and the rise would be that of a diluted specimen.
--
-- Correction: a sodium below 120 in the two days before the visit (a clinic, another emergency visit) would be
-- the true start of the correction; the catalogue asks that the index be the first across the subject's rows,
-- and such cases are left out.
--
-- Correction: dialysis outside the ICU is in no procedure table; an order for it counts as well.
with
sodium as (
    select *, round(value, 6) as level from lab_results([50983])
),
low as (
    select n.*, a.hadm_id, a.arrival
    from sodium n
    join adult_admissions() a on a.subject_id = n.subject_id and n.charttime between a.arrival and a.dischtime
    where n.level < 120
    qualify row_number() over (partition by n.subject_id, n.charttime order by a.arrival desc, a.hadm_id) = 1
),
first_low as (
    select * from low
    qualify row_number() over (partition by hadm_id order by charttime, labevent_id) = 1
),
glucose as (
    select g.subject_id, g.itemid, g.charttime, round(g.value, 6) as value, g.labevent_id
    from lab_results([50931, 50809]) g
    where g.value > 0
    union all
    -- above the analyser's range: no number, but a remark that says so
    select subject_id, itemid, charttime, 10000, labevent_id
    from hosp.labevents
    where itemid in (50931, 50809) and valuenum is null
      and regexp_matches(concat_ws(' ', value, comments), '^\s*(>\s*\d|greater than)', 'i')
),
nearest_glucose as (
    select f.hadm_id, g.value
    from first_low f
    join glucose g
        on g.subject_id = f.subject_id
        and g.charttime between f.charttime - interval 6 hour and f.charttime + interval 6 hour
    qualify row_number() over (
        partition by f.hadm_id
        order by abs(epoch(g.charttime - f.charttime)), g.itemid = 50809, g.labevent_id) = 1
),
eligible as (
    select f.*
    from first_low f
    join nearest_glucose g using (hadm_id)
    where g.value <= 400
      and f.available_at <= f.charttime + interval 30 hour
      and not exists (
          select 1 from sodium n
          where n.subject_id = f.subject_id
            and ((n.charttime >= f.charttime - interval 8 hour and n.charttime < f.charttime and n.level >= f.level + 6)
                 or (n.charttime > f.charttime and n.charttime <= f.charttime + interval 1 hour
                     and n.level >= f.level + 8)
                 or (n.charttime >= f.charttime - interval 48 hour and n.charttime < f.charttime and n.level < 120)))
      and not exists (
          select 1 from dialyses() d
          where d.subject_id = f.subject_id
            and d.starttime <= f.charttime + interval 24 hour
            and coalesce(d.endtime, d.starttime) >= f.charttime - interval 7 day)
      and not exists (
          select 1 from hosp.poe o
          where o.subject_id = f.subject_id
            and regexp_matches(concat_ws(' ', o.order_type, o.order_subtype), 'dialysis', 'i')
            and o.ordertime between f.charttime - interval 7 day and f.charttime + interval 24 hour)
    qualify row_number() over (partition by f.subject_id order by f.charttime, f.labevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.charttime as index_time,
    e.charttime + interval 30 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.charttime >= s.intime and e.charttime < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
