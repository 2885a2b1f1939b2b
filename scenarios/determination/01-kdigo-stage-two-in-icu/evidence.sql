-- Which rows satisfy which requirement. Runs after adjudicate.sql, whose result is `adjudicated`.
with setup as (
    select task.*, a.rule, a.urine_from, a.urine_to
    from task
    join adjudicated a on a.task_id = task.task_id
),

measured as (
    select l.task_id, l.charttime, l.valuenum as value, l.eid
    from hosp.labevents l
    join setup s on s.task_id = l.task_id
    where l.itemid = 50912
      and l.valuenum > 0 and l.valuenum <= 150
      and not regexp_matches(
          coalesce(l.value, '') || ' ' || coalesce(l.comments, ''),
          'cancel|quantity not sufficient|qns|specimen lost', 'i')
      and l.charttime >= s.index_time - interval 7 day
      and l.charttime <= s.as_of
),

draw as (
    select task_id, charttime, avg(value) as value
    from measured
    group by task_id, charttime
),

-- A draw is cited by its lab row or by the ICU chart's copy of it (220615).
drawn as (
    select d.task_id, d.charttime, d.value, m.eid
    from draw d
    join measured m on m.task_id = d.task_id and m.charttime = d.charttime
    union
    select m.task_id, m.charttime, d.value, c.eid
    from icu.chartevents c
    join measured m on m.task_id = c.task_id and m.charttime = c.charttime and m.value = c.valuenum
    join draw d on d.task_id = m.task_id and d.charttime = m.charttime
    where c.itemid = 220615
),

-- Pairs that by themselves reach stage 2 or 3: any earlier value of the week that is low enough will do.
pair as (
    select
        c.task_id, c.eid as later_eid, b.eid as earlier_eid,
        row_number() over (
            partition by c.task_id
            order by c.value / b.value desc, c.charttime, b.charttime, c.eid, b.eid) as position
    from drawn c
    join setup s on s.task_id = c.task_id
    join drawn b
      on b.task_id = c.task_id
     and b.charttime < c.charttime and b.charttime >= c.charttime - interval 7 day
    where c.charttime >= s.index_time
      and (c.value >= round(2.0 * b.value, 6)
        or (c.value >= 4.0 and (
            c.value >= round(1.5 * b.value, 6)
            or (c.value >= round(b.value + 0.3, 6) and b.charttime >= c.charttime - interval 48 hour))))
),

baseline as (
    select c.task_id, c.charttime, c.value, c.eid, min(b.value) as lowest
    from drawn c
    join setup s on s.task_id = c.task_id
    left join draw b
      on b.task_id = c.task_id
     and b.charttime < c.charttime and b.charttime >= c.charttime - interval 7 day
    where c.charttime >= s.index_time
    group by all
),

-- The highest value of the window and, where it is another one, the value furthest above its baseline.
peak as (
    select task_id, charttime, value, eid, lowest
    from baseline
    qualify value = max(value) over (partition by task_id)
        or value / lowest = max(value / lowest) over (partition by task_id)
),

-- What such a value is compared with, or the lowest value of all.
low as (
    select p.task_id, b.eid
    from peak p
    join drawn b
      on b.task_id = p.task_id and b.value = p.lowest
     and b.charttime < p.charttime and b.charttime >= p.charttime - interval 7 day
    union
    select task_id, eid
    from drawn
    qualify value = min(value) over (partition by task_id)
),

first_draw as (
    select d.task_id, d.eid
    from drawn d
    join setup s on s.task_id = d.task_id
    where d.charttime >= s.index_time - interval 24 hour
    qualify d.charttime = min(d.charttime) over (partition by d.task_id)
),

urine as (
    select o.task_id, o.charttime, o.eid
    from icu.outputevents o
    join setup s on s.task_id = o.task_id and s.stay_id = o.stay_id
    where o.itemid in (
            226559, 226560, 226561, 226584, 226563, 226564, 226565, 226567, 226557, 226558, 227488, 227489)
      and o.value is not null
      and o.charttime <= s.as_of
),

weight as (
    select w.task_id, w.eid
    from icu.chartevents w
    join setup s on s.task_id = w.task_id and s.stay_id = w.stay_id
    where w.itemid in (226512, 224639, 226531)
      and (case when w.itemid = 226531 then w.valuenum / 2.2046 else w.valuenum end) between 30 and 300
      and w.charttime <= s.as_of
),

renal_replacement as (
    select p.task_id, p.eid
    from icu.procedureevents p
    join setup s on s.task_id = p.task_id
    where p.itemid in (225441, 225802, 225803, 225805, 225809, 225955)
      and p.starttime >= s.index_time and p.starttime <= s.as_of
),

sufficient(task_id, requirement, alternative, eid) as (
    select task_id, 'icu_stay', 'stay', index_eid from task
    union all
    select p.task_id, 'stage_two', printf('creatinine %03d', p.position), unnest([p.later_eid, p.earlier_eid])
    from pair p
    where p.position <= 200
    union all
    select task_id, 'stage_two', 'renal replacement ' || eid, eid from renal_replacement
    union all
    select u.task_id, 'stage_two', 'urine ' || u.eid || ' ' || w.eid, unnest([u.eid, w.eid])
    from urine u
    join setup s on s.task_id = u.task_id and u.charttime = s.urine_to
    join weight w on w.task_id = u.task_id
    union all
    select task_id, 'weight', eid, eid from weight
    union all
    select distinct task_id, 'peak_creatinine', eid, eid from peak
    union all
    select task_id, 'lowest_creatinine', eid, eid from low
    union all
    select task_id, 'first_creatinine', eid, eid from first_draw
),

relevant(task_id, requirement, eid) as (
    select task_id, unnest(['stage_two', 'peak_creatinine', 'lowest_creatinine', 'first_creatinine']), eid
    from drawn
    union all
    select task_id, unnest(['urine_span', 'urine_series']), eid from urine
    union all
    select task_id, 'weight', eid from weight
    union all
    -- Urine bears on a stage reached otherwise only where it reaches it as well.
    select u.task_id, 'stage_two', u.eid
    from (from urine select task_id, eid union all from weight) u
    join setup s on s.task_id = u.task_id
    where s.urine_to is not null
    union all
    select task_id, unnest(['stage_two', 'no_renal_replacement']), eid from renal_replacement
    union all
    -- What there is of the inputs shows how little it is.
    select task_id, 'missing_input', eid from drawn
    union all
    select task_id, 'missing_input', eid from urine
    union all
    select task_id, 'missing_input', eid from weight
),

earlier as (
    select l.task_id, l.eid
    from hosp.labevents l
    join setup s on s.task_id = l.task_id
    where l.itemid = 50912
      and l.charttime >= s.index_time - interval 365 day
      and l.charttime < s.index_time - interval 24 hour
      and l.valuenum > 0 and l.valuenum <= 150
)

select task_id, requirement, alternative, eid, 'sufficient' as role from sufficient
union all
select task_id, requirement, null, eid, 'relevant' from relevant
union all
select task_id, 'no_renal_replacement', null, eid, 'qualifying' from renal_replacement
union all
select task_id, 'no_earlier_creatinine', null, eid, 'qualifying' from earlier
