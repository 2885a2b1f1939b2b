-- T = when the index count was available; the days that are judged are (T + 24 h, T + 72 h]. Rules are tried in
-- order; rows not available by as_of are not in these tables. `heparin` lists every row of heparin and what it
-- amounts to, for evidence.sql.
--
-- Correction: an infusion that the eMAR charts as confirmed was running. The shared conventions do not count
-- Confirmed as a dose, and a drip on a ward has hardly any other row.
--
-- Correction: the two days must each have been recorded. The shared rule asks for one eMAR row inside the window, and
-- one at T + 25 h says nothing about the 47 hours after it.
--
-- Correction: the ICU record stands for the eMAR only if it charted heparin in the 24 hours before T in the same
-- stay; "charted in inputevents" is read so.
--
-- Correction: 230044, heparin before the filter of a dialysis circuit, is filed with the heparin of circuits: the
-- catalogue names their eMAR rows only.
--
-- Correction: a count drawn after platelets were transfused is no recovery.
--
-- For review: 24 hours for stopping and 48 more to see it, a peak of 150 and a count of 20 K/uL or more, 10 days for
-- the peak, 0.8 of the peak for a recovery, which devices are another cause, and three eMAR rows within 12 hours of
-- the window and four hours without a heart rate (two in a window of up to two hours) as the measure of a record that
-- was kept are ours; no source gives them.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of,
        k.index_time as t,
        k.index_time + interval 24 hour as opens,
        k.index_time + interval 72 hour as closes,
        cast(k.params ->> '$.flushes_are_heparin' as boolean) as flushes_are_heparin,
        l.charttime as drawn
    from task k
    left join hosp.labevents l on l.task_id = k.task_id and l.eid = k.index_eid
),
clumped as (
    select distinct task_id, charttime
    from hosp.labevents
    where itemid in (51265, 51264, 51266) and regexp_matches(concat_ws(' ', value, comments), 'clump', 'i')
),
platelets as (
    select p.task_id, p.eids, p.charttime as drawn, p.value, p.available_at
    from lab_results([51265]) p
    where not exists (select 1 from clumped c where c.task_id = p.task_id and c.charttime = p.charttime)
),
peak as (
    select p.task_id, max(p.value) as value
    from platelets p
    join span s using (task_id)
    where p.drawn >= s.drawn - interval 10 day and p.drawn < s.drawn
    group by p.task_id
),
transfused as (
    select task_id, moment from infusions([225170, 226369, 227071]) where what = 'given'
),
recovery as (
    select p.task_id, p.eids
    from platelets p
    join span s using (task_id)
    join peak m using (task_id)
    where p.drawn > s.drawn and p.available_at <= s.opens and p.value >= 0.8 * m.value
      and not exists (
          select 1 from transfused x
          where x.task_id = p.task_id and x.moment > s.drawn and x.moment <= p.drawn)
),
device as (
    select p.task_id, p.eid
    from procedures([224272, 228169, 225802, 225803, 225809]) p
    join span s using (task_id)
    where p.moment <= s.t and p.until >= s.t
),
recorded as (
    select
        task_id, eid, name, moment, moment as until, what,
        regexp_matches(event, '^(delayed )?flushed', 'i') as flushed
    from administrations('heparin|enoxaparin|lovenox|dalteparin|fragmin')
    union all
    select task_id, eid, name, moment, until, 'given', false
    from drips('heparin')
    union all
    select
        task_id, eid, case itemid when 230044 then 'heparin of a hemodialysis circuit' else 'heparin' end,
        -- a push is a moment, whatever end it was given
        moment, case when rate > 0 then until else moment end, what, false
    from infusions([225152, 225975, 225906, 229597, 230044])
),
heparin as (
    select
        r.task_id, r.eid, r.moment, r.until,
        case
            when s.flushes_are_heparin then 'heparin'
            when regexp_matches(r.name, 'flush|dwell|lock|priming|crrt|hemodialysis', 'i') then 'flush'
            else 'heparin'
        end as kind,
        case when r.flushed then 'given' else r.what end as what,
        -- a dose at a moment, or a stretch that reaches into the two days
        r.moment <= s.closes and (r.moment > s.opens or r.until > s.opens) as late
    from recorded r
    join span s using (task_id)
),
in_unit as (  -- the ICU record covers the two days, and charted heparin before T in the same stay
    select distinct u.task_id
    from icu_live(index_time + interval 24 hour, index_time + interval 72 hour) u
    join span s using (task_id)
    join infusions([225152, 225975, 225906, 229597]) i on i.task_id = u.task_id and i.stay_id = u.stay_id
    where i.what = 'given' and i.moment <= s.t and i.until >= s.t - interval 24 hour
),
on_wards as (
    select task_id from emar_live(index_time + interval 24 hour, index_time + interval 48 hour)
    intersect
    select task_id from emar_live(index_time + interval 48 hour, index_time + interval 72 hour)
),
finding as (
    select
        s.task_id, s.drawn, s.closes,
        exists (select 1 from heparin h where h.task_id = s.task_id and h.late
                and h.kind = 'heparin' and h.what = 'given') as continued,
        exists (select 1 from heparin h where h.task_id = s.task_id and h.late
                and h.kind = 'flush' and h.what = 'given') as flushed,
        exists (select 1 from heparin h where h.task_id = s.task_id and h.late
                and h.kind = 'heparin' and h.what = 'verb_lost') as dose_lost,
        exists (select 1 from heparin h where h.task_id = s.task_id and h.late
                and h.kind = 'flush' and h.what = 'verb_lost') as flush_lost,
        s.task_id in (select task_id from device) or s.task_id in (select task_id from recovery) as rival,
        s.task_id in (select task_id from on_wards) or s.task_id in (select task_id from in_unit) as recording,
        s.task_id in (
            select task_id from in_icu(index_time + interval 24 hour, index_time + interval 72 hour)) as intensive
    from span s
),
ruled as (
    select
        *,
        case
            when continued and rival then 'rival_cause'
            when continued then 'continued'
            when not recording then 'not_recording'
            when flushed then 'flushes_only'
            else 'stopped'
        end as rule
    from finding
)
select
    r.task_id,
    case r.rule
        when 'not_recording' then 'lack_of_data'
        when 'stopped' then 'yes'
        when 'continued' then 'no'
        else 'medical_ambiguity'
    end as verdict,
    r.rule,
    -- a row that has lost its verb is neither a dose nor proof of none
    r.continued or not (r.dose_lost or (r.flush_lost and r.rule = 'stopped')) as eligible,
    r.intensive,
    r.drawn,
    (select list({eid: h.eid, moment: h.moment, until: h.until, kind: h.kind, what: h.what, late: h.late}
                 order by h.moment, h.eid)
     from heparin h where h.task_id = r.task_id) as heparin,
    (select flatten(list(p.eids order by p.drawn)) from platelets p join peak m using (task_id)
     where p.task_id = r.task_id and p.value = m.value and p.drawn < r.drawn
       and p.drawn >= r.drawn - interval 10 day) as peaks,
    (select list(distinct d.eid order by d.eid) from device d where d.task_id = r.task_id) as devices,
    (select flatten(list(v.eids)) from recovery v where v.task_id = r.task_id) as recoveries
from ruled r
order by r.task_id
