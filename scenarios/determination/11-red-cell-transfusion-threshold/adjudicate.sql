-- T = the start of the first red cells. H = of the haemoglobins (51222, 50811) drawn in [T - 24 h, T] and known at
-- T, the one drawn last; of two draws of one moment the blood count's. Rules are tried in order; rows not
-- available by as_of are not in these tables.
--
-- Correction: the catalogue calls every last haemoglobin from 7.0 to below 8.0 ambiguous. It is that only where the
-- patient is one for whom the guideline lets clinicians choose the higher threshold. Cardiovascular disease written
-- down before (coded diagnoses and summaries of earlier admissions, reports of imaging) shows it; without it neither
-- the disease nor its absence can be read in the record (the visit's own diagnoses are coded after it), and the case
-- is left out.
--
-- Correction: the catalogue calls a haemoglobin of 8.0 or more in a bleeding or unstable patient ambiguous, because
-- the thresholds are written for stable ones. No recognised threshold would give the opposite answer there, nor is a
-- plain NO fair, so that these cases are left out. One below 7.0 is below every threshold, stable or not.
--
-- Correction: a vasopressor counts as running if its row began in the 24 hours before T and had not ended by T
-- (a change of rate begins a new row); pushes do not run. Phenylephrine and epinephrine have further items
-- (229631, 229617), which the catalogue's list lacks.
--
-- For review: 24 hours for the haemoglobin, 24 hours in which a running vasopressor must have begun, three further
-- units within 6 hours for massive bleeding, and 24 hours after an operation are ours; the guideline names none of
-- them.
with
span as (
    select
        k.task_id, k.index_eid, k.as_of,
        k.index_time as t,
        k.index_time - interval 24 hour as opens,
        k.index_time + interval 6 hour as closes,
        cast(k.params ->> '$.gas_analyser' as boolean) as gas_counts,
        k.params ->> '$.latest_by' as latest_by
    from task k
),
known as (
    select l.task_id, l.eids, l.itemid, l.charttime, l.available_at, round(l.value, 6) as value, s.latest_by
    from lab_results_known([51222, 50811], index_time) l
    join span s using (task_id)
    where l.charttime >= s.opens and (l.itemid = 51222 or s.gas_counts)
),
haemoglobin as (
    select * from known
    qualify row_number() over (
        partition by task_id
        order by case latest_by when 'result' then available_at else charttime end desc, charttime desc, itemid desc) = 1
),
unit as (  -- rows of one order are one unit
    select
        u.task_id, u.eid, u.moment, coalesce(u.linkorderid, u.orderid) as number, s.t, s.closes,
        u.eid = s.index_eid as is_index
    from infusions([225168]) u
    join span s using (task_id)
    where u.what = 'given'
),
index_unit as (
    select u.task_id, u.eid
    from unit u
    join unit i using (task_id, number)
    where i.is_index
),
further as (
    select task_id, eid, number
    from unit
    where moment > t and moment <= closes and eid not in (select eid from index_unit i where i.task_id = unit.task_id)
),
massive as (
    select p.task_id, p.eid
    from procedures([229620]) p
    join span s using (task_id)
    where p.moment <= s.closes and p.until >= s.t - interval 6 hour
),
vasopressor as (
    select v.task_id, v.eid
    from infusions([221906, 221289, 229617, 222315, 221749, 229630, 229631, 229632, 221662, 229709, 229764]) v
    join span s using (task_id)
    where v.what = 'given' and coalesce(v.ordercategorydescription, '') <> 'Drug Push'
      and v.moment > s.opens and v.moment <= s.t and v.until > s.t
),
written as (  -- what was written before, without what it denies
    select
        n.task_id, n.eid,
        regexp_replace(
            n.text,
            '\b(no|not|denie[sd]|denying|without|negative for|family (history|hx)|fh|fhx|rule[sd]? out|r/o|mother|father|brother|sister)\b[^.;]{0,80}',
            ' ', 'gi') as text
    from (
        select task_id, eid, text, available_at from note.discharge
        union all
        select task_id, eid, text, available_at from note.radiology
    ) n
    join span s using (task_id)
    where n.available_at <= s.t
),
history as (
    select task_id, eid
    from written
    where regexp_matches(
        text,
        'coronary\s+(artery\s+)?(disease|bypass)|\bCAD\b|\bCABG\b|myocardial\s+infarction|\b(N?STEMI|IMI)\b|angina\s+pectoris'
        || '|(drug[ -]eluting|coronary|bare[ -]metal)\s+stent|heart\s+failure|\b(CHF|HFrEF|HFpEF)\b|cardiomyopathy', 'i')
    union
    select task_id, eid
    from hosp.diagnoses_icd
    where (icd_version = 9 and regexp_matches(trim(icd_code), '^(41[0-4]|425|428|V458[12]|402[019]1|404[019][13])'))
       or (icd_version = 10 and regexp_matches(trim(icd_code), '^(I2[0-5]|I42|I50|I110|I13[02]|Z95[15])'))
),
finding as (
    select
        s.task_id, h.value, h.eids, h.charttime as drawn,
        (select list(distinct x.eid order by x.eid) from history x where x.task_id = s.task_id) as history,
        (select list(distinct x.eid order by x.eid) from vasopressor x where x.task_id = s.task_id) as vasopressors,
        (select list(distinct x.eid order by x.eid) from massive x where x.task_id = s.task_id) as massive,
        (select list(distinct x.eid order by x.eid) from further x where x.task_id = s.task_id) as further,
        (select count(distinct x.number) from further x where x.task_id = s.task_id) as further_units,
        (select list(distinct x.eid order by x.eid) from index_unit x where x.task_id = s.task_id) as index_unit
    from span s
    left join haemoglobin h using (task_id)
),
ruled as (
    select
        *,
        case
            when value is null then 'no_haemoglobin'
            when value >= 7.0 and value < 8.0 and history is not null then 'threshold_disputed'
            when value >= 7.0 and value < 8.0 then 'threshold_open'
            when value >= 8.0 and (further_units >= 3 or massive is not null) then 'bleeding'
            when value >= 8.0 and vasopressors is not null then 'unstable'
            when value < 7.0 then 'below'
            else 'not_below'
        end as rule
    from finding
)
select
    task_id,
    case
        when rule = 'no_haemoglobin' then 'lack_of_data'
        when rule = 'below' then 'yes'
        when rule = 'not_below' then 'no'
        else 'medical_ambiguity'
    end as verdict,
    rule,
    rule not in ('threshold_open', 'bleeding', 'unstable') as eligible,
    value as haemoglobin,
    drawn,
    eids as haemoglobin_eids,
    history,
    vasopressors,
    massive,
    further,
    index_unit
from ruled
order by task_id
