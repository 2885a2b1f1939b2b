-- Which rows satisfy which requirement. One dose of a broad agent proves a YES, or one of each of the two partners
-- together; the eMAR row and the infusion row of one dose are alternatives of each other. What counts as what is
-- decided in adjudicate.sql.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.drawn, a.doses, a.dispenses, a.operating,
        k.index_time as t,
        k.index_time - interval 24 hour as opens,
        k.index_time + interval 3 hour as closes
    from task k
    join adjudicated a using (task_id)
),
dose as (
    select task_id, x.eid, x.moment, x.kind, x.what, x.in_window
    from (select task_id, unnest(doses) as x from span)
),
given as (
    select task_id, eid, kind from dose where what = 'given' and in_window
),
index_lactate as (
    select s.task_id, l.eid, l.charttime, l.valuenum
    from span s
    join hosp.labevents l
        on l.task_id = s.task_id and l.itemid = 50813 and l.charttime = s.drawn and l.valuenum is not null
),
adequate as (
    select task_id, eid as alternative, eid from given where kind = 'broad'
    union all
    select p.task_id, p.eid || ' ' || c.eid, unnest([p.eid, c.eid])
    from given p
    join given c using (task_id)
    where p.kind = 'partner' and c.kind = 'companion'
),
later_dose as (
    select d.task_id, d.eid
    from dose d
    join span s using (task_id)
    where d.what = 'given' and d.moment > s.closes
    qualify rank() over (partition by d.task_id order by d.moment) = 1
),
culture as (
    select m.task_id, m.eid
    from hosp.microbiologyevents m
    join span s using (task_id)
    where m.spec_type_desc = 'BLOOD CULTURE'
      and m.charttime between s.drawn - interval 6 hour and s.drawn + interval 6 hour
),
ordered as (  -- what was wanted: worth showing, and no dose
    select p.task_id, p.eid
    from hosp.prescriptions p
    join span s using (task_id)
    where p.starttime between s.opens - interval 1 hour and s.as_of
      and regexp_matches(
          p.drug, 'cillin|\bcef|penem|bactam|floxacin|\bcipro|aztreonam|gentamicin|tobramycin|amikacin|vancomycin'
              || '|linezolid|daptomycin|clindamycin|azithromycin|metronidazole|cycline|sulfameth', 'i')
),
found as (
    select task_id, 'index_lactate' as requirement, eid as alternative, eid, 'sufficient' as role
    from index_lactate
    union all
    select i.task_id, 'index_lactate', c.eid, c.eid, 'sufficient'  -- the chart's copy
    from index_lactate i
    join icu.chartevents c
        on c.task_id = i.task_id and c.charttime = i.charttime and c.valuenum = i.valuenum and c.itemid = 225668
    union all
    select task_id, 'index_lactate', eid, eid, 'relevant' from culture
    union all
    select task_id, 'antibacterial', alternative, eid, 'sufficient' from adequate
    union all
    select task_id, 'no_antibacterial', eid, eid, 'qualifying'
    from adequate
    union all
    select g.task_id, 'no_antibacterial', g.eid, g.eid, 'qualifying'
    from given g
    join span s using (task_id)
    where s.rule <> 'narrower_alone'
    union all
    select task_id, unnest(['antibacterial', 'no_antibacterial', 'narrower_dose']), eid, eid, 'relevant'
    from dose
    union all
    select task_id, unnest(['antibacterial', 'no_antibacterial']), eid, eid, 'relevant' from ordered
    union all
    select l.task_id, 'no_antibacterial', l.eid, l.eid, 'sufficient'
    from later_dose l
    join span s using (task_id)
    where s.rule = 'untreated'
    union all
    select g.task_id, 'narrower_dose', g.eid, g.eid, 'sufficient'
    from given g
    join span s using (task_id)
    where s.rule = 'narrower_alone'
    union all
    select task_id, 'dispense', d.eid, d.eid, 'sufficient'
    from (select task_id, unnest(dispenses) as eid from span where rule = 'dispensed_only') d
    union all
    select task_id, unnest(['antibacterial', 'no_antibacterial', 'narrower_dose']), d.eid, d.eid, 'relevant'
    from (select task_id, unnest(dispenses) as eid from span) d
    union all
    select task_id, 'operating_room', o.eid, o.eid, 'sufficient'
    from (select task_id, unnest(operating) as eid from span where rule = 'operating_room') o
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
