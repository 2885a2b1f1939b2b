-- T = when the index lactate was available; the window is [T - 24 h, T + 3 h]. A dose is an intravenous antibacterial
-- that was given. Adequate is a dose of a broad agent, or one of a Gram-negative partner (an aminoglycoside,
-- aztreonam, ciprofloxacin) and one of its companions. Rules are tried in order; rows not available by as_of are not
-- in these tables. The facts after the rule serve evidence.sql: `doses` lists every row of such a drug.
--
-- Correction: the catalogue opens the window of a lone narrower agent after T - 24 h, and that of adequate therapy at
-- it. One window, both ends included, serves both.
--
-- Correction: every intravenous antibacterial that is in neither list (penicillin G, oxacillin, cefuroxime,
-- doxycycline, trimethoprim-sulfamethoxazole and the like) counts as a narrower agent: with "any antimicrobial" all
-- of them are one. Broad agents that the catalogue's list lacks (ceftolozane, cefiderocol, doripenem, ticarcillin
-- with clavulanate) are broad; piperacillin without tazobactam is not.
--
-- Correction: antibiotic locks, irrigations, eye, ear and nebulised forms and desensitisation are no therapy of
-- sepsis, whatever route stands beside them; nor is intravenous erythromycin, which is given to empty the stomach.
--
-- Correction: the catalogue calls only a dispensed broad agent ambiguous. Where any intravenous antibacterial was
-- taken from the cabinet and nothing adequate is recorded as given, whether and which therapy was begun hangs on
-- the reading just as well.
--
-- Correction: the catalogue lets an eMAR on the ward vouch for the emergency department, and a cabinet there for the
-- ward. Each place of the six hours around T needs a source of its own: the emergency visit an eMAR row of the visit
-- or a row of its cabinet; the time on a unit before or after it the eMAR or the ICU record, out of the operating room.
--
-- For review: a culture within 6 hours of the draw, the 3 hours either side of T that must have been recorded, and
-- three eMAR rows within 12 hours of the window and four hours without a heart rate (two in a window of up to two
-- hours) as the measure of a record that was kept are ours; no source gives them. Which agents are narrower follows
-- from the list of the measure.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of,
        k.index_time as t,
        k.index_time - interval 24 hour as opens,
        k.index_time - interval 3 hour as around,
        k.index_time + interval 3 hour as closes,
        cast(k.params ->> '$.weaker_alone' as boolean) as weaker_alone,
        l.charttime as drawn
    from task k
    left join hosp.labevents l on l.task_id = k.task_id and l.eid = k.index_eid
),
named as (
    select task_id, eid, moment, what, name, route
    from administrations(
        'cillin|\bcef|penem|bactam|unasyn|zosyn|timentin|\bancef|rocephin|maxipime|fortaz|teflaro'
        || '|floxacin|\bcipro|levaquin|avelox|aztreonam|azactam|gentamicin|tobramycin|amikacin|streptomycin'
        || '|vancomycin|vancocin|telavancin|oritavancin|dalbavancin|linezolid|zyvox|tedizolid|daptomycin|cubicin'
        || '|clindamycin|cleocin|azithromycin|zithromax|metronidazole|flagyl|cycline'
        || '|sulfameth|trimethoprim|bactrim|septra|colisti|polymyxin|rifamp|chloramphenicol|quinupristin|synercid')
    where intravenous(route, name)
      and not regexp_matches(
          name, 'lock|dwell|irrigat|ophth|\botic|\beye|\bear\b|\bneb|inhal|enema|cream|\bgel\b|oint|bacitracin'
              || '|desensit|graded challenge|test dose|ciprofloxacin hcl', 'i')
),
recorded as (
    select
        task_id, eid, moment, what,
        case
            when regexp_matches(name, 'levofloxacin|levaquin|moxifloxacin|avelox|unasyn|ampicillin.{0,3}sulbactam', 'i')
                then 'weaker'
            when regexp_matches(
                name, 'piperacillin.{0,3}tazo|zosyn|ticarcillin.*clav|timentin|cefepime|maxipime|ceftriaxone|rocephin'
                    || '|ceftazidime|fortaz|cefotaxime|ceftaroline|teflaro|ceftolozane|cefiderocol|penem|tigecycl', 'i')
                then 'broad'
            when regexp_matches(name, 'gentamicin|tobramycin|amikacin|streptomycin|aztreonam|azactam|\bcipro', 'i')
                then 'partner'
            when regexp_matches(
                name, 'vancomycin|vancocin|linezolid|zyvox|daptomycin|cubicin|clindamycin|cleocin|cefazolin|ancef'
                    || '|nafcillin|ampicillin|azithromycin|zithromax', 'i') then 'companion'
            else 'other'
        end as kind
    from named
    union all
    select
        task_id, eid, moment, what,
        case
            when itemid in (225879, 225886, 225843) then 'weaker'
            when itemid in (225893, 225851, 225855, 225853, 225883, 225876, 229061, 229587, 229064) then 'broad'
            when itemid in (225859, 225847, 225875, 225902, 225840) then 'partner'
            when itemid in (225798, 225881, 225863, 225860, 225845, 225850, 225888, 225842) then 'companion'
            else 'other'
        end
    from infusions([
        225893, 225851, 225855, 225853, 225883, 225876, 229061, 225879, 225886, 225843, 229587, 229064,
        225859, 225847, 225875, 225902, 225840, 225798, 225881, 225863, 225860, 225845, 225850, 225888, 225842,
        225884, 225862, 225865, 225889, 225890, 225892, 225898, 225899, 225900, 229059])
),
dose as (
    select
        r.task_id, r.eid, r.moment, r.what,
        case when r.kind <> 'weaker' then r.kind when s.weaker_alone then 'broad' else 'other' end as kind,
        r.moment between s.opens and s.closes as in_window
    from recorded r
    join span s using (task_id)
    where r.moment >= s.opens - interval 24 hour
),
therapy as (
    select
        task_id,
        bool_or(kind = 'broad') or (bool_or(kind = 'partner') and bool_or(kind = 'companion')) as adequate
    from dose
    where what = 'given' and in_window
    group by task_id
),
dispense as (
    select x.task_id, x.eid
    from ed.pyxis x
    join span s using (task_id)
    where x.charttime between s.opens and s.closes
      and regexp_matches(
          x.name, 'cillin|\bcef|penem|bactam|unasyn|zosyn|floxacin|\bcipro|aztreonam|gentamicin|tobramycin|amikacin'
              || '|vancomycin|linezolid|daptomycin|clindamycin|azithromycin|metronidazole|flagyl|doxycycl', 'i')
      and intravenous(null, x.name)
      and not regexp_matches(x.name, 'ophth|\botic|oint|cream|amoxicillin|cephalexin|ciprofloxacin hcl|penicillin v', 'i')
),
visit as (  -- emergency visits that reach into the six hours around T
    select
        s.task_id,
        max(x.went) as went,
        bool_and(exists (
            select 1 from hosp.emar e
            where e.task_id = s.task_id and e.charttime between x.came and x.went)) as emar_there
    from span s
    join emergencies() x using (task_id)
    where x.came <= s.closes and x.went >= s.around
    group by s.task_id
),
recording as (
    select task_id from emar_live(index_time - interval 3 hour, index_time + interval 3 hour)
),
bedside as (  -- from the end of an emergency visit on, if there was one
    select task_id
    from icu_live(
        greatest(
            index_time - interval 3 hour,
            (select max(x.went) from emergencies() x
             where x.task_id = task.task_id and x.came <= index_time + interval 3 hour
               and x.went < index_time + interval 3 hour)),
        index_time + interval 3 hour)
),
cabinet as (
    select task_id from pyxis_live(index_time - interval 3 hour, index_time + interval 3 hour)
),
theatre as (
    select task_id, eids from operating(index_time - interval 3 hour, index_time + interval 3 hour)
),
source as (
    select
        s.task_id,
        v.task_id is null or v.emar_there or s.task_id in (select task_id from cabinet) as visit_recorded,
        case
            when v.went >= s.closes
                then s.task_id in (select task_id from cabinet) or s.task_id in (select task_id from recording)
            else s.task_id in (select task_id from recording) or s.task_id in (select task_id from bedside)
        end as place_recorded,
        o.eids as operating
    from span s
    left join visit v using (task_id)
    left join theatre o using (task_id)
),
finding as (
    select
        s.*,
        coalesce(t.adequate, false) as adequate,
        t.task_id is not null as narrower,
        s.task_id in (select task_id from dispense) as dispensed,
        c.visit_recorded and c.place_recorded as recorded,
        c.operating,
        exists (select 1 from dose d where d.task_id = s.task_id and d.what = 'verb_lost' and d.in_window) as verb_lost,
        exists (select 1 from emergencies() x where x.task_id = s.task_id
                and x.came <= s.closes and x.went >= s.opens) as in_emergency,
        s.task_id in (
            select task_id from in_icu(index_time - interval 24 hour, index_time + interval 3 hour)) as intensive
    from span s
    left join therapy t using (task_id)
    join source c using (task_id)
),
ruled as (
    select
        *,
        case
            when adequate then 'adequate'
            when narrower then 'narrower_alone'
            when not recorded then 'not_recording'
            when operating is not null then 'operating_room'
            when dispensed then 'dispensed_only'
            else 'untreated'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule = 'adequate' then 'yes'
        when r.rule in ('narrower_alone', 'dispensed_only') then 'medical_ambiguity'
        when r.rule = 'untreated' then 'no'
        else 'lack_of_data'
    end as verdict,
    r.rule,
    -- a row that has lost its verb is neither a dose nor proof of none
    r.adequate or not r.verb_lost as eligible,
    r.intensive,
    r.in_emergency,
    r.operating,
    r.drawn,
    (select list({eid: d.eid, moment: d.moment, kind: d.kind, what: d.what, in_window: d.in_window}
                 order by d.moment, d.eid)
     from dose d where d.task_id = r.task_id) as doses,
    (select list(d.eid order by d.eid) from dispense d where d.task_id = r.task_id) as dispenses
from ruled r
order by r.task_id
