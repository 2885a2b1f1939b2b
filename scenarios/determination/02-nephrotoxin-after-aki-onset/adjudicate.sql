-- T = when the index creatinine was available; the window is (T + grace_minutes, T + 48 h]. Rules are tried in order;
-- rows not available by as_of are not in these tables. The facts after the rule serve evidence.sql.
--
-- Correction: the catalogue calls an aminoglycoside ambiguous where a Gram-negative organism was resistant to two of
-- five beta-lactams. As long as the organism was susceptible to one of the five (meropenem, most often), a safer
-- active drug was at hand. Here at least two are resistant and none of the five is susceptible.
--
-- Correction: the organism must be of a culture collected in the 14 days before T or later. An isolate of last year
-- does not show what is needed now.
--
-- Correction: where aminoglycosides of several names were given, each must have such an organism susceptible to it.
--
-- Correction: each of the two days must have been recorded by the eMAR. The shared rule asks for one row inside the
-- window, and one of the first hour says nothing about the other 47.
--
-- Correction: the ICU record stands for the eMAR only as long as no listed drug is in force by another route than the
-- vein. The catalogue says so of NSAIDs by mouth; injections into a muscle are not charted there either.
--
-- Correction: aminoglycosides that the ICU charts under "Non IV" are inhaled.
--
-- For review: 14 days for a culture, two resistant and no susceptible one of five beta-lactams for "no safer drug", a
-- creatinine within 0.1 mg/dL of the low for a rise that is gone, 48 hours of exposure before and after T, and three
-- eMAR rows within 12 hours of the window and four hours without a heart rate (two in a window of up to two hours) as
-- the measure of a record that was kept are ours; no source gives them.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of,
        k.index_time as t,
        k.index_time + to_minutes(cast(k.params ->> '$.grace_minutes' as bigint)) as opens,
        k.index_time + interval 48 hour as closes,
        l.charttime as drawn
    from task k
    left join hosp.labevents l on l.task_id = k.task_id and l.eid = k.index_eid
),
creatinine as (
    select task_id, eids, charttime, value, available_at
    from lab_results([50912])
),
index_creatinine as (
    select c.task_id, c.charttime as drawn, c.value, c.eids
    from creatinine c
    join span s on s.task_id = c.task_id and c.charttime = s.drawn
),
low as (
    select
        i.task_id,
        min(c.value) filter (c.charttime >= i.drawn - interval 48 hour) as low_48_hours,
        min(c.value) as low_7_days
    from index_creatinine i
    join creatinine c
        on c.task_id = i.task_id and c.charttime < i.drawn and c.charttime >= i.drawn - interval 7 day
    group by i.task_id
),
rise as (
    select
        i.task_id, i.value, l.low_48_hours,
        coalesce(round(i.value - 1.5 * l.low_7_days, 6) >= 0, false) as by_half
    from index_creatinine i
    left join low l using (task_id)
),
reference as (  -- earlier values against which the index value meets the definition
    select c.task_id, unnest(c.eids) as eid
    from creatinine c
    join index_creatinine i using (task_id)
    where c.charttime < i.drawn
      and ((c.charttime >= i.drawn - interval 48 hour and round(i.value - c.value, 6) >= 0.3)
           or (c.charttime >= i.drawn - interval 7 day and round(i.value - 1.5 * c.value, 6) >= 0))
),
recorded as (
    select
        task_id, eid, moment, what,
        case
            when regexp_matches(name, 'gentamicin|tobramycin|amikacin|streptomycin', 'i')
                then regexp_extract(lower(name), 'gentamicin|tobramycin|amikacin|streptomycin')
            else 'nsaid'
        end as drug
    from administrations(
        'ibuprofen|naproxen|ketorolac|toradol|indomethacin|diclofenac|meloxicam|nabumetone|etodolac|sulindac|piroxicam'
            || '|celecoxib|oxaprozin|flurbiprofen|ketoprofen|gentamicin|tobramycin|amikacin|streptomycin')
    where not regexp_matches(
            name, 'ophth|\botic|\beye|\bear\b|cream|oint|\bgel\b|topical|patch|inhal|\bneb|irrig|lock|dwell', 'i')
      and not regexp_matches(
            coalesce(route, ''),
            '^(both|left|right) (eye|ear)|^(ou|od|os|au|ad|as|tp|td|ih|neb|irrig|dwell)$|topical|ophth|otic', 'i')
      and (intravenous(route, name) or not regexp_matches(name, 'gentamicin|tobramycin|amikacin|streptomycin', 'i'))
    union all
    select
        task_id, eid, moment, what,
        case itemid when 229072 then 'nsaid' when 225875 then 'gentamicin' when 225902 then 'tobramycin' else 'amikacin' end
    from infusions([229072, 225875, 225902, 225840])
    where not regexp_matches(coalesce(ordercategoryname, ''), 'non iv', 'i')
),
dose as (
    select r.*
    from recorded r
    join span s using (task_id)
    where r.moment > s.opens and r.moment <= s.closes
),
given as (
    select
        task_id, min(moment) as first_dose,
        bool_or(drug = 'nsaid') as nsaid,
        list(distinct drug) filter (drug <> 'nsaid') as aminoglycosides
    from dose
    where what = 'given'
    group by task_id
),
isolate as (
    select
        m.task_id, m.micro_specimen_id, m.org_itemid, m.isolate_num,
        list({eid: m.eid, ab_name: lower(trim(m.ab_name)), interpretation: m.interpretation} order by m.microevent_id)
            as results,
        count(distinct m.ab_name) filter (
            regexp_matches(m.ab_name, '^(ceftriaxone|cefepime|piperacillin/tazo|ceftazidime|meropenem)', 'i')
            and m.interpretation = 'R') as resistant,
        count(*) filter (
            regexp_matches(m.ab_name, '^(ceftriaxone|cefepime|piperacillin/tazo|ceftazidime|meropenem)', 'i')
            and m.interpretation = 'S') as susceptible
    from hosp.microbiologyevents m
    join span s using (task_id)
    where m.ab_name is not null
      and coalesce(m.charttime, m.chartdate) >= s.t - interval 14 day
      and not regexp_matches(
          m.org_name, 'staph|strep|coccus|coryne|bacillus|listeria|gram positive|yeast|candida', 'i')
    group by m.task_id, m.micro_specimen_id, m.org_itemid, m.isolate_num
),
needed as (  -- an aminoglycoside, and the row that shows an organism susceptible to it and to no safer drug
    select i.task_id, x.ab_name as drug, x.eid
    from (select task_id, unnest(results) as x from isolate where resistant >= 2 and susceptible = 0) i
    where x.interpretation = 'S' and x.ab_name in ('gentamicin', 'tobramycin', 'amikacin', 'streptomycin')
),
without_choice as (  -- every dose is one of an aminoglycoside that was needed
    select task_id
    from dose d
    where what = 'given'
    group by task_id
    having bool_and(exists (select 1 from needed n where n.task_id = d.task_id and n.drug = d.drug))
),
recovered as (
    select c.task_id, c.eids
    from creatinine c
    join rise r using (task_id)
    join span s using (task_id)
    join given g using (task_id)
    where not r.by_half
      and c.charttime > s.drawn
      and round(c.value - r.low_48_hours, 6) <= 0.1
      and c.available_at < g.first_dose
),
other_route as (  -- an order in force after T whose doses only the eMAR would show
    select distinct o.task_id
    from hosp.prescriptions o
    join span s using (task_id)
    where o.drug_type = 'MAIN'
      and o.starttime <= s.closes and coalesce(o.stoptime, s.as_of) > s.t
      and regexp_matches(
          o.drug, 'ibuprofen|naproxen|ketorolac|toradol|indomethacin|diclofenac|meloxicam|nabumetone|etodolac'
              || '|sulindac|piroxicam|celecoxib|oxaprozin|flurbiprofen|ketoprofen', 'i')
      and not regexp_matches(
          o.drug, 'ophth|\botic|\beye|\bear\b|cream|oint|\bgel\b|topical|patch|inhal|\bneb|irrig|lock|dwell', 'i')
      and not regexp_matches(
          coalesce(trim(o.route), ''),
          '^(both|left|right) (eye|ear)|^(ou|od|os|au|ad|as|tp|td|ih|neb|irrig|dwell)$|topical|ophth|otic', 'i')
      and not intravenous(nullif(trim(o.route), ''), o.drug)
),
on_wards as (
    select task_id from emar_live(index_time, index_time + interval 24 hour)
    intersect
    select task_id from emar_live(index_time + interval 24 hour, index_time + interval 48 hour)
),
in_unit as (
    select task_id from icu_live(index_time, index_time + interval 48 hour)
    except
    select task_id from other_route
),
finding as (
    select
        s.task_id, s.drawn, s.opens,
        g.task_id is not null as dosed,
        s.task_id in (select task_id from without_choice) as without_choice,
        s.task_id in (select task_id from recovered) as recovered,
        s.task_id in (select task_id from on_wards) or s.task_id in (select task_id from in_unit) as recording,
        exists (select 1 from dose d where d.task_id = s.task_id and d.what = 'verb_lost') as verb_lost,
        s.task_id in (select task_id from in_icu(index_time, index_time + interval 48 hour)) as intensive
    from span s
    left join given g using (task_id)
),
ruled as (
    select
        *,
        case
            when not dosed and not recording then 'not_recording'
            when without_choice then 'no_safer_drug'
            when recovered then 'recovered_before'
            when dosed then 'given'
            else 'not_given'
        end as rule
    from finding
)
select
    r.task_id,
    case r.rule
        when 'not_recording' then 'lack_of_data'
        when 'given' then 'yes'
        when 'not_given' then 'no'
        else 'medical_ambiguity'
    end as verdict,
    r.rule,
    -- a row that has lost its verb is neither a dose nor proof of none
    r.rule = 'given' or not r.verb_lost as eligible,
    r.intensive,
    r.drawn,
    r.opens,
    (select flatten(list(i.eids)) from index_creatinine i where i.task_id = r.task_id) as index_eids,
    (select list(distinct f.eid) from reference f where f.task_id = r.task_id) as reference_eids,
    (select list({eid: d.eid, moment: d.moment, drug: d.drug, what: d.what} order by d.moment, d.eid)
     from dose d where d.task_id = r.task_id) as doses,
    (select list(distinct n.eid) from needed n join given g using (task_id)
     where n.task_id = r.task_id and list_contains(g.aminoglycosides, n.drug)) as susceptibilities,
    (select flatten(list(v.eids)) from recovered v where v.task_id = r.task_id) as recoveries
from ruled r
order by r.task_id
