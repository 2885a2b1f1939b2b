-- What the scenarios' cohorts share: table macros for cohort.sql, over the whole store.

-- Hospital admissions of adults (18 or older at admission), with the time of arrival: that of the
-- registration in the emergency department where there was one.
create or replace temp macro adult_admissions() as table
select
    a.subject_id, a.hadm_id, a.admittime, a.dischtime, a.deathtime, a.discharge_location,
    coalesce(a.edregtime, a.admittime) as arrival,
    p.gender, p.anchor_age + year(a.admittime) - p.anchor_year as age
from hosp.admissions a
join hosp.patients p using (subject_id)
where p.anchor_age + year(a.admittime) - p.anchor_year >= 18;

-- Laboratory results of these items that are a plausible number, as adjudication.sql has them.
create or replace temp macro lab_results(items) as table
select
    subject_id, itemid, charttime, avg(valuenum) as value, max(available_at) as available_at,
    min(labevent_id) as labevent_id, arg_min(eid, labevent_id) as eid
from hosp.labevents
where itemid in (select unnest(items))
  and valuenum is not null
  and not regexp_matches(
      regexp_replace(concat_ws(' ', value, comments), 'qns to verify( hemolysis)?', '', 'gi'),
      'cancel|not sufficient|\bqns\b|specimen lost|lost specimen', 'i')
  and case
      when itemid = 50912 then valuenum > 0 and valuenum <= 150
      when itemid = 50983 then valuenum between 80 and 200
      when itemid in (50971, 50822) then valuenum > 0 and valuenum <= 30
      when itemid in (50931, 50809) then valuenum > 0 and valuenum <= 10000
      when itemid = 50813 then valuenum > 0 and valuenum <= 40
      when itemid in (51222, 50811) then valuenum > 0 and valuenum <= 30
      when itemid = 51301 then valuenum > 0 and valuenum <= 1000
      when itemid = 51265 then valuenum > 0
      else true
  end
group by subject_id, itemid, charttime;

-- eMAR rows whose drug has such a name: what and route are those of adjudication.sql.
create or replace temp macro administrations(names) as table
with
named as (
    select
        subject_id, eid, emar_id, pharmacy_id, charttime as moment, available_at,
        trim(medication) as name, trim(event_txt) as event
    from hosp.emar
    where regexp_matches(medication, names, 'i')
),
detail as (
    select
        d.subject_id, d.emar_id, max(nullif(trim(d.route), '')) as route, max(d.pharmacy_id) as pharmacy_id,
        coalesce(string_agg(distinct d.administration_type, ' '), '') as administration
    from hosp.emar_detail d
    join named n using (subject_id, emar_id)
    group by d.subject_id, d.emar_id
),
written_route as (
    select subject_id, pharmacy_id, max(nullif(trim(route), '')) as route
    from hosp.pharmacy where pharmacy_id is not null group by subject_id, pharmacy_id
),
ordered_route as (
    select subject_id, pharmacy_id, max(nullif(trim(route), '')) as route
    from hosp.prescriptions
    where pharmacy_id is not null and drug_type = 'MAIN' group by subject_id, pharmacy_id
)
select
    n.subject_id, n.eid, n.moment, n.available_at, n.name, n.event,
    coalesce(d.administration, '') as administration,
    coalesce(
        d.route,
        case
            when regexp_matches(d.administration, '\bSC\b', 'i') then 'SC'
            when regexp_matches(d.administration, 'infusion|\bIV\b', 'i') then 'IV'
        end,
        w.route,
        o.route) as route,
    case
        when n.event in (
            'Administered', 'Administered in Other Location', 'Administered Bolus from IV Drip',
            'Delayed Administered', 'Partial Administered', 'Started', 'Started in Other Location',
            'Delayed Started', 'Restarted', 'Applied', 'Applied in Other Location',
            'Removed Existing / Applied New') then 'given'
        when n.event in ('in Other Location', 'Delayed') then 'verb_lost'
        else 'not_given'
    end as what
from named n
left join detail d using (subject_id, emar_id)
left join written_route w
    on w.subject_id = n.subject_id and w.pharmacy_id = coalesce(n.pharmacy_id, d.pharmacy_id)
left join ordered_route o
    on o.subject_id = n.subject_id and o.pharmacy_id = coalesce(n.pharmacy_id, d.pharmacy_id);

-- Whether a dose of such a route and name goes into a vein, as adjudication.sql has it.
create or replace temp macro intravenous(route, name) as
    case
        when route is not null then regexp_matches(route, '^(iv|intraven)', 'i')
        else not regexp_matches(
            name, '\b(po|oral|tabs?|tablets?|caps?|capsules?|ng|sc|sq|subcut\w*|topical|pr|rectal|inhal\w*)\b', 'i')
    end;

-- Infusion and push rows of these items through which something went in, as adjudication.sql has them.
create or replace temp macro infusions(items) as table
select
    subject_id, stay_id, eid, itemid, starttime as moment, endtime as until, available_at, rate,
    ordercategoryname, ordercategorydescription
from icu.inputevents
where itemid in (select unnest(items))
  and amount > 0
  and coalesce(statusdescription, '') <> 'Rewritten';

-- Orders of antibacterials that act in the whole body (names and routes as in mimic-code's antibiotic concept, less
-- what stays on the skin, in the eye or ear, or in the gut).
create or replace temp macro antibacterial_orders() as table
select subject_id, starttime
from hosp.prescriptions
where drug_type <> 'BASE'
  and regexp_matches(route, '^(iv\b|ivpb|im\b|po\b|po/ng|ng\b|og|oral|dialys|pb\b|[gj][ -]?tube)', 'i')
  and regexp_matches(drug, 'cillin|\bcef|cephalexin|ceph|penem|bactam|aztreonam|azactam|floxacin|\bcipro|levaquin|avelox'
      || '|gentamicin|tobramycin|amikacin|streptomycin|kanamycin|vancomycin|vancocin|telavancin|oritavancin|dalbavancin'
      || '|daptomycin|cubicin|linezolid|zyvox|tedizolid|clindamycin|cleocin|azithromycin|zithromax|erythromycin'
      || '|erythrocin|clarithromycin|biaxin|doxycycl|minocycl|tetracycl|tigecycl|eravacycl|omadacycl|metronidazole|flagyl'
      || '|sulfamethoxazole|trimethoprim|bactrim|septra|smz-tmp|sulfadiazine|nitrofurantoin|macrobid|macrodantin'
      || '|fosfomycin|monurol|rifamp|rifadin|chloramphenicol|colisti|polymyxin|quinupristin|synercid'
      || '|zosyn|unasyn|augmentin|timentin|ancef|keflex|rocephin|maxipime|zinacef|fortaz', 'i')
  and not regexp_matches(drug, 'cream|\bgel\b|ointment|ophth|\botic|\beye|\bear\b|desensiti|lock|irrigat', 'i')
  -- by mouth these stay in the gut
  and not (regexp_matches(drug, 'vancomycin|vancocin', 'i') and not regexp_matches(route, '^iv', 'i'));

-- When comfort care was charted or ordered.
create or replace temp macro comfort_care() as table
select subject_id, charttime as since
from icu.chartevents
where itemid in (223758, 228687, 229784) and regexp_matches(value, 'comfort', 'i')
union all
select o.subject_id, o.ordertime
from hosp.poe_detail d
join hosp.poe o using (subject_id, poe_id)
where regexp_matches(concat_ws(' ', d.field_name, d.field_value), 'comfort (measures|care)', 'i');

-- Patients with a code of end-stage renal disease or of dependence on dialysis in any admission.
create or replace temp macro maintenance_dialysis() as table
select distinct subject_id
from hosp.diagnoses_icd
where (icd_version = 10 and icd_code in ('N186', 'Z992'))
   or (icd_version = 9 and (icd_code = '5856' or icd_code like 'V451%'));

-- Dialysis procedures, intermittent and continuous (those of mimic-code's rrt concept), and peritoneal.
create or replace temp macro dialyses() as table
select subject_id, stay_id, starttime, endtime, itemid
from icu.procedureevents
where itemid in (225441, 225802, 225803, 225805, 225809, 225955)
  and coalesce(statusdescription, '') <> 'Rewritten';

-- Stretches of invasive ventilation: the rows of 225792, joined where an hour or less lies between them. In a stay
-- without such a row they follow from what was charted, as in mimic-code's concept of ventilation: from a row that
-- names an endotracheal tube (226732) or a mode of invasive ventilation (223849; 229314 of Hamilton ventilators) to
-- the next row that names another device or a mode for masks; rows of one stretch lie less than 14 hours apart.
create or replace temp macro invasive_ventilation() as table
with
recorded as (
    select subject_id, hadm_id, stay_id, starttime as begins, endtime as ends
    from icu.procedureevents
    where itemid = 225792 and endtime > starttime and coalesce(statusdescription, '') <> 'Rewritten'
),
joined as (
    select *, sum(apart) over (partition by stay_id order by begins, ends) as number
    from (
        select
            *,
            case
                when begins <= max(ends) over (
                    partition by stay_id order by begins, ends rows between unbounded preceding and 1 preceding)
                    + interval 1 hour then 0
                else 1
            end as apart
        from recorded
    )
),
spoken as (
    select
        subject_id, hadm_id, stay_id, charttime,
        case
            when itemid = 226732 then trim(value) = 'Endotracheal tube'
            when trim(value) in (
                '(S) CMV', 'APRV', 'APRV/Biphasic+ApnPress', 'APRV/Biphasic+ApnVol', 'APV (cmv)', 'Ambient',
                'Apnea Ventilation', 'CMV', 'CMV/ASSIST', 'CMV/ASSIST/AutoFlow', 'CMV/AutoFlow', 'CPAP/PPS',
                'CPAP/PSV+Apn TCPL', 'CPAP/PSV+ApnPres', 'CPAP/PSV+ApnVol', 'MMV', 'MMV/AutoFlow', 'MMV/PSV',
                'MMV/PSV/AutoFlow', 'P-CMV', 'PCV+', 'PCV+/PSV', 'PCV+Assist', 'PRES/AC', 'PRVC/AC', 'PRVC/SIMV',
                'PSV/SBT', 'SIMV', 'SIMV/AutoFlow', 'SIMV/PRES', 'SIMV/PSV', 'SIMV/PSV/AutoFlow', 'SIMV/VOL',
                'SYNCHRON MASTER', 'SYNCHRON SLAVE', 'VOL/AC', 'APV (simv)', 'P-SIMV', 'VS', 'ASV') then true
            when trim(value) in ('DuoPaP', 'NIV', 'NIV-ST') then false
        end as invasive
    from icu.chartevents
    where itemid in (226732, 223849, 229314) and stay_id not in (select stay_id from recorded)
),
noted as (
    select subject_id, hadm_id, stay_id, charttime, bool_or(invasive) as invasive
    from spoken
    where invasive is not null
    group by subject_id, hadm_id, stay_id, charttime
),
turned as (
    select
        *, lag(invasive) over w as was_invasive, lag(charttime) over w as before, lead(charttime) over w as after
    from noted
    window w as (partition by stay_id order by charttime)
),
charted as (
    select
        *,
        sum(case when was_invasive and charttime < before + interval 14 hour then 0 else 1 end)
            over (partition by stay_id order by charttime) as number
    from turned
    where invasive
)
select subject_id, hadm_id, stay_id, min(begins) as begins, max(ends) as ends
from joined
group by subject_id, hadm_id, stay_id, number
union all
select
    subject_id, hadm_id, stay_id, min(charttime),
    max(case when after < charttime + interval 14 hour then after else charttime end)
from charted
group by subject_id, hadm_id, stay_id, number
having min(charttime) < max(charttime);

-- Stretches of dialysis: procedures at the bedside, coded procedures (their day), and, from the admission on that has
-- the code, dependence on dialysis or end-stage kidney disease, which does not end.
create or replace temp macro on_dialysis() as table
select subject_id, starttime as since, coalesce(endtime, starttime) as until
from icu.procedureevents
where itemid in (225441, 225802, 225803, 225805, 225809, 225955)
  and coalesce(statusdescription, '') <> 'Rewritten'
union all
select subject_id, chartdate::timestamp, chartdate::timestamp + interval 1 day
from hosp.procedures_icd
where (icd_version = 9 and icd_code in ('3995', '5498')) or (icd_version = 10 and icd_code like '5A1D%')
union all
select d.subject_id, a.admittime, timestamp '9999-01-01'
from hosp.diagnoses_icd d
join hosp.admissions a using (subject_id, hadm_id)
where (d.icd_version = 9 and (d.icd_code in ('5856', 'V4511', 'V4512') or d.icd_code like 'V56%'))
   or (d.icd_version = 10 and (d.icd_code in ('N186', 'Z9115', 'Z992') or d.icd_code like 'Z49%'));
