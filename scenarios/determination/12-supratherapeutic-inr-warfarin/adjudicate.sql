-- T = when the index INR was available. W = a warfarin dose given in (T, T + 24 h]; R = an INR drawn in
-- (T, T + repeat_minutes]. What a W amounts to follows from the latest INR drawn after the index specimen whose
-- result was known before it. Rules are tried in order; rows not available by as_of are not in these tables. The
-- facts after the rule serve evidence.sql.
--
-- Correction: the catalogue makes every dose after an INR of 3.5 or less ambiguous. Up to 3.0 no usual target range
-- (2 to 3; 2.5 to 3.5 for some mechanical valves) calls the INR high any more, so that such a dose was not given
-- while it stayed high; only above 3.0 and up to 3.5 do the ranges disagree.
--
-- Correction: the latest INR known before a dose decides, not the lowest: an INR that has risen again is high.
--
-- Correction: two lacks are added, both only where no repeat has a number and no dose settles the question. A
-- repeat that was drawn and could not be reported is neither a repeat nor proof of none; and a missing repeat means
-- nothing where no specimen of any kind was drawn.
--
-- Correction: an argatroban infusion that the eMAR charts as confirmed or restarted was running as well as one of
-- inputevents.
--
-- For review: 30 hours for "the next morning", 24 hours for a drug that disturbs the test, 72 hours for being on
-- warfarin, an INR of 5.0 (guidelines write of 4.5 to 10), and three eMAR rows within 12 hours of the window and four
-- hours without a heart rate (two in a window of up to two hours) as the measure of a record that was kept are ours;
-- no source gives them.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of,
        k.index_time as t,
        k.index_time + interval 24 hour as closes,
        k.index_time + to_minutes(cast(k.params ->> '$.repeat_minutes' as bigint)) as repeat_by,
        cast(k.params ->> '$.usual_range_ends' as double) as usual_range_ends,
        cast(k.params ->> '$.widest_range_ends' as double) as widest_range_ends,
        l.charttime as drawn
    from task k
    left join hosp.labevents l on l.task_id = k.task_id and l.eid = k.index_eid
),
reported as (  -- what lies beyond the analyser's range has no number of its own: ">22" counts as 22
    select
        task_id, charttime, available_at, eid,
        case
            when not regexp_matches(
                concat_ws(' ', value, comments), 'cancel|not sufficient|\bqns\b|specimen lost|lost specimen', 'i')
                then coalesce(
                    valuenum,
                    try_cast(regexp_extract(
                        concat_ws(' ', value, comments), '(?i)(?:>|greater than)\s*=?\s*(\d+(?:\.\d+)?)', 1) as double))
        end as inr
    from hosp.labevents
    where itemid = 51237
),
later as (  -- specimens drawn after the index specimen; value null where none of its rows has a number
    select
        r.task_id, r.charttime as drawn, avg(r.inr) filter (r.inr > 0) as value, max(r.available_at) as known,
        coalesce(min(r.eid) filter (r.inr > 0), min(r.eid)) as eid,
        r.charttime > min(s.t) and r.charttime <= min(s.repeat_by) as in_time
    from reported r
    join span s using (task_id)
    where r.charttime > s.drawn
    group by r.task_id, r.charttime
),
zero as (  -- rows that say that nothing was in the dose
    select n.task_id, n.eid
    from administrations('warfarin|coumadin|jantoven') n
    left join hosp.emar_detail d using (task_id, eid)
    left join hosp.prescriptions o on o.task_id = n.task_id and o.pharmacy_id = n.pharmacy_id and o.drug_type = 'MAIN'
    group by n.task_id, n.eid
    having coalesce(max(try_cast(d.dose_given as double)), max(try_cast(o.dose_val_rx as double))) = 0
),
warfarin as (
    select task_id, eid, moment, what from administrations('warfarin|coumadin|jantoven')
    where (task_id, eid) not in (select (task_id, eid) from zero)
    union all
    select task_id, eid, moment, what from infusions([225913])
),
dose as (
    select
        w.task_id, w.eid, w.moment, w.what,
        max_by(l.value, l.drawn) as latest, max_by(l.eid, l.drawn) as latest_eid
    from warfarin w
    join span s using (task_id)
    left join later l on l.task_id = w.task_id and l.value is not null and l.known < w.moment
    where w.moment > s.t and w.moment <= s.closes
    group by w.task_id, w.eid, w.moment, w.what
),
judged as (
    select
        d.*,
        case
            when d.what <> 'given' then d.what
            when d.latest is null or round(d.latest, 6) > s.widest_range_ends then 'high'
            when round(d.latest, 6) > s.usual_range_ends then 'disputed'
            else 'fallen'
        end as state
    from dose d
    join span s using (task_id)
),
interfering as (  -- what raises the INR without warfarin
    select n.task_id, n.eid, n.moment, n.moment as until
    from administrations(
        'argatroban|apixaban|eliquis|rivaroxaban|xarelto|dabigatran|pradaxa|edoxaban|savaysa') n
    where n.what = 'given'
    union all
    select task_id, eid, moment, until from drips('argatroban')
    union all
    select task_id, eid, moment, until from infusions([225147]) where what = 'given'
),
doses as (
    select
        task_id,
        bool_or(state = 'high') as high,
        bool_or(state = 'disputed') as disputed,
        bool_or(state = 'fallen') as fallen,
        bool_or(state = 'verb_lost') as verb_lost,
        list({eid: eid, moment: moment, state: state, latest_eid: latest_eid} order by moment, eid) as doses
    from judged
    group by task_id
),
repeats as (
    select
        task_id,
        bool_or(in_time and value is not null) as repeated,
        bool_or(in_time and value is null) as unresulted,
        list({eid: eid, drawn: drawn, number: value is not null, in_time: in_time} order by drawn, eid) as inrs
    from later
    group by task_id
),
finding as (
    select
        s.task_id, s.drawn, s.repeat_by,
        coalesce(d.high, false) as high,
        coalesce(d.disputed, false) as disputed,
        coalesce(d.fallen, false) as fallen,
        coalesce(d.verb_lost, false) as verb_lost,
        coalesce(r.repeated, false) as repeated,
        coalesce(r.unresulted, false) as unresulted,
        d.doses, r.inrs,
        s.task_id in (select task_id from emar_live(index_time, index_time + interval 24 hour)) as recording,
        s.task_id in (
            select task_id from labs_live(
                index_time, index_time + to_minutes(cast(params ->> '$.repeat_minutes' as bigint)))) as laboratory,
        s.task_id in (select task_id from in_icu(index_time, index_time + interval 24 hour)) as intensive,
        (select list(distinct i.eid order by i.eid) from interfering i
         where i.task_id = s.task_id and i.moment <= s.t and i.until >= s.t - interval 24 hour) as interfering
    from span s
    left join doses d using (task_id)
    left join repeats r using (task_id)
),
ruled as (
    select
        *,
        case
            when repeated and not (high or disputed or fallen) and not recording then 'not_recording'
            when not repeated and not high and unresulted then 'unresulted'
            when not repeated and not high and not laboratory then 'laboratory_silent'
            when repeated and interfering is not null then 'interfering_drug'
            when repeated and disputed and not high then 'resumed_in_dispute'
            when high then 'given_while_high'
            when not repeated then 'not_repeated'
            when fallen then 'resumed_after_fall'
            else 'withheld'
        end as rule
    from finding
)
select
    task_id,
    case
        when rule in ('not_recording', 'unresulted', 'laboratory_silent') then 'lack_of_data'
        when rule in ('interfering_drug', 'resumed_in_dispute') then 'medical_ambiguity'
        when rule in ('withheld', 'resumed_after_fall') then 'yes'
        else 'no'
    end as verdict,
    rule,
    -- a row that has lost its verb is neither a dose nor proof of none
    rule in ('given_while_high', 'not_repeated', 'interfering_drug') or not verb_lost as eligible,
    intensive,
    drawn,
    repeat_by,
    doses,
    inrs,
    interfering
from ruled
order by task_id
