-- Which rows satisfy which requirement. Any one treatment row proves a YES: the eMAR row and the infusion
-- row of one dose are alternatives of each other. What counts as what is decided in adjudicate.sql.
--
-- Correction: ambiguity rests on the search that found no treatment as well; the catalogue asks for what makes it
-- ambiguous alone. A late dialysis that was the first act shows by itself that none came before it.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.drawn, a.acts, a.disputing, a.dispenses, a.operating,
        k.index_time as t,
        k.index_time - interval 30 minute as opens,
        k.index_time + interval 60 minute as closes
    from task k
    join adjudicated a using (task_id)
),
act as (
    select task_id, x.eid, x.moment, x.drug, x.what, x.until
    from (select task_id, unnest(acts) as x from span)
),
index_potassium as (
    select s.task_id, l.eid, l.itemid, l.charttime, l.specimen_id, l.valuenum
    from span s
    join hosp.labevents i on i.task_id = s.task_id and i.eid = s.index_eid
    join hosp.labevents l
        on l.task_id = i.task_id and l.itemid = i.itemid and l.charttime = i.charttime
        and l.valuenum is not null
),
treatment as (
    select a.task_id, a.eid
    from act a
    join span s using (task_id)
    where a.what = 'given'
      and (a.moment between s.opens and s.closes
           or (a.drug = 'dialysis' and a.moment < s.t and a.until > s.t))
),
later_treatment as (
    select a.task_id, a.eid
    from act a
    join span s using (task_id)
    where a.what = 'given' and a.moment > s.closes
    qualify rank() over (partition by a.task_id order by a.moment) = 1
),
next_potassium as (
    select l.task_id, l.eid
    from hosp.labevents l
    join span s using (task_id)
    where l.itemid in (50971, 50822) and l.valuenum is not null and l.charttime > s.drawn
    qualify rank() over (partition by l.task_id order by l.charttime) = 1
),
beside as (  -- what an answer may well show although it decides nothing: binders, glucose, subcutaneous insulin
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.opens and s.closes
      and regexp_matches(
          e.medication,
          'calcium|insulin|bicarbonate|albuterol|dextrose|polystyrene|kayexalate|patiromer|zirconium', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.opens and s.closes
      and i.itemid in (221456, 229640, 229618, 223258, 220995, 227533, 227525, 220950, 228140, 220952)
),
found as (
    select task_id, 'index_potassium' as requirement, eid, 'sufficient' as role
    from index_potassium
    union all
    select k.task_id, 'index_potassium', c.eid, 'sufficient'  -- the chart's copy
    from index_potassium k
    join icu.chartevents c
        on c.task_id = k.task_id and c.charttime = k.charttime and c.valuenum = k.valuenum
        and c.itemid = case k.itemid when 50971 then 227442 else 227464 end
    union all
    select s.task_id, 'index_potassium', n.eid, 'relevant'
    from span s
    join next_potassium n using (task_id)
    union all
    select task_id, 'treatment', eid, 'sufficient' from treatment
    union all
    select task_id, unnest(['treatment', 'no_treatment']), eid, 'relevant' from beside
    union all
    select a.task_id, 'treatment', a.eid, 'relevant'
    from act a
    join span s using (task_id)
    where a.moment between s.t - interval 6 hour and s.as_of
    union all
    select task_id, 'no_treatment', eid, 'qualifying' from treatment
    union all
    select l.task_id, 'no_treatment', l.eid, 'sufficient'
    from later_treatment l
    join span s using (task_id)
    where s.rule in ('untreated', 'late_dialysis')
    union all
    select task_id, 'operating_room', unnest(operating), 'sufficient' from span
    union all
    select task_id, 'disputing_potassium', unnest(disputing), 'sufficient' from span
    union all
    select a.task_id, 'late_dialysis', a.eid, 'sufficient'
    from act a
    join span s using (task_id)
    where a.drug = 'dialysis' and a.moment > s.closes and a.moment <= s.t + interval 3 hour
    union all
    select task_id, 'dispense', unnest(dispenses), 'sufficient' from span
)
select task_id, requirement, eid as alternative, eid, role
from found
group by task_id, requirement, eid, role
order by task_id, requirement, role, eid
