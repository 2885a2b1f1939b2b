-- T = the ECG. B, F = QT corrected by Bazett and by Fridericia; DRUG = a listed dose in (T, T + 24 h]. Rules are
-- tried in order; rows not available by as_of are not in these tables.
--
-- Correction: an ECG that cannot be measured is lack of data in the catalogue whatever was given. Where no listed
-- drug was given and the eMAR was recording, the answer is no with any QTc: what already settles the question
-- overrides the gap. It is lack of data where a drug was given or may have been.
--
-- Correction: the catalogue lets a complete ICU record stand in for the eMAR. The inputs of the ICU hold few of the
-- listed drugs and none by mouth, so that only the eMAR can show that none was given; with other records alone it is
-- lack of data, as the catalogue's own hard example wants it.
--
-- Correction: an infusion that was running at T is exposure after T, although its row began before; the catalogue
-- counts rows that begin after T. A drip that only the eMAR shows as running (confirmed, rate changed), a row that
-- has lost its verb, and an operating room in the 24 hours, where ondansetron and the like are given without a
-- record, leave a case open that would turn on it.
--
-- Correction: item 230034 (Amiodarone 150/100) belongs to the catalogue's list of inputs; a machine's QRS that ends
-- before it begins is no measurement.
--
-- Correction: the catalogue tells local forms by their name alone; a route into an eye or an ear or on the skin tells
-- them as well. The bounds that it sets for the QT of an ECG (200 to 800 ms) hold for a charted QTc, too.
--
-- For review: 24 hours of exposure, 6 hours for a charted QTc, the bounds of RR, QT and QTc, a QRS of 120 ms as wide,
-- and three eMAR rows within 12 hours as the measure of a record that was kept are ours; no source gives them.
with
span as (
    select
        task_id, index_eid, as_of,
        index_time as t,
        index_time + interval 24 hour as closes,
        cast(params ->> '$.limit_counts' as boolean) as limit_counts,
        cast(params ->> '$.running_counts' as boolean) as running_counts
    from task
),
tracing as (
    select
        s.task_id,
        e.rr_interval as rr, e.t_end - e.qrs_onset as qt, e.qrs_end - e.qrs_onset as qrs,
        coalesce(
            e.rr_interval between 0 and 5000 and e.qrs_onset between 0 and 5000
            and e.qrs_end between 0 and 5000 and e.t_end between 0 and 5000
            and e.rr_interval between 300 and 2000
            and e.t_end - e.qrs_onset between 200 and 800
            and e.qrs_end > e.qrs_onset, false) as usable
    from span s
    left join ecg.machine_measurements e on e.task_id = s.task_id and e.eid = s.index_eid
),
charted as (
    select c.task_id, c.eid, c.charttime, case when c.valuenum < 2 then c.valuenum * 1000 else c.valuenum end as qtc
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid = 224359
      and c.charttime between s.t - interval 6 hour and s.t + interval 6 hour
      and round(case when c.valuenum < 2 then c.valuenum * 1000 else c.valuenum end, 6) between 200 and 800
),
nearest as (  -- two of one moment are averaged
    select c.* replace (avg(c.qtc) over (partition by c.task_id, c.charttime) as qtc)
    from charted c
    join span s using (task_id)
    qualify row_number() over (
        partition by c.task_id
        order by abs(epoch(c.charttime) - epoch(s.t)), c.charttime, c.eid) = 1
),
corrected as (
    select
        s.task_id, s.limit_counts, t.usable,
        case when not t.usable then n.eid end as charted,
        case when t.usable then round(t.qt / sqrt(t.rr / 1000), 6) else round(n.qtc, 6) end as bazett,
        case when t.usable then round(t.qt / cbrt(t.rr / 1000), 6) else round(n.qtc, 6) end as fridericia,
        case when t.usable then t.qrs end as qrs
    from span s
    join tracing t using (task_id)
    left join nearest n using (task_id)
),
listed as (
    select
        a.task_id, a.eid, a.moment, a.what
    from administrations(
        'amiodarone|sotalol|dofetilide|ibutilide|procainamide|quinidine|dronedarone|haloperidol|chlorpromazine|droperidol'
        || '|methadone|citalopram|donepezil|ondansetron|azithromycin|clarithromycin|erythromycin|levofloxacin|moxifloxacin'
        || '|ciprofloxacin|fluconazole|hydroxychloroquine|pentamidine') a
    where not regexp_matches(a.name, 'ophth|\botic\b|topical', 'i')
      and not regexp_matches(
          coalesce(a.route, ''), '\b(eyes?|ears?|ophth\w*|otic|topical|tp|ou|od|os|au|ad|as)\b', 'i')
),
act as (
    select l.task_id, l.eid, l.moment, l.what, l.moment > s.t and l.moment <= s.closes as inside
    from listed l
    join span s using (task_id)
    union all
    select
        i.task_id, i.eid, i.moment, i.what,
        i.moment > s.t and i.moment <= s.closes
        or s.running_counts and i.moment <= s.t and i.until > s.t
    from infusions([221347, 228339, 229654, 230034, 221824, 229616, 225845, 225866, 225879, 225886, 225859, 225869, 227520, 222151]) i
    join span s using (task_id)
),
dose as (
    select task_id, eid from act where inside and what = 'given'
),
drip as (  -- as the eMAR alone shows it
    select distinct d.task_id
    from drips(
        'amiodarone|sotalol|dofetilide|ibutilide|procainamide|quinidine|dronedarone|haloperidol|chlorpromazine|droperidol'
        || '|methadone|citalopram|donepezil|ondansetron|azithromycin|clarithromycin|erythromycin|levofloxacin|moxifloxacin'
        || '|ciprofloxacin|fluconazole|hydroxychloroquine|pentamidine') d
    join span s using (task_id)
    where d.moment <= s.closes and d.until > s.t
),
finding as (
    select
        c.*,
        c.bazett is not null as measured,
        case when c.limit_counts then c.bazett >= 500 else c.bazett > 500 end as long_by_bazett,
        case when c.limit_counts then c.fridericia >= 500 else c.fridericia > 500 end as long_by_fridericia,
        c.task_id in (select task_id from dose) as exposed,
        c.task_id in (select task_id from emar_live(index_time, index_time + interval 24 hour)) as recording,
        c.task_id in (
            select a.task_id from act a where a.inside and a.what = 'verb_lost'
            union all select task_id from drip
            union all select task_id from operating(index_time, index_time + interval 24 hour)) as open_to_doubt
    from corrected c
),
ruled as (
    select
        *,
        case
            when measured and not long_by_bazett and not long_by_fridericia then 'not_prolonged'
            when not exposed and recording then 'not_given'
            when not measured then 'unmeasured'
            when not exposed then 'not_recording'
            when long_by_bazett <> long_by_fridericia then 'formulas_differ'
            when qrs >= 120 then 'wide_qrs'
            else 'exposed'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule in ('not_prolonged', 'not_given') then 'no'
        when r.rule in ('unmeasured', 'not_recording') then 'lack_of_data'
        when r.rule in ('formulas_differ', 'wide_qrs') then 'medical_ambiguity'
        else 'yes'
    end as verdict,
    r.rule,
    -- a millisecond more or less must not decide, nor a dose that may have been given
    coalesce(
        r.rule in ('not_given', 'unmeasured')
        or not r.usable
        or abs(r.bazett - 500) > 2 and abs(r.fridericia - 500) > 2
            and (r.rule not in ('exposed', 'wide_qrs') or abs(r.qrs - 120) > 1), false)
    and (r.exposed or not r.open_to_doubt or r.rule = 'not_prolonged') as eligible,
    r.charted,
    r.bazett,
    r.fridericia,
    r.qrs,
    not exists (
        select 1 from hosp.emar e
        join span s using (task_id)
        where e.task_id = r.task_id and e.charttime between s.t and s.closes) as emar_silent,
    r.task_id in (select task_id from in_icu(index_time, index_time + interval 24 hour)) as intensive,
    r.task_id in (select task_id from in_icu(index_time - interval 6 hour, index_time + interval 6 hour)) as near_icu,
    (select list({eid: a.eid, moment: a.moment, what: a.what, inside: a.inside} order by a.moment, a.eid)
     from act a where a.task_id = r.task_id) as acts
from ruled r
order by r.task_id
