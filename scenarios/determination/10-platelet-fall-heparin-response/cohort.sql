-- The first platelet count of an adult admission that is at most half of the highest of the ten days before (of
-- 150 or more), if it is 20 or more and was drawn on days 5 to 10 of heparin (120 h to under 264 h after the first
-- dose of the admission), with heparin in the 24 hours before its result. T is the moment the result was available.
-- Patients who had another anticoagulant in these 24 hours, and those not in hospital at T + 72 h, are left out.
--
-- Correction: the count is the first of the admission that has fallen by half, on whatever day, and must lie on days
-- 5 to 10. Where the count had fallen by half before day 5 (after an operation, say), a low count on day 6 has not
-- the timing that makes one think of heparin.
--
-- Correction: flushes, locks and the heparin of a dialysis circuit are no exposure here. What the question asks to be
-- stopped is heparin given to the patient, and a single flush does not open the days of exposure.
--
-- Correction: a specimen with clumps reported has no count: neither fall nor peak is read from it.
with
clumped as (
    select distinct subject_id, charttime
    from hosp.labevents
    where itemid in (51265, 51264, 51266) and regexp_matches(concat_ws(' ', value, comments), 'clump', 'i')
),
platelets as (
    select
        p.*,
        max(p.value) over (
            partition by p.subject_id order by p.charttime
            range between interval 10 day preceding and interval 1 second preceding) as peak
    from lab_results([51265]) p
    where not exists (
          select 1 from clumped c where c.subject_id = p.subject_id and c.charttime = p.charttime)
),
fallen as (
    select p.*, a.hadm_id, a.arrival, a.dischtime, a.deathtime
    from platelets p
    join adult_admissions() a
        on a.subject_id = p.subject_id and p.charttime between a.arrival and a.dischtime
    where p.peak >= 150 and p.value <= 0.5 * p.peak
    qualify row_number() over (
        partition by p.subject_id, p.charttime order by a.arrival desc, a.hadm_id) = 1
),
first_fall as (
    select * from fallen
    qualify row_number() over (partition by subject_id, hadm_id order by charttime, labevent_id) = 1
),
heparin as (
    select subject_id, moment, moment as until
    from administrations('heparin|enoxaparin|lovenox|dalteparin|fragmin')
    where not regexp_matches(name, 'flush|dwell|lock|priming|crrt|hemodialysis', 'i')
      and (what = 'given' or regexp_matches(event, '^(delayed )?confirmed', 'i'))
    union all
    select subject_id, moment, until from infusions([225152, 225975, 225906, 229597])
),
other_anticoagulant as (
    select subject_id, moment, moment as until
    from administrations(
        'argatroban|bivalirudin|angiomax|fondaparinux|arixtra|apixaban|eliquis|rivaroxaban|xarelto|dabigatran|pradaxa'
            || '|edoxaban|savaysa')
    where what = 'given' or regexp_matches(event, '^(delayed )?confirmed', 'i')
    union all
    select subject_id, moment, until from infusions([225147, 225148, 225908, 229781])
),
exposed as (
    select f.subject_id, f.hadm_id, min(h.moment) as since, max(least(h.until, f.available_at)) as last
    from first_fall f
    join heparin h
        on h.subject_id = f.subject_id and h.moment >= f.arrival and h.moment <= f.available_at
    group by f.subject_id, f.hadm_id
),
eligible as (
    select f.*
    from first_fall f
    join exposed e using (subject_id, hadm_id)
    where f.value >= 20
      and f.charttime >= e.since + interval 120 hour
      and f.charttime < e.since + interval 264 hour
      and e.last >= f.available_at - interval 24 hour
      and f.dischtime >= f.available_at + interval 72 hour
      and (f.deathtime is null or f.deathtime >= f.available_at + interval 72 hour)
      and not exists (
          select 1 from other_anticoagulant o
          where o.subject_id = f.subject_id
            and o.moment <= f.available_at and o.until >= f.available_at - interval 24 hour)
    qualify row_number() over (partition by f.subject_id order by f.charttime, f.labevent_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.available_at as index_time,
    e.available_at + interval 72 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.available_at >= s.intime and e.available_at < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
