-- T = the draw of the index gas; the window is [T, T + 24 h], and as_of is its end. Ratios are mL per kg of predicted
-- body weight: 50 kg (men) or 45.5 kg (women) + 0.91 kg for every centimetre above 152.4. A height of the ICU chart
-- comes before one of the clinic. Rules are tried in order; rows not available by as_of are not in these tables. The
-- facts after the rule serve evidence.sql.
--
-- Correction: the catalogue calls it ambiguous only if the set volume is at most 8 mL/kg and the observed one above.
-- The two measure the same thing the other way round too (a leak, a set volume that stays in the chart in a pressure
-- mode), so that any opposite answers of the two are ambiguous.
--
-- Correction: the unit decides whether a height is plausible, so that 70 in the item for centimetres is none; that it
-- was meant in inches is a reading of its own.
--
-- For review: a median over 24 hours of at least three values, volumes from 100 to 1500 mL, 5 cm between two heights,
-- 2 hours for PEEP and 4 for FiO2 are ours; no source gives them.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_eid, k.as_of,
        k.index_time as t,
        k.index_time + interval 24 hour as closes,
        cast(k.params ->> '$.limit' as double) as most,
        k.params ->> '$.summary' as summary,
        cast(k.params ->> '$.inches_as_centimetres' as boolean) as inches_as_centimetres,
        case when p.gender = 'M' then 50.0 else 45.5 end as base
    from task k
    left join hosp.patients p using (task_id)
),
tall as (
    select
        h.task_id, h.eid, h.source, h.metric, h.moment,
        case
            when s.inches_as_centimetres and h.metric and h.value between 48 and 90 then h.value * 2.54
            else h.cm
        end as cm
    from heights() h
    join span s using (task_id)
),
height as (  -- the latest plausible one of each source, in centimetres before inches
    select * from tall
    where round(cm, 6) between 120 and 230
    qualify row_number() over (partition by task_id, source order by moment desc, metric desc, eid) = 1
),
chosen as (
    select
        task_id,
        coalesce(max(cm) filter (source = 'icu'), max(cm)) as cm,
        coalesce(max(moment) filter (source = 'icu'), max(moment)) as moment,
        case when count(*) filter (source = 'icu') > 0 then 'icu' else 'clinic' end as source,
        max(cm) filter (source = 'clinic') as other_cm
    from height
    group by task_id
),
volume as (
    select c.task_id, c.eid, c.itemid, c.charttime, c.valuenum as ml
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid in (224684, 224685)
      and c.valuenum between 100 and 1500
      and c.charttime between s.t and s.closes
),
volumes as (
    select
        v.task_id,
        count(*) filter (v.itemid = 224684) as set_rows,
        count(*) filter (v.itemid = 224685) as observed_rows,
        case any_value(s.summary)
            when 'mean' then avg(v.ml) filter (v.itemid = 224684)
            else median(v.ml) filter (v.itemid = 224684)
        end as set_ml,
        case any_value(s.summary)
            when 'mean' then avg(v.ml) filter (v.itemid = 224685)
            else median(v.ml) filter (v.itemid = 224685)
        end as observed_ml
    from volume v
    join span s using (task_id)
    group by v.task_id
),
finding as (
    select
        s.task_id, s.most, h.cm, h.source, h.moment, h.other_cm,
        coalesce(v.set_rows, 0) as set_rows,
        coalesce(v.observed_rows, 0) as observed_rows,
        round(v.set_ml / (s.base + 0.91 * (h.cm - 152.4)), 6) as set_per_kg,
        round(v.observed_ml / (s.base + 0.91 * (h.cm - 152.4)), 6) as observed_per_kg,
        round(v.set_ml / (s.base + 0.91 * (h.other_cm - 152.4)), 6) as other_per_kg
    from span s
    left join chosen h using (task_id)
    left join volumes v using (task_id)
),
ruled as (
    select
        *,
        case
            when cm is null and set_rows < 3 then 'no_height_no_volumes'
            when cm is null then 'no_height'
            when set_rows < 3 then 'too_few_volumes'
            when observed_rows >= 3 and (set_per_kg <= most) <> (observed_per_kg <= most) then 'set_or_observed'
            when source = 'icu' and round(abs(cm - other_cm), 6) > 5
                and (set_per_kg <= most) <> (other_per_kg <= most) then 'heights_differ'
            when set_per_kg <= most then 'within'
            else 'above'
        end as rule
    from finding
)
select
    task_id,
    case
        when rule in ('no_height', 'too_few_volumes', 'no_height_no_volumes') then 'lack_of_data'
        when rule in ('set_or_observed', 'heights_differ') then 'medical_ambiguity'
        when rule = 'within' then 'yes'
        else 'no'
    end as verdict,
    rule,
    set_rows,
    set_per_kg,
    observed_per_kg,
    source as height_source,
    cm as height_cm,
    other_cm,
    (select list({eid: h.eid, source: h.source, cm: h.cm} order by h.eid) from tall h
     where h.task_id = r.task_id and round(h.cm, 6) between 120 and 230) as heights
from ruled r
order by task_id
