-- One dose of metformin of an adult in hospital: of all doses given, the one with the highest creatinine, that is, the
-- latest one known when it was given (drawn in the seven days before), the earliest of equals; if none of the
-- patient's doses has one, the first. T is the dose. Left out are patients on dialysis, by a procedure of the
-- month before or by a code, and those above 89, whose age is not recorded.
--
-- Correction: the catalogue places the agent at T. The record of a dose is written minutes after it, so that the dose
-- itself could not be seen; as-of is an hour later, and doses that were recorded later still are left out. What could
-- be known at T is decided by when results were stored.
--
-- Correction: combination products are known by their brands too, which do not name metformin.
--
-- Correction: patients above 89 are left out; their age stands as 91 in the record, and every estimate turns on it.
--
-- Correction: dialysis is looked for in the month before the dose, and dependence on it in the codes.
with
dose as (
    select d.subject_id, d.eid, d.moment, v.hadm_id
    from administrations(
        'metformin|glucophage|fortamet|glumetza|riomet|janumet|jentadueto|kombiglyze|kazano|prandimet|actoplus'
        || '|avandamet|glucovance|metaglip|invokamet|xigduo|synjardy|segluromet|trijardy') d
    join adult_admissions() v on v.subject_id = d.subject_id and d.moment between v.arrival and v.dischtime
    where d.what = 'given' and d.available_at <= d.moment + interval 1 hour
    qualify row_number() over (partition by d.subject_id, d.eid order by v.arrival desc, v.hadm_id) = 1
),
creatinine as (
    select * from lab_results([50912])
),
judged as (
    select d.subject_id, d.eid, d.moment, d.hadm_id, max_by(c.value, c.charttime) as latest
    from dose d
    left join creatinine c
        on c.subject_id = d.subject_id
        and c.charttime between d.moment - interval 7 day and d.moment
        and c.available_at <= d.moment
    group by d.subject_id, d.eid, d.moment, d.hadm_id
),
chosen as (
    select j.*
    from judged j
    join hosp.patients p using (subject_id)
    where p.anchor_age <= 89
      and not exists (
          select 1 from on_dialysis() d
          where d.subject_id = j.subject_id and d.since <= j.moment and d.until >= j.moment - interval 30 day)
    qualify row_number() over (
        partition by j.subject_id order by j.latest desc nulls last, j.moment, j.eid) = 1
)
select
    c.subject_id,
    c.hadm_id,
    s.stay_id,
    c.moment as index_time,
    c.moment + interval 1 hour as as_of,
    c.hadm_id as sealed_hadm_id,
    c.eid as index_eid,
    '{}' as params
from chosen c
left join icu.icustays s
    on s.subject_id = c.subject_id and s.hadm_id = c.hadm_id and c.moment >= s.intime and c.moment < s.outtime
qualify row_number() over (partition by c.subject_id order by s.intime) = 1
order by c.subject_id
