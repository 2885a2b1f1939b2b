-- Which rows satisfy which requirement. Any one dose of a listed class proves an exposure. A note's passages count as
-- the note. What counts as what is decided in adjudicate.sql.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_time as t, k.index_eid, a.rule, a.went,
        a.list_note, a.summaries, a.exposures, a.desensitisations,
        cast(k.params ->> '$.intolerance_rules_out' as boolean) as intolerance_rules_out
    from task k
    join adjudicated a using (task_id)
),
exposure as (
    select task_id, rule, intolerance_rules_out, x.eid, x.what, x.same, x.intolerance
    from (select task_id, rule, intolerance_rules_out, unnest(exposures) as x from span)
),
deciding as (
    select task_id, eid
    from exposure
    where what = 'given'
      and case rule
          when 'given' then same and (not intolerance or intolerance_rules_out)
          when 'cross_reactive' then not same
          else same
      end
),
antibacterial as (  -- what an answer may well show although it decides nothing
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t - interval 1 day and s.went
      and regexp_matches(
          e.medication,
          'cillin|augmentin|unasyn|zosyn|timentin|\bcef|\bceph|keflex|ancef|rocephin|sulfameth|bactrim|septra|floxacin|\bcipro|levaquin|avelox|thromycin|zithromax|biaxin|vancomycin|penem|aztreonam|metronidazole|flagyl|linezolid|daptomycin|clindamycin|cycline|gentamicin|tobramycin|amikacin',
          'i')
    union
    select p.task_id, p.eid
    from hosp.prescriptions p
    join span s using (task_id, hadm_id)
    where regexp_matches(
        p.drug,
        'cillin|augmentin|unasyn|zosyn|timentin|\bcef|\bceph|keflex|ancef|rocephin|sulfameth|bactrim|septra|floxacin|\bcipro|levaquin|avelox|thromycin|zithromax|biaxin|vancomycin|penem|aztreonam|metronidazole|flagyl|linezolid|daptomycin|clindamycin|cycline|gentamicin|tobramycin|amikacin',
        'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.t and s.went
      and i.itemid in (
          225842, 225843, 225888, 225889, 225890, 225892, 225893, 225850, 225851, 225853, 225855, 227691, 229587,
          225899, 225859, 225879, 225886, 225845, 225866, 225798, 225847, 225883, 225876, 229061, 225884)
),
found as (
    select task_id, unnest(['allergy_text', 'listed_but_not_recorded']) as requirement, list_note as eid, 'sufficient' as role
    from span
    where list_note is not null
    union all
    select n.task_id, 'allergy_text', n.eid, 'relevant' from note.discharge n
    union all
    select task_id, 'allergy_text', index_eid, 'relevant' from span
    union all
    select task_id, 'exposure', eid, 'sufficient' from deciding
    union all
    select task_id, unnest(['exposure', 'no_exposure', 'too_few_records']), eid, 'relevant' from antibacterial
    union all
    select task_id, 'no_exposure', eid, 'qualifying' from exposure where what = 'given' and (same or rule = 'not_given')
    union all
    select task_id, 'desensitisation', unnest(desensitisations), 'sufficient' from span
    union all
    select task_id, 'text_without_allergies', unnest(summaries), 'sufficient' from span
    union all
    select n.task_id, 'no_summary', n.eid,
        case when list_contains(s.summaries, n.eid) then 'qualifying' else 'relevant' end
    from note.discharge n
    join span s using (task_id)
)
select distinct task_id, requirement, eid as alternative, eid, role
from found
order by task_id, requirement, role, eid
