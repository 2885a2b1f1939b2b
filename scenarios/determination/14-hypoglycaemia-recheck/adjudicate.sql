-- T = the index glucose; the hour is (T, T + 60 min]. Rules are tried in order; rows not available by as_of are
-- not in these tables. `readings` lists what each glucose row around the hour amounts to, for evidence.sql.
--
-- Correction: the catalogue calls every case ambiguous in which another item showed 70 or more within ten
-- minutes of T. Where a further glucose of 70 or more follows in the hour, both ways of reading the discordant
-- pair give the same answer, so that such a case is a YES here; only where no other one does is it ambiguous.
--
-- Correction: "another item" is read as another method. 226537 is the chart's copy of 50809 and 220621 that of
-- 50931; two items of one method cannot be two methods that disagree.
--
-- Correction: the catalogue calls it lack of data if rechecks hold null values only. A null beside low values
-- could have been 70 or more just as well, so that any recheck without a number makes a lack as long as none
-- of 70 or more is there. "LO" and "HI" (or "less than", "greater than") are no nulls: they say on which side
-- of 54 and 70 the glucose lay.
--
-- Correction: the catalogue lets any transfers row that starts in the hour stand for being off the unit. A move
-- from one ICU to the next leaves the ICU record running; only the end of the ICU stay, the operating room and
-- a gap in the charting count.
--
-- Correction: sugar given in the ten minutes before T explains a higher value just after T as well as sugar
-- given after it; the catalogue asks only for what was given after T.
--
-- For review: 60 minutes for the recheck (guidelines say about 15), 10 minutes for two measurements of one moment, 2
-- minutes for a copy, 3 hours for a result of the laboratory, and a gap of 2 hours between heart rates are ours; no
-- source gives them.
with
span as (
    select
        task_id, stay_id, index_eid, as_of,
        index_time as t,
        index_time + interval 60 minute as closes,
        index_time + to_minutes(cast(params ->> '$.chemistry_known_minutes' as bigint)) as chemistry_known
    from task
),
reading as (
    select
        g.*, s.t, s.closes,
        case
            when g.beyond = 'high' or g.value >= 70 then 'high'
            when g.beyond = 'low' or g.value is not null then 'low'
            else 'none'
        end as level
    from glucose_readings() g
    join span s using (task_id)
    where g.moment between s.t - interval 10 minute and s.closes
      and (g.method <> 'chemistry' or g.available_at <= s.chemistry_known)
),
index_reading as (
    select r.task_id, r.method, r.value
    from reading r
    join span s on s.task_id = r.task_id and s.index_eid = r.eid
),
sugar as (
    select task_id, eid, moment, what
    from administrations('dextrose (10|20|50)\s?%|glucagon|glucose gel|dextrose gel|oral glucose|glutose')
    union all
    select task_id, eid, moment, what
    from infusions([220952, 220950, 220951, 228140, 228141, 228142])
),
placed as (
    select
        r.*,
        abs(epoch(r.moment - r.t)) <= 120 and r.value = i.value as of_index,
        r.level = 'high' and r.method <> i.method and abs(epoch(r.moment - r.t)) <= 600 as beside,
        (select min(case d.what when 'given' then 1 when 'verb_lost' then 2 end) from sugar d
         where d.task_id = r.task_id and d.moment between r.t - interval 10 minute and r.moment) as sugared
    from reading r
    join index_reading i using (task_id)
),
roled as (
    select
        *,
        case
            when of_index then 'index'
            when beside and (moment <= t or sugared is distinct from 1) then 'discordant'
            when moment <= t then 'before'
            when level = 'high' then 'recovered'
            when level = 'low' then 'low'
            -- a chart copy can hold what the laboratory's row lacks
            when exists (
                select 1 from reading n
                where n.task_id = p.task_id and n.method = p.method and n.level <> 'none'
                  and abs(epoch(n.moment - p.moment)) <= 120) then 'copied'
            else 'unresulted'
        end as role
    from placed p
),
found as (
    select
        task_id,
        bool_or(role = 'recovered') as recovered,
        bool_or(role = 'discordant') as disputed,
        bool_or(role = 'discordant' and moment > t and sugared = 2) as verb_lost,
        bool_or(role = 'unresulted') as unresulted,
        bool_or(role = 'low') as low,
        bool_or(moment > t and role <> 'index') as rechecked,
        list({eid: eid, itemid: itemid, moment: moment, method: method, role: role} order by moment, eid) as readings
    from roled
    group by task_id
),
finding as (
    select
        s.task_id, f.* exclude (task_id),
        u.outtime < s.closes as departed,
        o.eids as operating,
        s.task_id in (
            select task_id from icu_live(index_time, index_time + interval 60 minute)) as charted
    from span s
    left join found f using (task_id)
    left join icu.icustays u on u.task_id = s.task_id and u.stay_id = s.stay_id
    left join operating(index_time, index_time + interval 60 minute) o on o.task_id = s.task_id
),
ruled as (
    select
        *,
        case
            when recovered then 'recovered'
            when unresulted then 'unresulted'
            when not rechecked and coalesce(departed, false) then 'left_unit'
            when not rechecked and operating is not null then 'operating_room'
            when not rechecked and not charted then 'not_charted'
            when disputed then 'disputed'
            when low then 'still_low'
            else 'not_rechecked'
        end as rule
    from finding
)
select
    task_id,
    case
        when rule = 'recovered' then 'yes'
        when rule in ('unresulted', 'left_unit', 'operating_room', 'not_charted') then 'lack_of_data'
        when rule = 'disputed' then 'medical_ambiguity'
        else 'no'
    end as verdict,
    rule,
    -- a dose row that has lost its verb leaves open whether sugar explains the second method
    not (rule = 'disputed' and verb_lost) as eligible,
    operating,
    readings
from ruled
order by task_id
