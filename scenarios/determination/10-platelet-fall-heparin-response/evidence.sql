-- Which rows satisfy which requirement. What a row of heparin amounts to is decided in adjudicate.sql; a laboratory
-- count and its copy in the ICU chart (227457) are alternatives of each other.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.drawn, a.heparin, a.peaks, a.devices, a.recoveries,
        k.index_time as t,
        k.index_time + interval 72 hour as closes
    from task k
    join adjudicated a using (task_id)
),
shown as (  -- a laboratory row: itself, and its copy in the chart
    from shown_results(51265, 227457)
),
heparin as (
    select task_id, rule, t, x.eid, x.moment, x.until, x.kind, x.what, x.late
    from (select task_id, rule, t, unnest(heparin) as x from span)
),
beside as (  -- what an answer may well show although it does not decide
    select l.task_id, l.eid
    from hosp.labevents l
    join span s using (task_id)
    where l.itemid in (51265, 52131, 52132, 51264, 51266)
      and l.charttime between s.drawn - interval 10 day and s.as_of
    union
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t - interval 24 hour and s.as_of
      and regexp_matches(
          e.medication, 'heparin|enoxaparin|lovenox|dalteparin|argatroban|bivalirudin|fondaparinux', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.t - interval 24 hour and s.as_of
      and i.itemid in (225152, 225975, 225906, 229597, 230044, 225147, 225148, 225908, 229781, 225170)
    union
    select o.task_id, o.eid
    from hosp.prescriptions o
    join span s using (task_id)
    where regexp_matches(o.drug, 'heparin|enoxaparin|dalteparin|argatroban|bivalirudin|fondaparinux', 'i')
      and o.starttime <= s.as_of and coalesce(o.stoptime, s.as_of) >= s.t - interval 24 hour
),
first_exposure as (
    select task_id, eid
    from heparin
    where kind = 'heparin' and what = 'given' and moment <= t
    qualify row_number() over (partition by task_id order by moment, eid) = 1
),
found as (
    select s.task_id, 'index_platelets' as requirement, h.eid as alternative, h.eid, 'sufficient' as role
    from span s
    join shown h on h.task_id = s.task_id and h.laboratory = s.index_eid
    union all
    select s.task_id, 'peak_platelets', h.eid, h.eid, 'sufficient'
    from (select task_id, unnest(peaks) as eid from span) s
    join shown h on h.task_id = s.task_id and h.laboratory = s.eid
    union all
    select task_id, 'heparin_dose', eid, eid, 'sufficient'
    from heparin
    where kind = 'heparin' and what = 'given' and late
    union all
    select task_id, 'no_heparin', eid, eid, 'qualifying'
    from heparin
    where kind = 'heparin' and what = 'given' and late
    union all
    select task_id, 'flush', eid, eid, 'sufficient' from heparin where kind = 'flush' and what = 'given' and late
    union all
    select task_id, 'rival_cause', x, x, 'sufficient' from (select task_id, unnest(devices) as x from span)
    union all
    select s.task_id, 'rival_cause', h.eid, h.eid, 'sufficient'
    from (select task_id, unnest(recoveries) as eid from span) s
    join shown h on h.task_id = s.task_id and h.laboratory = s.eid
    union all
    select task_id, unnest(['index_platelets', 'no_heparin', 'heparin_dose']), eid, eid, 'relevant' from beside
    union all
    select task_id, unnest(['no_heparin', 'heparin_dose']), eid, eid, 'relevant' from first_exposure
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
