-- T = the first intravenous vancomycin; the day that decides is (T + 96 h, T + 120 h]. Rules are tried in order; rows
-- not available by as_of are not in these tables. The facts after the rule serve evidence.sql.
--
-- Correction: what is a culture follows from the test as well as from the specimen. A urinary antigen, a viral screen
-- of a swab and a search for resistant enterococci bear the specimen types of the catalogue and are no cultures.
--
-- Correction: a culture with a date and no time counts if that day touches the 24 hours before or after T.
--
-- Correction: coagulase-negative staphylococci have species names too; every Staphylococcus that is not aureus is one.
--
-- Correction: an organism counts as tested if one isolate of its name around T was. The laboratory tests it once and
-- refers to that culture in the reports of the others.
--
-- Correction: a case without a dose in the day that decides, but with one between T + 120 h and as_of, is too close to
-- call: vancomycin given by its level, every 36 or 48 hours, leaves out a whole day and has not been stopped.
--
-- Correction: the ICU record stands for the eMAR if it charted intravenous vancomycin in the same stay; "charted in
-- inputevents" is read so.
--
-- For review: 96 and 120 hours, 24 hours either side of T for cultures, a second dose after 4 and within 36 hours as
-- the sign of a course, and three eMAR rows within 12 hours of the window and four hours without a heart rate (two in
-- a window of up to two hours) as the measure of a record that was kept are ours. Stewardship guidelines ask for a
-- review after 48 to 72 hours and name no hour for stopping.
with
span as (
    select
        task_id, index_eid, as_of,
        index_time as t,
        index_time + interval 96 hour as opens,
        index_time + interval 120 hour as closes,
        cast(params ->> '$.single_commensal_is_disputed' as boolean) as single_commensal_is_disputed
    from task
),
dose as (
    select task_id, eid, moment, what, cast(null as bigint) as stay_id
    from administrations('vancomycin|vancocin')
    where intravenous(route, name)
      and not regexp_matches(name, 'oral|enema|lock|dwell|ophth|intrathecal|intraventric|irrig|inhal|intraperit', 'i')
    union all
    select task_id, eid, moment, what, stay_id
    from infusions([225798])
    where not regexp_matches(coalesce(ordercategoryname, ''), 'non iv', 'i')
),
collected as (  -- cultures for bacteria collected around T, cancelled ones included
    select
        m.*,
        coalesce(m.org_itemid, 0) = 90760 or coalesce(trim(m.org_name), '') ilike 'cancelled' as cancelled,
        regexp_matches(m.spec_type_desc, '^blood culture', 'i') as blood
    from hosp.microbiologyevents m
    join span s using (task_id)
    where case
            when m.charttime is not null
                then m.charttime between s.t - interval 24 hour and s.t + interval 24 hour
            else m.chartdate between date_trunc('day', s.t - interval 24 hour)
                and date_trunc('day', s.t + interval 24 hour)
        end
      and regexp_matches(
          m.spec_type_desc,
          '^(blood culture|sputum|bronch|mini-bal|tracheal|urine|swab|wound|foot culture|tissue|abscess|catheter tip'
              || '|foreign body|bile|csf)|fluid', 'i')
      and not regexp_matches(m.spec_type_desc, '^(mrsa screen|staph aureus swab|rapid respiratory)', 'i')
      and regexp_matches(
          m.test_name,
          '^(blood culture, routine|(reflex )?urine culture|respiratory culture|wound culture|fluid culture'
              || '|anaerobic culture|tissue)', 'i')
),
culture as (
    select * from collected where not cancelled
),
commensal as (  -- what often only contaminates: in one blood specimen nobody can say
    select
        task_id, eid, micro_specimen_id,
        case
            when regexp_matches(org_name, '^staphylococcus', 'i') and not regexp_matches(org_name, 'aureus', 'i')
                then 'staphylococcus'
            when regexp_matches(org_name, '^corynebact', 'i') then 'corynebacterium'
            when regexp_matches(org_name, '^bacillus', 'i') then 'bacillus'
        end as genus
    from culture
    where blood
),
single as (
    select task_id, genus
    from commensal
    where genus is not null
    group by task_id, genus
    having count(distinct micro_specimen_id) = 1
),
untested as (  -- an organism whose need of vancomycin hangs on a result that is not there
    select task_id, org_name, list(eid order by microevent_id) as eids
    from culture
    where regexp_matches(org_name, '^enterococc|^staph.* aureus', 'i')
    group by task_id, org_name
    having count(*) filter (
        ab_name = case when regexp_matches(org_name, '^enterococc', 'i') then 'AMPICILLIN' else 'OXACILLIN' end
        and interpretation is not null) = 0
),
disputed as (
    select c.task_id, c.eid
    from commensal c
    join single g using (task_id, genus)
    join span s using (task_id)
    where s.single_commensal_is_disputed
    union
    select task_id, unnest(eids) from untested
),
in_unit as (
    select distinct u.task_id
    from icu_live(index_time + interval 96 hour, index_time + interval 120 hour) u
    join dose d on d.task_id = u.task_id and d.stay_id = u.stay_id
    where d.what = 'given'
),
finding as (
    select
        s.task_id, s.closes,
        exists (select 1 from culture c where c.task_id = s.task_id) as cultured,
        exists (select 1 from disputed d where d.task_id = s.task_id) as disputed,
        exists (select 1 from dose d where d.task_id = s.task_id and d.what = 'given'
                and d.moment > s.opens and d.moment <= s.closes) as late,
        exists (select 1 from dose d where d.task_id = s.task_id and d.what = 'verb_lost'
                and d.moment > s.opens and d.moment <= s.closes) as verb_lost,
        exists (select 1 from dose d where d.task_id = s.task_id and d.what <> 'not_given'
                and d.moment > s.closes) as later_still,
        s.task_id in (select task_id from emar_live(index_time + interval 96 hour, index_time + interval 120 hour))
            or s.task_id in (select task_id from in_unit) as recording,
        s.task_id in (
            select task_id from in_icu(index_time + interval 96 hour, index_time + interval 120 hour)) as intensive
    from span s
),
ruled as (
    select
        *,
        case
            when not cultured then 'no_culture'
            when not late and not recording then 'not_recording'
            when disputed then 'disputed_growth'
            when late then 'continued'
            else 'stopped'
        end as rule
    from finding
)
select
    r.task_id,
    case r.rule
        when 'no_culture' then 'lack_of_data'
        when 'not_recording' then 'lack_of_data'
        when 'disputed_growth' then 'medical_ambiguity'
        when 'stopped' then 'yes'
        else 'no'
    end as verdict,
    r.rule,
    -- a row that has lost its verb is neither a dose nor proof of none
    r.rule not in ('stopped', 'not_recording') or not (r.verb_lost or (r.rule = 'stopped' and r.later_still)) as eligible,
    r.intensive,
    (select list({eid: d.eid, moment: d.moment, what: d.what} order by d.moment, d.eid)
     from dose d where d.task_id = r.task_id) as doses,
    (select list(c.eid order by c.eid) from culture c where c.task_id = r.task_id) as cultures,
    (select list(c.eid order by c.eid) from collected c where c.task_id = r.task_id and c.cancelled) as cancelled,
    (select list(distinct d.eid order by d.eid) from disputed d where d.task_id = r.task_id) as disputed_growth
from ruled r
order by r.task_id
