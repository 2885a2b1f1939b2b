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

-- Laboratory results of these items that are a number, as adjudication.sql has them.
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
group by subject_id, itemid, charttime;

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

-- Dialysis procedures, intermittent and continuous (those of mimic-code's rrt concept), and peritoneal.
create or replace temp macro dialyses() as table
select subject_id, stay_id, starttime, endtime, itemid
from icu.procedureevents
where itemid in (225441, 225802, 225803, 225805, 225809, 225955)
  and coalesce(statusdescription, '') <> 'Rewritten';
