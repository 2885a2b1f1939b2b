-- T = the extubation; the window is [T - 24 h, T]. What was charted as a trial: 'SBT Started' (224715) and 'SBT
-- Successfully Completed' (224717) unless they say No, and the mode PSV/SBT (223849). What ended one before its time:
-- 'SBT Stopped' (224716), or a completion that says No after a start. Low support: a run of mode rows of spontaneous
-- breathing with pressure support and PEEP low, half an hour from first to last; or a T-piece charted for half an
-- hour. Rules are tried in order; rows not available by as_of are not in these tables. The facts after the rule serve
-- evidence.sql.
--
-- Correction: the catalogue takes any row of 'SBT Started' and 'SBT Successfully Completed' for a trial. They have
-- values: a row that says No is no trial, and a completion that says No after a start is a trial that ended like one
-- that was stopped.
--
-- Correction: a trial that was stopped also keeps the missing charting of modes from being a lack of data.
--
-- Correction: modes of low support are all of CPAP/PPS and CPAP/PSV, whatever their backup is called, CPAP itself and
-- SPONT of Hamilton ventilators. A T-piece (226732) is the other usual form of a trial, and as unlabelled.
--
-- Correction: support and PEEP are seldom charted in the minute of the mode, so that the last ones charted in the four
-- hours up to it count.
--
-- For review: 24 hours before the extubation, 4 hours for the pressures of a mode, three modes as the measure of a
-- ventilator that was charted, and half an hour from first to last mode row are ours. The guideline names 5 to 8 cmH2O
-- of support and 30 to 120 minutes are usual in trials; it does not say within which time before extubation.
with
span as (
    select
        k.task_id, k.index_eid, k.stay_id, k.as_of,
        k.index_time as t,
        k.index_time - interval 24 hour as opens,
        cast(k.params ->> '$.max_support' as double) as max_support,
        cast(k.params ->> '$.max_peep' as double) as max_peep,
        to_minutes(cast(k.params ->> '$.least_minutes' as bigint)) as least
    from task k
),
noted as (
    select c.task_id, c.eid, c.itemid, c.charttime, trim(c.value) as value
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid in (224715, 224716, 224717, 224833, 223849, 229314, 226732)
      and c.charttime between s.opens and s.t
),
trial as (
    select
        task_id, eid, charttime,
        case itemid when 224715 then 'started' when 224717 then 'completed' else 'mode' end as what
    from noted
    where (itemid in (224715, 224717) and not regexp_matches(coalesce(value, ''), '^no\b', 'i'))
       or (itemid = 223849 and value = 'PSV/SBT')
),
stopped as (
    select task_id, eid, charttime
    from noted
    where itemid = 224716 and not regexp_matches(coalesce(value, ''), '^no\b', 'i')
    union all
    select n.task_id, n.eid, n.charttime
    from noted n
    where n.itemid = 224717 and regexp_matches(n.value, '^no\b', 'i')
      and exists (select 1 from trial t where t.task_id = n.task_id and t.charttime <= n.charttime)
),
last_stopped as (  -- the last word on trials: no start after it, no completion with it or after it
    select s.task_id, list(s.eid order by s.eid) as eids
    from stopped s
    where not exists (
        select 1 from trial t
        where t.task_id = s.task_id
          and (t.charttime > s.charttime or (t.what = 'completed' and t.charttime = s.charttime)))
      and s.charttime = (select max(o.charttime) from stopped o where o.task_id = s.task_id)
    group by s.task_id
),
mode as (
    select task_id, charttime, min(eid) as eid, bool_and(regexp_matches(value, '^(cpap|spont)', 'i')) as spontaneous
    from noted
    where itemid in (223849, 229314)
    group by task_id, charttime
),
support as (
    select task_id, eid, itemid, charttime, valuenum
    from icu.chartevents
    where itemid in (224701, 220339) and valuenum between 0 and 100
),
supported as (  -- each mode row with the pressures in force
    select
        m.task_id, m.charttime, m.eid, m.spontaneous,
        max_by(p.valuenum, p.charttime) filter (p.itemid = 224701) as psv,
        max_by(p.eid, p.charttime) filter (p.itemid = 224701) as psv_eid,
        max_by(p.valuenum, p.charttime) filter (p.itemid = 220339) as peep,
        max_by(p.eid, p.charttime) filter (p.itemid = 220339) as peep_eid
    from mode m
    left join support p
        on p.task_id = m.task_id and p.charttime between m.charttime - interval 4 hour and m.charttime
    group by m.task_id, m.charttime, m.eid, m.spontaneous
),
judged as (
    select
        u.*,
        coalesce(u.spontaneous and u.psv <= s.max_support and u.peep <= s.max_peep, false) as low
    from supported u
    join span s using (task_id)
),
runs as (
    select *, sum(case when low then 0 else 1 end) over (partition by task_id order by charttime) as run
    from judged
),
low_run as (
    select r.task_id, r.run, list({eid: r.eid, moment: r.charttime, psv: r.psv_eid, peep: r.peep_eid} order by r.charttime) as rows
    from runs r
    join span s using (task_id)
    where r.low
    group by r.task_id, r.run
    having max(r.charttime) - min(r.charttime) >= any_value(s.least)
),
device as (
    select
        task_id, charttime, min(eid) as eid, bool_or(regexp_matches(value, '^t-?\s?piece', 'i')) as t_piece,
        lead(charttime) over (partition by task_id order by charttime) as following
    from noted
    where itemid = 226732
    group by task_id, charttime
),
piece as (  -- until another device is charted, a mode is charted again, or the extubation
    select d.task_id, d.eid
    from device d
    join span s using (task_id)
    where d.t_piece
      and least(
          s.t,
          coalesce((
              select min(o.charttime) from device o
              where o.task_id = d.task_id and o.charttime > d.charttime and not o.t_piece), s.t),
          coalesce((
              select min(m.charttime) from mode m where m.task_id = d.task_id and m.charttime > d.charttime), s.t))
          - d.charttime >= s.least
),
finding as (
    select
        s.task_id,
        s.task_id in (select task_id from trial) as labelled,
        s.task_id in (select task_id from last_stopped) as stopped_last,
        s.task_id in (select task_id from low_run) as low_support,
        s.task_id in (select task_id from piece) as t_piece,
        s.task_id in (select task_id from noted where itemid = 224833) as deferred,
        (select count(*) from mode m where m.task_id = s.task_id) as modes
    from span s
)
select
    f.task_id,
    case
        when f.stopped_last or (not f.labelled and (f.low_support or f.t_piece)) then 'medical_ambiguity'
        when f.labelled then 'yes'
        when not f.deferred and f.modes < 3 then 'lack_of_data'
        else 'no'
    end as verdict,
    case
        when f.stopped_last then 'stopped'
        when f.labelled then 'documented'
        when f.low_support then 'low_support'
        when f.t_piece then 't_piece'
        when not f.deferred and f.modes < 3 then 'not_charted'
        when f.deferred then 'deferred'
        else 'none'
    end as rule,
    f.modes,
    (select list({eid: t.eid, moment: t.charttime, what: t.what} order by t.charttime, t.eid) from trial t
     where t.task_id = f.task_id) as trials,
    (select eids from last_stopped l where l.task_id = f.task_id) as stops,
    (select list({run: l.run, rows: l.rows} order by l.run) from low_run l where l.task_id = f.task_id) as low_runs,
    (select list(p.eid order by p.eid) from piece p where p.task_id = f.task_id) as pieces
from finding f
order by f.task_id
