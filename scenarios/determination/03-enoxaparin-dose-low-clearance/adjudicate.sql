-- T = the order; what was stored in the hour between T and as_of does not count. Clearance after Cockcroft and Gault,
-- mL/min: (140 - age) x kg / (72 x creatinine), x 0.85 in women; with the actual weight, and with the ideal one (50 or
-- 45.5 kg + 2.3 kg for every inch above 60). An order is in label for one side of the limit or the other: below it 30
-- mg or 1 mg/kg once a day; from it on 40 mg once, 30 mg twice, 1 mg/kg twice or 1.5 mg/kg once. Doses per kg refer to
-- the actual weight and may be rounded by a tenth. Rules are tried in order. The facts after the rule serve
-- evidence.sql.
--
-- Correction: a creatinine that is missing could not change the answer where the order is in label on neither side of
-- the limit, or on both; the rule decides without it then.
--
-- Correction: where neither order nor pharmacy has a number for the daily frequency, the pharmacy's word for it will do
-- (DAILY, Q24H, QHS, QPM, QAM; BID, Q12H).
--
-- Correction: a weight in the clinic's records has a day and no time; of one day the last entry counts.
--
-- For review: 72 hours for the creatinine, 7 days for a weight of the ICU and 90 for one of the clinic, the ranges of
-- 30 to 300 kg and 120 to 230 cm, and a tenth for rounding a dose per kg are ours; the label gives none of them.
with
span as (
    select
        k.task_id, k.index_eid,
        k.index_time as t,
        cast(k.params ->> '$.limit' as double) as least,
        cast(k.params ->> '$.rounding' as double) as rounding,
        p.gender = 'F' as woman,
        p.anchor_age + year(k.index_time) - p.anchor_year as age
    from task k
    left join hosp.patients p using (task_id)
),
filled as (
    select task_id, pharmacy_id, max(doses_per_24_hrs) as per_day, max(upper(trim(frequency))) as frequency
    from hosp.pharmacy
    where pharmacy_id is not null
    group by task_id, pharmacy_id
),
regimen as (
    select
        s.task_id,
        try_cast(trim(o.dose_val_rx) as double) as mg,
        coalesce(
            o.doses_per_24_hrs,
            f.per_day,
            case
                when f.frequency in ('DAILY', 'Q24H', 'QHS', 'QPM', 'QAM') then 1
                when f.frequency in ('BID', 'Q12H') then 2
            end) as per_day
    from span s
    join hosp.prescriptions o on o.task_id = s.task_id and o.eid = s.index_eid
    left join filled f on f.task_id = o.task_id and f.pharmacy_id = o.pharmacy_id
),
creatinine as (
    select l.task_id, l.eids, l.charttime, l.value
    from lab_results_known([50912], index_time) l
    join span s using (task_id)
    where l.charttime between s.t - interval 72 hour and s.t
    qualify row_number() over (partition by l.task_id order by l.charttime desc) = 1
),
weighed as (
    select
        c.task_id, c.eid, 'icu' as source, c.charttime as moment, c.itemid <> 226531 as metric, 0 as place,
        case when c.itemid = 226531 then c.valuenum * 0.45359237 else c.valuenum end as kg
    from icu.chartevents c
    join span s using (task_id)
    where c.itemid in (226512, 224639, 226531)
      and c.charttime between s.t - interval 7 day and s.t
      and c.available_at <= s.t
    union all
    select
        o.task_id, o.eid, 'clinic', o.chartdate::timestamp, false, o.seq_num,
        try_cast(regexp_extract(o.result_value, '^\s*(\d+(?:\.\d+)?)\s*$', 1) as double) * 0.45359237
    from hosp.omr o
    join span s using (task_id)
    where regexp_matches(o.result_name, '^weight \(lbs\)', 'i')
      and o.chartdate >= (s.t - interval 90 day)::date
      and o.available_at <= s.t
),
weight as (
    select * from weighed
    where round(kg, 6) between 30 and 300
    qualify row_number() over (
        partition by task_id order by source = 'icu' desc, moment desc, metric desc, place desc, eid) = 1
),
height as (
    select h.*
    from heights() h
    join span s using (task_id)
    where h.cm between 120 and 230 and h.available_at <= s.t
    qualify row_number() over (partition by h.task_id order by h.source = 'icu' desc, h.moment desc, h.metric desc, h.eid) = 1
),
measured as (
    select
        s.task_id, s.least, s.rounding, s.age, s.woman, r.mg, r.per_day,
        c.value as creatinine, c.charttime as drawn, c.eids as creatinine_eids,
        w.kg, w.source as weight_source, w.moment as weighed_at,
        h.cm, h.eid as height_eid,
        case when s.woman then 45.5 else 50 end + 2.3 * (h.cm / 2.54 - 60) as ideal_kg,
        r.mg / w.kg as per_kg
    from span s
    left join regimen r using (task_id)
    left join creatinine c using (task_id)
    left join weight w using (task_id)
    left join height h using (task_id)
),
cleared as (
    select
        *,
        round((140 - age) * kg / (72 * creatinine) * case when woman then 0.85 else 1 end, 6) as clearance,
        round((140 - age) * ideal_kg / (72 * creatinine) * case when woman then 0.85 else 1 end, 6) as ideal_clearance,
        (mg = 30 and per_day = 1) or (round(abs(per_kg - 1), 6) <= rounding and per_day = 1) as right_below,
        (mg = 40 and per_day = 1) or (mg = 30 and per_day = 2)
            or (round(abs(per_kg - 1), 6) <= rounding and per_day = 2)
            or (round(abs(per_kg - 1.5), 6) <= round(1.5 * rounding, 6) and per_day = 1) as right_above
    from measured
),
judged as (
    select
        *,
        case when clearance < least then right_below else right_above end as in_label,
        case
            when ideal_clearance < least then right_below
            when ideal_clearance >= least then right_above
        end as in_label_by_ideal,
        coalesce(right_below = right_above, false) and kg is not null as settled
    from cleared
),
ruled as (
    select
        *,
        case
            when mg is null or per_day is null then 'order_unclear'
            when creatinine is null and kg is null then 'no_creatinine_no_weight'
            when kg is null then 'no_weight'
            when creatinine is null and not settled then 'no_creatinine'
            when creatinine is null and right_below then 'in_label_either_way'
            when creatinine is null then 'off_label_either_way'
            when in_label <> in_label_by_ideal then 'weights_differ'
            when in_label then 'in_label'
            else 'off_label'
        end as rule
    from judged
)
select
    task_id,
    case
        when rule in ('order_unclear', 'no_creatinine_no_weight', 'no_weight', 'no_creatinine') then 'lack_of_data'
        when rule = 'weights_differ' then 'medical_ambiguity'
        when rule in ('in_label', 'in_label_either_way') then 'yes'
        else 'no'
    end as verdict,
    rule,
    clearance,
    ideal_clearance,
    mg,
    per_day,
    kg,
    creatinine,
    drawn,
    cm,
    creatinine_eids,
    height_eid,
    (select list(w.eid order by w.eid) from weighed w
     where w.task_id = r.task_id and w.source = r.weight_source and w.moment = r.weighed_at
       and abs(w.kg - r.kg) <= 0.5) as weight_eids,
    task_id in (select task_id from in_icu(index_time - interval 7 day, index_time)) as intensive
from ruled r
order by task_id
