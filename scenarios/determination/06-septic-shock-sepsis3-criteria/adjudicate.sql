-- T = the begin of the first vasopressor infusion. V = minutes of [T, T + 24 h] covered by vasopressor infusions with a
-- rate above zero, taken together. Lpre = lactates drawn in [T - 6 h, T), Lpost = lactates drawn in [T, T + 24 h].
-- Rules are tried in order; rows not available by as_of are not in these tables. `vasopressors` and `lactates` list
-- what was found, for evidence.sql.
--
-- Correction: a lactate charted at the bedside (225668) with no laboratory specimen within an hour stands by itself; the
-- catalogue knows the laboratory's only. A copy adds nothing.
--
-- Correction: a lactate specimen drawn in [T, T + 24 h] without a number, where no other one has one, leaves open whether
-- lactate was high during resuscitation. It is a lack of data, before the ambiguity.
--
-- Correction: where lactate was measured before T only, the catalogue says ambiguous if it was high and NO if it was not.
-- In both, one reading (around the start) can be answered and the other (despite resuscitation) lacks its lactate, so
-- that neither verdict is clean; these cases are left out.
--
-- For review: 6 hours before T for a lactate "around the start", 60 minutes for a bedside copy, and leaving out
-- patients who die or leave within the hour are ours; no source gives them. The hour of vasopressor is that of the
-- SOFA score, the 24 hours are those of the question.
with
span as (
    select
        task_id, index_eid, stay_id, as_of,
        index_time as t,
        index_time - interval 6 hour as opens,
        index_time + interval 24 hour as closes,
        cast(params ->> '$.least_minutes' as double) as least_minutes
    from task
),
vasopressor as (
    select
        i.task_id, i.eid, i.starttime as moment,
        greatest(i.starttime, s.t) as runs_from, least(coalesce(i.endtime, s.as_of), s.closes) as runs_to
    from icu.inputevents i
    join span s using (task_id)
    where i.itemid in (221906, 221289, 229617, 222315, 221749, 229630, 229631, 229632, 221662, 229709, 229764)
      and i.rate > 0 and coalesce(i.statusdescription, '') <> 'Rewritten'
      and i.starttime < s.closes and coalesce(i.endtime, s.as_of) > s.t
),
placed as (  -- a stretch begins where none before it lasts
    select
        *,
        coalesce(runs_from > max(runs_to) over (
            partition by task_id order by runs_from, runs_to, eid rows between unbounded preceding and 1 preceding), true)
            as begins
    from vasopressor
),
numbered as (
    select *, count(*) filter (begins) over (
        partition by task_id order by runs_from, runs_to, eid rows unbounded preceding) as stretch
    from placed
),
course as (
    select task_id, sum(epoch(ends - begun)) / 60 as minutes
    from (
        select task_id, stretch, min(runs_from) as begun, max(runs_to) as ends from numbered group by task_id, stretch)
    group by task_id
),
specimen as (  -- also those that have no number
    select l.task_id, l.charttime, l.eid
    from hosp.labevents l
    join span s using (task_id)
    where l.itemid = 50813 and l.charttime between s.opens - interval 1 hour and s.closes + interval 1 hour
),
measured as (
    select task_id, charttime, value, eids
    from lab_results([50813])
    union all
    select c.task_id, c.charttime, c.valuenum, [c.eid]
    from icu.chartevents c
    where c.itemid = 225668 and c.valuenum > 0 and c.valuenum <= 40
      and not exists (
          select 1 from specimen p
          where p.task_id = c.task_id
            and p.charttime between c.charttime - interval 60 minute and c.charttime + interval 60 minute)
),
lactate as (
    select
        m.task_id, m.charttime, round(m.value, 6) as value, m.eids,
        case when m.charttime < s.t then 'before' else 'after' end as place
    from measured m
    join span s using (task_id)
    where m.charttime between s.opens and s.closes
),
level as (
    select
        task_id,
        max(value) filter (place = 'before') as before_t,
        max(value) filter (place = 'after') as after_t,
        list({eids: eids, moment: charttime, value: value, place: place} order by charttime) as lactates
    from lactate
    group by task_id
),
unresulted as (
    select p.task_id, list(p.eid order by p.charttime, p.eid) as eids
    from specimen p
    join span s using (task_id)
    where p.charttime between s.t and s.closes
      and not exists (select 1 from lactate l where l.task_id = p.task_id and list_contains(l.eids, p.eid))
    group by p.task_id
),
finding as (
    select
        s.task_id,
        coalesce(c.minutes, 0) as minutes,
        coalesce(c.minutes, 0) >= s.least_minutes as long_enough,
        v.before_t, v.after_t, v.lactates,
        u.eids as unresulted
    from span s
    left join course c using (task_id)
    left join level v using (task_id)
    left join unresulted u using (task_id)
),
ruled as (
    select
        *,
        case
            when not long_enough then 'short_infusion'
            when after_t is null and unresulted is not null then 'unresulted'
            when after_t is null and before_t is null then 'no_lactate'
            when after_t > 2.0 then 'criteria_met'
            when before_t > 2.0 then 'raised_before_only'
            else 'no_raised_lactate'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule in ('unresulted', 'no_lactate') then 'lack_of_data'
        when r.rule = 'raised_before_only' then 'medical_ambiguity'
        when r.rule = 'criteria_met' then 'yes'
        else 'no'
    end as verdict,
    r.rule,
    not (r.rule in ('raised_before_only', 'no_raised_lactate') and r.after_t is null) as eligible,
    round(r.minutes, 2) as minutes,
    case when r.rule = 'unresulted' then k.index_time else k.index_time - interval 6 hour end as lactate_from,
    r.before_t,
    r.after_t,
    r.lactates,
    r.unresulted,
    (select list(v.eid order by v.moment, v.eid) from vasopressor v where v.task_id = r.task_id) as vasopressors
from ruled r
join task k using (task_id)
order by r.task_id
