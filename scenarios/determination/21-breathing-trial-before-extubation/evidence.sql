-- Which rows satisfy which requirement. What was charted as a trial, as its end or as low support is decided in
-- adjudicate.sql. That the ventilator was being charted rests on a search for its modes, on three mode rows that
-- follow each other, or on a row that says that a trial was deferred.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of, a.rule, a.trials, a.stops, a.low_runs, a.pieces,
        k.index_time as t,
        k.index_time - interval 24 hour as opens
    from task k
    join adjudicated a using (task_id)
),
mode as (
    select
        c.task_id, c.eid, c.itemid, c.value, c.charttime,
        lead(c.eid, 1) over w as second_eid, lead(c.eid, 2) over w as third_eid
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid in (223849, 229314) and c.charttime between s.opens and s.t
    window w as (partition by c.task_id order by c.charttime, c.eid)
),
deferral as (
    select c.task_id, c.eid
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid = 224833 and c.charttime between s.opens and s.t
),
low as (
    select task_id, run, x.eid, x.moment, x.psv, x.peep
    from (
        select task_id, r.run, unnest(r.rows) as x
        from (select task_id, unnest(low_runs) as r from span where rule = 'low_support')
    )
),
low_pair as (  -- two mode rows half an hour apart, with the support of the second
    select a.task_id, a.eid as first_eid, b.eid as second_eid, b.psv
    from low a
    join low b on b.task_id = a.task_id and b.run = a.run and b.moment >= a.moment + interval 30 minute
),
beside as (  -- what an answer may well show although it does not decide
    select s.task_id, c.eid
    from span s
    join icu.chartevents c using (task_id)
    where c.itemid in (
            224715, 224716, 224717, 224833, 224740, 223849, 229314, 224701, 220339, 223835, 226732, 224685, 224686)
      and c.charttime between s.t - interval 48 hour and s.as_of
    union
    select s.task_id, p.eid
    from span s
    join icu.procedureevents p using (task_id)
    where p.itemid in (225792, 227194)
),
found as (
    select task_id, 'index_extubation' as requirement, index_eid as alternative, index_eid as eid, 'sufficient' as role
    from span
    union all
    select task_id, 'trial', x.eid, x.eid, 'sufficient' from (select task_id, unnest(trials) as x from span)
    union all
    select task_id, 'no_trial', x.eid, x.eid, 'qualifying' from (select task_id, unnest(trials) as x from span)
    union all
    select task_id, 'no_trial', x, x, 'qualifying' from (select task_id, unnest(stops) as x from span)
    union all
    select task_id, 'ventilator_charted', eid, eid, 'sufficient' from deferral
    union all
    select m.task_id, 'ventilator_charted', m.eid, x.eid, 'sufficient'
    from mode m, unnest([m.eid, m.second_eid, m.third_eid]) as x(eid)
    where m.third_eid is not null
    union all
    select p.task_id, 'low_support', p.first_eid || p.second_eid, x.eid, 'sufficient'
    from low_pair p, unnest([p.first_eid, p.second_eid, p.psv]) as x(eid)
    union all
    select task_id, 't_piece', x, x, 'sufficient' from (select task_id, unnest(pieces) as x from span)
    union all
    select task_id, 'stopped_trial', x, x, 'sufficient' from (select task_id, unnest(stops) as x from span)
    union all
    select
        task_id,
        unnest([
            'index_extubation', 'trial', 'no_trial', 'ventilator_charted', 'few_modes', 'low_support', 't_piece',
            'stopped_trial']),
        eid, eid, 'relevant'
    from beside
)
select distinct task_id, requirement, alternative, eid, role
from found
order by task_id, requirement, role, alternative, eid
