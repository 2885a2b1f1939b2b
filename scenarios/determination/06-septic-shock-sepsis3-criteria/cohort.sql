-- The first vasopressor infusion of an adult's first ICU stay in which infection was suspected between 48 hours before
-- and 24 hours after its begin. T is that begin. Infection is suspected as in mimic-code's concept: an antibacterial
-- ordered within 72 hours after a culture was drawn (from the draw on), or a culture drawn within 24 hours after an
-- antibacterial was ordered (from the order on). Left out: stays under cardiac surgery at any moment of the 24 hours
-- before T.
--
-- Correction: swabs that screen for carriage (MRSA and the like) are sent of nearly every ICU patient; mimic-code's
-- concept takes them for cultures, so that any antibacterial would be a suspicion. They do not count here.
--
-- Correction: a vasopressor begins with its first row that has a rate above zero; a push has none. 229631
-- (phenylephrine) and 229617 (epinephrine) are vasopressors too, which the catalogue's list lacks.
--
-- Correction: patients who die or leave the ICU within an hour of T are left out. Whether the vasopressor was needed
-- for an hour cannot be seen in them.
with
vasopressor as (
    select i.subject_id, i.stay_id, i.starttime as moment, i.eid, i.available_at
    from icu.inputevents i
    where i.itemid in (221906, 221289, 229617, 222315, 221749, 229630, 229631, 229632, 221662, 229709, 229764)
      and i.rate > 0 and coalesce(i.statusdescription, '') <> 'Rewritten'
),
begun as (
    select
        v.*, s.hadm_id, s.outtime, a.deathtime,
        cast(regexp_extract(v.eid, '\d+') as bigint) as place
    from vasopressor v
    join icu.icustays s on s.stay_id = v.stay_id
    join adult_admissions() a on a.hadm_id = s.hadm_id
    qualify row_number() over (partition by v.stay_id order by v.moment, place) = 1
),
culture as (
    select subject_id, micro_specimen_id, min(charttime) as charttime, min(chartdate) as chartdate
    from hosp.microbiologyevents
    where not regexp_matches(
        concat_ws(' ', spec_type_desc, test_name), 'screen|staph aureus swab|r/o vancomycin resistant', 'i')
    group by subject_id, micro_specimen_id
),
suspected as (
    select
        b.subject_id, b.starttime,
        min(coalesce(c.charttime, c.chartdate)) filter (
            (b.starttime > c.charttime and b.starttime <= c.charttime + interval 72 hour)
            or (c.charttime is null and date_trunc('day', b.starttime) between c.chartdate and c.chartdate + interval 3 day))
            as drawn_before
    from antibacterial_orders() b
    join culture c
        on c.subject_id = b.subject_id
        and coalesce(c.charttime, c.chartdate) between b.starttime - interval 4 day and b.starttime + interval 2 day
        and ((b.starttime > c.charttime and b.starttime <= c.charttime + interval 72 hour)
             or (b.starttime < c.charttime and b.starttime >= c.charttime - interval 24 hour)
             or (c.charttime is null
                 and date_trunc('day', b.starttime) between c.chartdate - interval 1 day and c.chartdate + interval 3 day))
    group by b.subject_id, b.starttime
),
cared_for as (
    select
        subject_id, curr_service, transfertime as since,
        lead(transfertime) over (partition by subject_id, hadm_id order by transfertime) as ended
    from hosp.services
),
eligible as (
    select b.*
    from begun b
    where b.available_at <= b.moment + interval 24 hour
      and b.outtime >= b.moment + interval 60 minute
      and (b.deathtime is null or b.deathtime >= b.moment + interval 60 minute)
      and exists (
          select 1 from suspected i
          where i.subject_id = b.subject_id
            and coalesce(i.drawn_before, i.starttime)
                between b.moment - interval 48 hour and b.moment + interval 24 hour)
      and not exists (
          select 1 from cared_for c
          where c.subject_id = b.subject_id and c.curr_service = 'CSURG'
            and c.since <= b.moment and coalesce(c.ended, b.moment) > b.moment - interval 24 hour)
    qualify row_number() over (partition by b.subject_id order by b.moment, b.place) = 1
)
select
    e.subject_id,
    e.hadm_id,
    e.stay_id,
    e.moment as index_time,
    e.moment + interval 24 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
order by e.subject_id
