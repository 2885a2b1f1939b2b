-- T = the index draw, R = the first repeat: another specimen's numeric lactate drawn more than
-- `twin_minutes` after T. P = the draw of the first blood culture around T if that lies in (T, T + 6 h],
-- else T. Rules are tried in order; rows not available by as_of are not in these tables.
--
-- The clock never starts before T, since the bundle's time zero needs the raised lactate too: a culture drawn before T
-- changes nothing, one drawn after it opens the second reading.
--
-- For review: 10 minutes for two specimens that are one measurement (30 in the other reading), 60 minutes for a
-- bedside copy, the first blood culture within 6 hours as the moment of suspicion, an antibacterial within 24 hours,
-- and one specimen of any kind as the sign that specimens were being sent are ours; no source gives them.
with
span as (
    select
        task_id, hadm_id, index_eid, as_of,
        index_time as t,
        index_time + interval 6 hour as t6,
        index_time + to_minutes(cast(params ->> '$.twin_minutes' as bigint)) as after_twin
    from task
),
specimen as (
    select
        s.task_id, l.eid, l.specimen_id, l.charttime,
        coalesce(l.valuenum > 0 and l.valuenum <= 40, false) and not regexp_matches(
            regexp_replace(concat_ws(' ', l.value, l.comments), 'qns to verify( hemolysis)?', '', 'gi'),
            'cancel|not sufficient|\bqns\b|specimen lost|lost specimen', 'i') as numeric_result
    from span s
    join hosp.labevents l on l.task_id = s.task_id and l.itemid = 50813
),
later_specimen as (  -- not the index specimen, nor one so close that it is the same measurement
    select p.*
    from specimen p
    join span s using (task_id)
    left join specimen i on i.task_id = s.task_id and i.eid = s.index_eid
    where p.charttime > s.after_twin
      and (p.specimen_id is null or i.specimen_id is null or p.specimen_id <> i.specimen_id)
),
repeat as (
    select task_id, charttime from later_specimen where numeric_result
    union all
    -- a bedside value stands by itself only where no laboratory specimen lies within the hour
    select c.task_id, c.charttime
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid = 225668
      and c.valuenum > 0 and c.valuenum <= 40
      and c.charttime > s.after_twin
      and not exists (
          select 1 from specimen p
          where p.task_id = c.task_id
            and p.charttime between c.charttime - interval 60 minute and c.charttime + interval 60 minute)
),
first_repeat as (
    select task_id, min(charttime) as r from repeat group by task_id
),
culture as (
    select m.task_id, m.micro_specimen_id, min(m.charttime) as drawn
    from hosp.microbiologyevents m
    join span s using (task_id)
    where regexp_matches(m.spec_type_desc, '^blood culture', 'i')
      and not regexp_matches(m.spec_type_desc, 'post-mortem|neonat', 'i')
      and m.charttime between s.t - interval 6 hour and s.t6
    group by m.task_id, m.micro_specimen_id
    having not bool_or(coalesce(m.org_itemid, 0) = 90760)
),
first_culture as (
    select task_id, min(drawn) as drawn from culture group by task_id
),
departure as (
    select s.task_id
    from span s
    join hosp.admissions a on a.task_id = s.task_id and a.hadm_id = s.hadm_id
    where least(a.dischtime, a.deathtime) < s.t6
    union
    select s.task_id
    from span s
    join hosp.transfers x on x.task_id = s.task_id and x.hadm_id = s.hadm_id
    where x.eventtype = 'discharge' and x.intime >= s.t and x.intime < s.t6
),
unresulted as (
    select distinct p.task_id
    from later_specimen p
    join span s using (task_id)
    where p.charttime <= s.t6 and not p.numeric_result
),
laboratory_live as (
    select distinct s.task_id
    from span s
    join hosp.labevents l using (task_id)
    where l.charttime > s.t + interval 10 minute and l.charttime <= s.t6
),
monitored as (  -- in an ICU or an ED for some of the six hours
    select s.task_id
    from span s
    join icu.icustays i using (task_id)
    where i.intime <= s.t6 and coalesce(i.outtime, s.as_of) >= s.t
    union
    select s.task_id
    from span s
    join hosp.transfers x using (task_id)
    where (x.eventtype = 'ED' or regexp_matches(x.careunit, '^emergency department', 'i'))
      and x.intime <= s.t6 and coalesce(x.outtime, s.as_of) >= s.t
    union
    select s.task_id
    from span s
    join hosp.admissions a using (task_id)
    where a.edregtime <= s.t6 and coalesce(a.edouttime, s.as_of) >= s.t
    union
    select s.task_id
    from span s
    join ed.edstays e using (task_id)
    where e.intime <= s.t6 and coalesce(e.outtime, s.as_of) >= s.t
),
intensive as (
    select distinct s.task_id
    from span s
    join icu.icustays i using (task_id)
    where i.intime <= s.t6 and coalesce(i.outtime, s.as_of) >= s.t
),
finding as (
    select
        s.task_id,
        coalesce(f.r <= s.t6, false) as in_time,
        -- P > T only if no culture was drawn before; the later clock then ends at P + 6 h
        coalesce(c.drawn > s.t and f.r > s.t6 and f.r <= c.drawn + interval 6 hour, false) as between_clocks,
        d.task_id is not null as departed,
        u.task_id is not null as unresulted,
        v.task_id is null and m.task_id is null as laboratory_silent,
        i.task_id is not null as intensive,
        f.r,
        c.drawn
    from span s
    left join first_repeat f using (task_id)
    left join first_culture c using (task_id)
    left join departure d using (task_id)
    left join unresulted u using (task_id)
    left join laboratory_live v using (task_id)
    left join monitored m using (task_id)
    left join intensive i using (task_id)
)
select
    task_id,
    case
        when not in_time and (departed or unresulted or laboratory_silent) then 'lack_of_data'
        when between_clocks then 'medical_ambiguity'
        when in_time then 'yes'
        else 'no'
    end as verdict,
    case
        when in_time then 'repeated'
        when departed then 'departed'
        when unresulted then 'unresulted'
        when laboratory_silent then 'laboratory_silent'
        when between_clocks then 'between_clocks'
        else 'not_repeated'
    end as rule,
    intensive,  -- bedside charting could hold a lactate
    r as first_repeat,
    drawn as first_culture
from finding
order by task_id
