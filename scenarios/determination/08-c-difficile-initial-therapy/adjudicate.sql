-- T = when the positive test was available. First line = enteral vancomycin or fidaxomicin, MT = metronidazole, each
-- given in [T - 24 h, T + 24 h]. Severity follows from the white cells and the creatinine nearest to T within
-- [T - 48 h, T + 24 h]. Rules are tried in order; rows not available by as_of are not in these tables. The facts after
-- the rule serve evidence.sql.
--
-- Correction: vancomycin without any route on record counts only if its name says that it goes into the gut; the drug's
-- usual form is intravenous. Vaginal and topical metronidazole is no therapy of colitis.
--
-- Correction: of two results equally near to T the earlier one counts.
--
-- For review: 24 hours either side of T for therapy, 48 hours before and 24 after it for the values that grade the
-- disease, the upper bound of 1000 K/uL for white cells, and three eMAR rows within 12 hours of the window and four
-- hours without a heart rate (two in a window of up to two hours) as the measure of a record that was kept are ours;
-- no source gives them.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of,
        k.index_time as t,
        k.index_time - interval 24 hour as opens,
        k.index_time + interval 24 hour as closes,
        cast(k.params ->> '$.metronidazole_by_vein' as boolean) as by_vein_counts,
        m.micro_specimen_id, m.charttime, m.chartdate
    from task k
    left join hosp.microbiologyevents m on m.task_id = k.task_id and m.eid = k.index_eid
),
named as (
    select
        task_id, eid, moment, what,
        regexp_matches(name, 'metronidazole|flagyl', 'i') as is_metronidazole,
        regexp_matches(name, 'fidaxomicin|dificid|vancomycin.*(oral|enema)', 'i')
            or (regexp_matches(name, 'vancomycin', 'i')
                and regexp_matches(
                    coalesce(route, ''), '^\s*(po\b|po/|ng|nj|og|oral|pr\b|rect|dobhoff|peg|[gj][ -]?tube)', 'i')) as is_first_line,
        regexp_matches(coalesce(route, ''), '^\s*(iv|intraven)', 'i') as by_vein
    from administrations('vancomycin|vancocin|fidaxomicin|dificid|metronidazole|flagyl')
    where not regexp_matches(name, '\bgel\b|cream|vaginal|topical|lock|ophth', 'i')
),
recorded as (
    select task_id, eid, moment, what, case when is_first_line then 'first_line' else 'metronidazole' end as drug, by_vein
    from named
    where is_first_line or is_metronidazole
    union all
    select task_id, eid, moment, what, 'metronidazole', true
    from infusions([225884])
),
dose as (
    select r.*
    from recorded r
    join span s using (task_id)
    where r.moment between s.opens and s.closes
      and (r.drug = 'first_line' or s.by_vein_counts or not r.by_vein)
),
treated as (
    select
        task_id,
        bool_or(drug = 'first_line' and what = 'given') as first_line,
        bool_or(drug = 'metronidazole' and what = 'given') as metronidazole,
        bool_or(drug = 'first_line' and what = 'verb_lost') as first_line_unclear,
        bool_or(drug = 'metronidazole' and what = 'verb_lost') as metronidazole_unclear
    from dose
    group by task_id
),
measured as (
    select l.task_id, l.itemid, l.charttime, round(l.value, 6) as value, l.eids
    from lab_results([51301, 50912]) l
    join span s using (task_id)
    where l.charttime between s.t - interval 48 hour and s.closes
    qualify row_number() over (
        partition by l.task_id, l.itemid order by abs(epoch(l.charttime - s.t)), l.charttime) = 1
),
severity as (
    select
        s.task_id, w.value as white_cells, w.eids as white_cell_eids, w.charttime as white_cells_at,
        c.value as creatinine, c.eids as creatinine_eids, c.charttime as creatinine_at,
        case
            when w.value >= 15.0 or c.value > 1.5 then 'severe'
            when w.value is not null and c.value is not null then 'not_severe'
        end as grade
    from span s
    left join measured w on w.task_id = s.task_id and w.itemid = 51301
    left join measured c on c.task_id = s.task_id and c.itemid = 50912
),
recording as (
    select task_id from emar_live(index_time, index_time + interval 24 hour)
),
finding as (
    select
        s.*, v.* exclude (task_id),
        coalesce(d.first_line, false) as first_line,
        coalesce(d.metronidazole, false) as metronidazole,
        coalesce(d.first_line_unclear, false) as first_line_unclear,
        coalesce(d.metronidazole_unclear, false) as metronidazole_unclear,
        s.task_id in (select task_id from recording) as recording,
        s.task_id in (
            select task_id from in_icu(index_time - interval 24 hour, index_time + interval 24 hour)) as intensive
    from span s
    join severity v using (task_id)
    left join treated d using (task_id)
),
ruled as (
    select
        *,
        case
            when first_line then 'first_line'
            when not recording then 'not_recording'
            when metronidazole and grade is null then 'severity_unknown'
            when metronidazole and grade = 'not_severe' then 'metronidazole_not_severe'
            when metronidazole then 'metronidazole_severe'
            else 'untreated'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule = 'first_line' then 'yes'
        when r.rule in ('not_recording', 'severity_unknown') then 'lack_of_data'
        when r.rule = 'metronidazole_not_severe' then 'medical_ambiguity'
        else 'no'
    end as verdict,
    r.rule,
    -- a row that has lost its verb is neither a dose nor proof of none
    r.first_line or not (r.first_line_unclear or (r.metronidazole_unclear and not r.metronidazole)) as eligible,
    r.intensive,
    r.micro_specimen_id,
    coalesce(r.charttime, r.chartdate) as drawn_from,
    coalesce(r.charttime, r.chartdate + interval 86399 second) as drawn_to,
    r.grade,
    r.white_cells,
    r.white_cells_at,
    r.white_cell_eids,
    r.creatinine,
    r.creatinine_at,
    r.creatinine_eids,
    r.by_vein_counts,
    (select list({eid: d.eid, moment: d.moment, drug: d.drug, what: d.what} order by d.moment, d.eid)
     from dose d where d.task_id = r.task_id) as doses
from ruled r
order by r.task_id
