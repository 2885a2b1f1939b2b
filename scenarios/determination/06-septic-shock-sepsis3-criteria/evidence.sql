-- Which rows satisfy which requirement. Any one vasopressor row of the day shows the vasopressor, any one lactate above
-- 2.0 drawn from T on shows the lactate; where nothing was above 2.0, the highest has to be shown. A laboratory lactate
-- may be cited by its copy in the ICU chart (225668, same draw and value).
with
span as (
    select
        k.task_id, k.as_of, k.index_eid, a.rule, a.before_t, a.after_t, a.lactates, a.unresulted, a.vasopressors,
        k.index_time as t
    from task k
    join adjudicated a using (task_id)
),
found_lactate as (
    select task_id, unnest(x.eids) as eid, x.moment as moment, x.value as value, x.place as place
    from (select task_id, unnest(lactates) as x from span)
),
lactate as (
    select task_id, eid, value, place from found_lactate
    union
    select f.task_id, c.eid, f.value, f.place
    from found_lactate f
    join icu.chartevents c
        on c.task_id = f.task_id and c.charttime = f.moment and c.itemid = 225668 and c.valuenum = f.value
),
bedside_copy as (  -- of a lactate, or of another reading: worth showing
    select c.task_id, c.eid
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid = 225668 and c.charttime between s.t - interval 6 hour and s.as_of
),
context as (  -- what shows that infection was suspected and how low the pressure was; decides nothing
    select m.task_id, m.eid
    from hosp.microbiologyevents m
    join span s using (task_id)
    where coalesce(m.charttime, m.chartdate) between s.t - interval 48 hour and s.as_of
    union
    select e.task_id, e.eid
    from hosp.emar e
    join span s using (task_id)
    where e.charttime between s.t - interval 48 hour and s.as_of
      and regexp_matches(
          e.medication, 'cillin|\bcef|penem|bactam|floxacin|\bcipro|aztreonam|gentamicin|tobramycin|amikacin|vancomycin'
              || '|linezolid|daptomycin|clindamycin|azithromycin|metronidazole|flagyl|cycline|norepinephrine|vasopressin'
              || '|phenylephrine|epinephrine|dopamine|angiotensin', 'i')
    union
    select i.task_id, i.eid
    from icu.inputevents i
    join span s using (task_id)
    where i.starttime between s.t - interval 48 hour and s.as_of
      and i.itemid in (
          221906, 221289, 229617, 222315, 221749, 229630, 229631, 229632, 221662, 229709, 229764, 225158, 225828,
          225893, 225851, 225855, 225853, 225883, 225876, 225798, 225881, 225863, 225884, 225850)
    union
    select c.task_id, c.eid
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid in (220052, 220181, 225312) and c.charttime between s.t - interval 1 hour and s.t + interval 1 hour
),
found as (
    select task_id, 'vasopressor' as requirement, unnest(vasopressors) as eid, 'sufficient' as role from span
    union all
    select task_id, unnest(['vasopressor', 'vasopressor_span']), eid, 'relevant' from context
    union all
    select task_id, 'raised_lactate', eid, 'sufficient' from lactate where place = 'after' and value > 2.0
    union all
    select l.task_id, 'highest_lactate', l.eid, 'sufficient'
    from lactate l
    join span s using (task_id)
    where l.value = greatest(s.before_t, s.after_t)
    union all
    select task_id, 'earlier_lactate', eid, 'sufficient' from lactate where place = 'before' and value > 2.0
    union all
    select l.task_id, 'later_lactate', l.eid, 'sufficient'
    from lactate l
    join span s using (task_id)
    where l.place = 'after' and l.value = s.after_t
    union all
    select task_id, unnest(['raised_lactate', 'highest_lactate', 'vasopressor']), eid, 'relevant' from lactate
    union all
    select task_id, unnest(['raised_lactate', 'highest_lactate', 'vasopressor']), eid, 'relevant' from bedside_copy
    union all
    select l.task_id, 'no_lactate', l.eid, 'qualifying'
    from lactate l
    join span s using (task_id)
    where s.rule = 'no_lactate' or l.place = 'after'
    union all
    select task_id, 'unresulted_lactate', unnest(unresulted), 'sufficient' from span
)
select distinct task_id, requirement, eid as alternative, eid, role
from found
order by task_id, requirement, role, eid
