-- T = the start of invasive ventilation. Of each source the latest entry known at T counts: Lc of the ICU chart,
-- Lp of the orders that were not ended by then. Rules are tried in order; rows not available by as_of are not in
-- these tables.
--
-- Correction: in the catalogue the later one of the last entry of the ICU chart and the last order decides, and any
-- two within 12 hours that disagree are ambiguous. An order made after a bedside entry is no conflict with it, though:
-- it is how a status is changed, and the chart has not followed yet. So a later order decides, a chart entry more than
-- 12 hours younger than the order decides, and only a chart entry made within the 12 hours after an order leaves two
-- entries in force.
--
-- Correction: the catalogue calls only a limit against full code a conflict. A limit against do-not-resuscitate
-- alone gives opposite answers too (a nurse's DNR / DNI after an order DNAR), and is one as well.
--
-- Correction: an entry that cannot be read (no text, or a text that says neither) as the latest one, and an order
-- that was ended without a successor since the latest entry, leave open what was in force. The catalogue has no
-- rule for either, and the case is left out.
--
-- For review: 12 hours in which an order and a bedside entry stand beside each other, 30 minutes between a cardiac
-- arrest and the tube, and two hours of observation before it are ours; no source gives them.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_eid, k.as_of,
        k.index_time as t,
        least(a.admittime, coalesce(a.edregtime, a.admittime)) as arrival,
        to_hours(cast(k.params ->> '$.together_hours' as bigint)) as together,
        k.params ->> '$.known_by' as known_by
    from task k
    join hosp.admissions a on a.task_id = k.task_id and a.hadm_id = k.hadm_id
),
ordered as (
    select o.task_id, o.eid, o.poe_id, o.ordertime, o.transaction_type, o.discontinue_of_poe_id
    from hosp.poe o
    join span s using (task_id)
    where regexp_matches(o.order_type, '^general care$', 'i')
      and regexp_matches(o.order_subtype, '^code status$', 'i')
      and coalesce(o.hadm_id, s.hadm_id) = s.hadm_id
      and o.ordertime between s.arrival and s.t
),
detailed as (
    select d.task_id, d.eid, string_agg(d.field_value, ' ' order by d.field_value) as text
    from hosp.poe_detail d
    semi join ordered o using (task_id, eid)
    where regexp_matches(d.field_name, 'code status', 'i')
    group by d.task_id, d.eid
),
written as (
    select c.task_id, c.eid, 'chart' as source, c.charttime as moment, c.value as text
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid in (223758, 228687, 229784)
      and coalesce(c.hadm_id, s.hadm_id) = s.hadm_id
      and c.charttime between s.arrival and s.t
      and (c.available_at <= s.t or s.known_by = 'charttime')
    union all
    select o.task_id, o.eid, 'order', o.ordertime, d.text
    from ordered o
    left join detailed d using (task_id, eid)
    where o.transaction_type <> 'D/C'
      and not exists (
          select 1 from ordered x where x.task_id = o.task_id and x.discontinue_of_poe_id = o.poe_id)
),
entry as (
    select
        task_id, eid, source, moment,
        case
            when regexp_matches(text, '\bdni\b|not intubate|comfort', 'i') then 'limit'
            when regexp_matches(text, '\bfull code\b', 'i') then 'full'
            when regexp_matches(text, '\bdna?r\b|not (attempt )?resuscitate', 'i') then 'dnr_only'
        end as status
    from written
),
latest as (
    select * from entry
    where status is not null
    qualify row_number() over (partition by task_id, source order by moment desc, eid desc) = 1
),
pair as (
    select
        s.task_id, s.together,
        c.eid as chart_eid, c.moment as charted, c.status as chart_status,
        o.eid as order_eid, o.moment as ordered, o.status as order_status
    from span s
    left join latest c on c.task_id = s.task_id and c.source = 'chart'
    left join latest o on o.task_id = s.task_id and o.source = 'order'
),
in_force as (  -- one entry, or an order and the chart entry made within the twelve hours after it
    select task_id, chart_eid as eid, charted as moment, chart_status as status
    from pair
    where charted is not null and (ordered is null or charted > ordered)
    union all
    select task_id, order_eid, ordered, order_status
    from pair
    where ordered is not null and (charted is null or charted <= ordered + together)
),
arrest as (
    select p.task_id, p.eid
    from procedures([225466]) p
    join span s using (task_id)
    where p.moment between s.t - interval 30 minute and s.t
),
finding as (
    select
        s.task_id, s.t, s.arrival,
        max(f.moment) as entered,
        coalesce(bool_or(f.status = 'limit'), false) as limited,
        coalesce(bool_and(f.status = 'limit'), false) as only_limited,
        coalesce(bool_or(f.status = 'dnr_only'), false) as resuscitation_refused,
        list(f.eid order by f.eid) filter (where f.eid is not null) as in_force,
        list(f.eid order by f.eid) filter (where f.status = 'dnr_only') as refusing
    from span s
    left join in_force f using (task_id)
    group by s.task_id, s.t, s.arrival
),
ruled as (
    select
        *,
        case
            when in_force is null then 'no_entry'
            when limited and not only_limited then 'sources_at_odds'
            when not limited and resuscitation_refused and task_id in (select task_id from arrest) then 'cardiac_arrest'
            when limited then 'limited'
            else 'not_limited'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule = 'no_entry' then 'lack_of_data'
        when r.rule in ('sources_at_odds', 'cardiac_arrest') then 'medical_ambiguity'
        when r.rule = 'limited' then 'yes'
        else 'no'
    end as verdict,
    r.rule,
    not exists (
        select 1 from entry e
        where e.task_id = r.task_id and e.status is null and e.moment >= coalesce(r.entered, e.moment))
    and not exists (
        select 1 from ordered o
        where o.task_id = r.task_id and o.transaction_type = 'D/C'
          and (r.entered is null or o.ordertime > r.entered)) as eligible,
    r.arrival,
    r.entered,
    least(r.entered + interval 1 second, r.t) as after_latest,
    r.in_force,
    r.refusing,
    (select list(a.eid order by a.eid) from arrest a where a.task_id = r.task_id) as arrests,
    (select list(e.eid order by e.eid) from entry e where e.task_id = r.task_id) as entries
from ruled r
order by r.task_id
