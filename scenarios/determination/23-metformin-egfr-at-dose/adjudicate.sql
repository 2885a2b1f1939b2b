-- T = the dose. c = the latest creatinine drawn in [T - 7 d, T] whose result was known at T; results of the hour
-- between T and as_of are in these tables and do not count. Two estimates of the GFR, neither with a term for race:
-- CKD-EPI 2021 and the MDRD study equation. Rising: c is at least 1.5 times, or at least 0.3 mg/dL above, the lowest
-- value drawn in the 48 hours before it (and known at T). Rules are tried in order. The facts after the rule serve
-- evidence.sql.
--
-- For review: 7 days for the creatinine, 48 hours for its rise, 45 mL/min/1.73 m2 as the estimate from which a rise no
-- longer matters (the label's limit for beginning the drug), and 30 days without dialysis are ours; no source gives
-- them.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of,
        k.index_time as t,
        k.index_time - interval 7 day as opens,
        cast(k.params ->> '$.limit' as double) as least,
        cast(k.params ->> '$.doubtful_below' as double) as doubtful_below,
        cast(k.params ->> '$.whole_numbers' as boolean) as whole_numbers,
        p.gender = 'F' as woman,
        p.anchor_age + year(k.index_time) - p.anchor_year as age
    from task k
    left join hosp.patients p using (task_id)
),
creatinine as (
    select l.task_id, l.eid, l.eids, l.charttime, l.value
    from lab_results_known([50912], index_time) l
    join span s using (task_id)
),
latest as (
    select c.*
    from creatinine c
    join span s using (task_id)
    where c.charttime between s.opens and s.t
    qualify row_number() over (partition by c.task_id order by c.charttime desc) = 1
),
earlier as (
    select
        l.task_id,
        min(e.value) as lowest,
        list(e.eid order by e.eid) filter (
            round(l.value, 6) >= round(1.5 * e.value, 6) or round(l.value - e.value, 6) >= 0.3) as below
    from latest l
    join creatinine e
        on e.task_id = l.task_id and e.charttime >= l.charttime - interval 48 hour and e.charttime < l.charttime
    group by l.task_id
),
estimated as (
    select
        s.task_id, s.least, s.doubtful_below, s.whole_numbers, l.value, l.charttime, l.eids, e.lowest, e.below,
        142
            * pow(least(l.value / case when s.woman then 0.7 else 0.9 end, 1), case when s.woman then -0.241 else -0.302 end)
            * pow(greatest(l.value / case when s.woman then 0.7 else 0.9 end, 1), -1.200)
            * pow(0.9938, s.age)
            * case when s.woman then 1.012 else 1 end as ckd_epi,
        175 * pow(l.value, -1.154) * pow(s.age, -0.203) * case when s.woman then 0.742 else 1 end as mdrd
    from span s
    join latest l using (task_id)
    left join earlier e using (task_id)
),
reported as (
    select
        * replace (
            case when whole_numbers then round(ckd_epi) else round(ckd_epi, 6) end as ckd_epi,
            case when whole_numbers then round(mdrd) else round(mdrd, 6) end as mdrd),
        coalesce(round(value, 6) >= round(1.5 * lowest, 6) or round(value - lowest, 6) >= 0.3, false) as rising
    from estimated
),
ruled as (
    select
        *,
        case
            when (ckd_epi < least) <> (mdrd < least) then 'equations_differ'
            when rising and ckd_epi >= least and ckd_epi < doubtful_below then 'rising'
            when ckd_epi < least then 'below'
            else 'not_below'
        end as rule
    from reported
)
select
    s.task_id,
    case
        when rule is null then 'lack_of_data'
        when rule in ('equations_differ', 'rising') then 'medical_ambiguity'
        when rule = 'below' then 'yes'
        else 'no'
    end as verdict,
    coalesce(r.rule, 'no_creatinine') as rule,
    r.charttime as drawn,
    r.value as creatinine,
    r.ckd_epi,
    r.mdrd,
    r.lowest,
    r.eids as latest_eids,
    r.below as earlier_eids
from span s
left join ruled r using (task_id)
order by s.task_id
