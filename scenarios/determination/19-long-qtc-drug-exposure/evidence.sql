-- Which rows satisfy which requirement. Any one dose proves exposure: the eMAR row and the infusion row of one dose
-- are alternatives of each other. What counts as what is decided in adjudicate.sql.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.charted, a.acts,
        k.index_time as t,
        k.index_time + interval 24 hour as closes
    from task k
    join adjudicated a using (task_id)
),
act as (
    select task_id, x.eid, x.moment, x.what, x.inside
    from (select task_id, unnest(acts) as x from span)
),
context as (  -- other ECGs, electrolytes, orders: what an answer may well show although it decides nothing
    select s.task_id, e.eid
    from span s
    join ecg.machine_measurements e using (task_id)
    where e.ecg_time >= s.t - interval 10 day
    union
    select s.task_id, l.eid
    from span s
    join hosp.labevents l using (task_id)
    where l.itemid in (50971, 50822, 50960, 50893, 50808)
      and l.charttime between s.t - interval 48 hour and s.closes
    union
    select s.task_id, p.eid
    from span s
    join hosp.prescriptions p using (task_id)
    where p.starttime <= s.closes and coalesce(p.stoptime, s.closes) >= s.t
      and regexp_matches(
          p.drug,
          'amiodarone|sotalol|dofetilide|ibutilide|procainamide|quinidine|dronedarone|haloperidol|chlorpromazine|droperidol'
          || '|methadone|citalopram|donepezil|ondansetron|azithromycin|clarithromycin|erythromycin|levofloxacin|moxifloxacin'
          || '|ciprofloxacin|fluconazole|hydroxychloroquine|pentamidine', 'i')
    union
    select s.task_id, c.eid
    from span s
    join icu.chartevents c using (task_id)
    where c.itemid in (224359, 220048) and c.charttime between s.t - interval 12 hour and s.closes
),
dose as (
    select task_id, eid from act where inside and what = 'given'
),
needed as (
    select unnest(['index_ecg', 'dose', 'no_dose']) as requirement
),
found as (
    select task_id, 'index_ecg' as requirement, index_eid as eid, 'sufficient' as role from span
    union all
    select task_id, 'charted_qtc', charted, 'sufficient' from span where charted is not null
    union all
    select task_id, 'dose', eid, 'sufficient' from dose
    union all
    select task_id, 'no_dose', eid, 'qualifying' from dose
    union all
    select a.task_id, n.requirement, a.eid, 'relevant'
    from act a
    join span s using (task_id)
    cross join needed n
    where a.moment >= s.t - interval 48 hour
    union all
    select c.task_id, n.requirement, c.eid, 'relevant'
    from context c
    cross join needed n
    union all
    select s.task_id, 'emar_recording', e.eid, 'sufficient'
    from span s
    join hosp.emar e using (task_id)
    where s.rule = 'not_given' and e.charttime between s.t and s.closes
    union all
    select s.task_id, 'no_emar', e.eid, 'qualifying'
    from span s
    join adjudicated a using (task_id)
    join hosp.emar e using (task_id)
    where a.emar_silent and e.charttime between s.t and s.closes
)
select task_id, requirement, eid as alternative, eid, role
from found
group by task_id, requirement, eid, role
order by task_id, requirement, role, eid
