-- KDIGO acute kidney injury, stage 2 or 3, in the first 72 hours of an ICU stay: one row a task.
-- Tables hold only rows that were available at as_of. Facts beside verdict and rule:
--   urine_from, urine_to   the first 12 hours that meet the urine criterion, null if none does
--   *_missing              the input that is too thin to judge its arm
--   eligible               false where urine alone decides and its rate lies near the threshold
--
-- For review: the gap of 6 hours after which urine counts as uncharted, the rates from 0.45 to 0.55 mL/kg/h that are
-- too close to call where urine alone decides, and the fifth by which weights may differ are ours; no source gives
-- them.
--
-- For review: 12 hours can hold a negative volume, where irrigant went in and had not come out yet. It can by itself
-- bring the rate below 0.5 mL/kg/h. The rule follows the definition; a clinician may see an artefact of charting.
with setup as (
    select
        task.*,
        (params->>'$.baseline') as baseline_reading,          -- lowest | first_of_admission
        (params->>'$.urine_window') as urine_reading          -- rolling | fixed
    from task
),

-- --- creatinine -----------------------------------------------------------------------------------
-- Draws of one minute are one measurement, their mean.
creatinine as (
    select l.task_id, l.charttime, avg(l.valuenum) as value
    from hosp.labevents l
    join setup s on s.task_id = l.task_id
    where l.itemid = 50912
      and l.valuenum > 0 and l.valuenum <= 150
      and not regexp_matches(
          coalesce(l.value, '') || ' ' || coalesce(l.comments, ''),
          'cancel|quantity not sufficient|qns|specimen lost', 'i')
      and l.charttime >= s.index_time - interval 365 day
      and l.charttime <= s.as_of
    group by l.task_id, l.charttime
),

compared as (
    select
        task_id, charttime, value,
        min(value) over (
            partition by task_id order by charttime
            range between interval 7 day preceding and interval 1 microsecond preceding) as lowest_7d,
        min(value) over (
            partition by task_id order by charttime
            range between interval 48 hour preceding and interval 1 microsecond preceding) as lowest_48h
    from creatinine
),

-- The first creatinine of the admission, from its emergency visit on: the baseline of one reading.
first_of_admission as (
    select s.task_id, arg_min(c.value, c.charttime) as value, min(c.charttime) as charttime
    from setup s
    join hosp.admissions a on a.task_id = s.task_id and a.hadm_id = s.hadm_id
    join creatinine c
      on c.task_id = s.task_id and c.charttime >= least(a.admittime, coalesce(a.edregtime, a.admittime))
    group by s.task_id
),

in_window as (
    select
        c.task_id, c.charttime, c.value, c.lowest_7d, c.lowest_48h,
        case
            when s.baseline_reading = 'lowest' then c.lowest_7d
            when f.charttime < c.charttime then f.value
        end as baseline
    from compared c
    join setup s on s.task_id = c.task_id
    left join first_of_admission f on f.task_id = c.task_id
    where c.charttime >= s.index_time
),

-- Sums and multiples of values with one or two decimals are rounded to free them of binary noise.
creatinine_arm as (
    select
        task_id,
        max(value) as peak,
        bool_or(lowest_7d is not null) as assessable,
        bool_or(
            coalesce(value >= round(2.0 * baseline, 6), false)
            or (value >= 4.0 and (
                coalesce(value >= round(lowest_48h + 0.3, 6), false)
                or coalesce(value >= round(1.5 * baseline, 6), false)))
        ) as met
    from in_window
    group by task_id
),

earlier_creatinine as (
    select distinct c.task_id
    from creatinine c
    join setup s on s.task_id = c.task_id
    where c.charttime < s.index_time - interval 24 hour
),

-- --- urine ----------------------------------------------------------------------------------------
-- The arithmetic of mimic-code's urine concepts (MIT-LCP/mimic-code, kdigo_uo): a row stands for the
-- time since the previous urine row of the stay, the first row of a stay for one hour; the rate at a row
-- is the volume of the rows from 12 hours before it up to it (both included), over the hours they stand
-- for and the weight. Irrigant that went in (227488) is taken off. A gap of more than 6 hours counts against every
-- 12 hours that hold its end.
urine_item as (
    select
        o.task_id, o.charttime, o.itemid,
        avg(case when o.itemid = 227488 and o.value > 0 then -o.value else o.value end) as volume
    from icu.outputevents o
    join setup s on s.task_id = o.task_id and s.stay_id = o.stay_id
    where o.itemid in (
            226559, 226560, 226561, 226584, 226563, 226564, 226565, 226567, 226557, 226558, 227488, 227489)
      and o.value is not null
      and o.charttime <= s.as_of
    group by o.task_id, o.charttime, o.itemid
),

urine as (
    select
        task_id, charttime, sum(volume) as volume,
        coalesce(
            date_diff('second', lag(charttime) over (partition by task_id order by charttime), charttime)
                / 3600.0,
            1.0) as hours
    from urine_item
    group by task_id, charttime
),

weight as (
    select
        w.task_id, w.charttime,
        avg(case when w.itemid = 226531 then w.valuenum / 2.2046 else w.valuenum end) as kg
    from icu.chartevents w
    join setup s on s.task_id = w.task_id and s.stay_id = w.stay_id
    where w.itemid in (226512, 224639, 226531)
      and (case when w.itemid = 226531 then w.valuenum / 2.2046 else w.valuenum end) between 30 and 300
      and w.charttime <= s.as_of
    group by w.task_id, w.charttime
),

first_weight as (
    select task_id, arg_min(kg, charttime) as kg from weight group by task_id
),

last_12h as (
    select
        task_id, charttime,
        sum(volume) over past as volume,
        sum(hours) over past as hours,
        max(hours) over past as longest_gap
    from urine
    window past as (
        partition by task_id order by charttime
        range between interval 12 hour preceding and current row)
),

rolling as (
    select
        t.task_id, t.charttime as ends,
        t.hours >= 12 and t.longest_gap <= 6 as charted,
        t.charttime > s.index_time + interval 6 hour as counts,
        round(t.volume / t.hours / coalesce(w.kg, f.kg), 6) as rate
    from last_12h t
    join setup s on s.task_id = t.task_id
    left join first_weight f on f.task_id = t.task_id
    asof left join weight w on w.task_id = t.task_id and w.charttime <= t.charttime
),

-- Fixed windows, as a flow sheet totals them: six blocks of 12 hours from T, charted where no gap
-- between the block's start, its rows and its end exceeds 6 hours.
block_row as (
    select
        u.task_id, s.index_time,
        cast(floor((date_diff('second', s.index_time, u.charttime) - 1) / 43200.0) as integer) as block,
        u.charttime, u.volume
    from urine u
    join setup s on s.task_id = u.task_id
    where u.charttime > s.index_time
),

block_gap as (
    select
        task_id, block, charttime, volume,
        index_time + block * interval 12 hour as block_start,
        date_diff('second',
            coalesce(lag(charttime) over (partition by task_id, block order by charttime),
                index_time + block * interval 12 hour),
            charttime) as gap
    from block_row
),

block_total as (
    select
        task_id, block_start + interval 12 hour as ends, sum(volume) as volume,
        greatest(
            max(gap), date_diff('second', max(charttime), block_start + interval 12 hour)
        ) <= 21600 as charted
    from block_gap
    group by task_id, block, block_start
),

fixed as (
    select
        b.task_id, b.ends,
        b.charted and b.ends <= s.as_of as charted,
        true as counts,
        round(b.volume / 12 / coalesce(w.kg, f.kg), 6) as rate
    from block_total b
    join setup s on s.task_id = b.task_id
    left join first_weight f on f.task_id = b.task_id
    asof left join weight w on w.task_id = b.task_id and w.charttime <= b.ends
),

span as (
    select 'rolling' as reading, rolling.* from rolling
    union all
    select 'fixed' as reading, fixed.* from fixed
),

urine_arm as (
    select
        s.task_id,
        bool_or(p.charted) filter (p.reading = s.urine_reading and p.ends >= s.index_time) as charted,
        min(p.ends) filter (
            p.reading = s.urine_reading and p.charted and p.counts and p.rate < 0.5) as first_met,
        min(p.rate) filter (p.reading = 'rolling' and p.charted and p.counts) as lowest_rolling,
        min(p.rate) filter (p.reading = 'fixed' and p.charted) as lowest_fixed
    from setup s
    join span p on p.task_id = s.task_id
    group by s.task_id
),

-- --- renal replacement ----------------------------------------------------------------------------
renal_replacement as (
    select distinct p.task_id
    from icu.procedureevents p
    join setup s on s.task_id = p.task_id
    where p.itemid in (225441, 225802, 225803, 225805, 225809, 225955)
      and p.starttime >= s.index_time and p.starttime <= s.as_of
),

-- --- verdict --------------------------------------------------------------------------------------
facts as (
    select
        s.task_id,
        coalesce(c.met, false) as cr2,
        u.first_met is not null as uo2,
        r.task_id is not null as rrt,
        not coalesce(c.assessable, false) as creatinine_missing,
        w.task_id is null as weight_missing,
        not coalesce(u.charted, false) as urine_missing,
        u.first_met - interval 12 hour as urine_from,
        u.first_met as urine_to,
        u.lowest_rolling, u.lowest_fixed,
        -- Creatinine at which a four-variable MDRD clearance would be 75 mL/min/1.73 m2, without the
        -- coefficient for race, as in mimic-code's creatinine_baseline.
        e.task_id is null and c.peak >= 2.0 * power(
            75.0 / 186.0
                / power(p.anchor_age + year(s.index_time) - p.anchor_year, -0.203)
                / case when p.gender = 'F' then 0.742 else 1.0 end,
            -1 / 1.154) as estimate_disagrees
    from setup s
    join hosp.patients p on p.task_id = s.task_id
    left join creatinine_arm c on c.task_id = s.task_id
    left join urine_arm u on u.task_id = s.task_id
    left join first_weight w on w.task_id = s.task_id
    left join renal_replacement r on r.task_id = s.task_id
    left join earlier_creatinine e on e.task_id = s.task_id
),

judged as (
    select
        *,
        case
            when cr2 then 'high_creatinine'
            when rrt then 'renal_replacement'
            when uo2 then 'low_urine'
            when creatinine_missing then 'one_creatinine'
            when urine_missing then 'uncharted_urine'
            when weight_missing then 'no_weight'
            when estimate_disagrees then 'estimated_baseline'
            else 'below_stage_two'
        end as rule
    from facts
)

select
    task_id,
    case
        when rule in ('high_creatinine', 'renal_replacement', 'low_urine') then 'yes'
        when rule in ('one_creatinine', 'uncharted_urine', 'no_weight') then 'lack_of_data'
        when rule = 'estimated_baseline' then 'medical_ambiguity'
        else 'no'
    end as verdict,
    rule,
    urine_from, urine_to, creatinine_missing, weight_missing, urine_missing,
    coalesce(
        cr2 or rrt or urine_missing or weight_missing
        or (lowest_rolling < 0.45 and lowest_fixed < 0.45)
        or (lowest_rolling >= 0.55 and lowest_fixed >= 0.55),
        false) as eligible
from judged
