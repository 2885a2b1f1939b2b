-- The first ECG of an adult admission whose QT is long by Bazett, or which cannot be measured, in a patient with an
-- order of a listed drug. T is the time of the ECG.
--
-- Correction: the catalogue takes any ECG from the admission on. One that is recorded in the emergency department
-- is left out, where drugs are dispensed from a cabinet and often not charted. So is one that cannot be measured if
-- another within six hours can, since the question has its answer there.
--
-- Correction: the catalogue's fallback for stores without the ECG module (the charted QTc as index) is not built:
-- the question is about an ECG, and the open demo, which has no such module, charted a QTc in four stays only.
with
tracing as (
    select
        subject_id, eid, study_id, ecg_time, rr_interval as rr, t_end - qrs_onset as qt,
        coalesce(
            rr_interval between 0 and 5000 and qrs_onset between 0 and 5000
            and qrs_end between 0 and 5000 and t_end between 0 and 5000
            and rr_interval between 300 and 2000
            and t_end - qrs_onset between 200 and 800
            and qrs_end > qrs_onset, false) as usable
    from ecg.machine_measurements
),
candidate as (
    select e.*, a.hadm_id
    from tracing e
    join adult_admissions() a
        on a.subject_id = e.subject_id
        and e.ecg_time between a.admittime and a.dischtime - interval 24 hour
    where (not e.usable or e.qt / sqrt(e.rr / 1000) >= 480)
      and (e.usable or not exists (
          select 1 from tracing o
          where o.subject_id = e.subject_id and o.usable
            and o.ecg_time between e.ecg_time - interval 6 hour and e.ecg_time + interval 6 hour))
),
in_emergency as (
    select c.study_id
    from candidate c
    join hosp.transfers x on x.subject_id = c.subject_id
    where (x.eventtype = 'ED' or regexp_matches(x.careunit, '^emergency department', 'i'))
      and c.ecg_time >= x.intime and c.ecg_time < x.outtime
    union
    select c.study_id
    from candidate c
    join ed.edstays x on x.subject_id = c.subject_id
    where c.ecg_time >= x.intime and c.ecg_time < x.outtime
      and not exists (
          select 1 from hosp.transfers m
          where m.subject_id = c.subject_id and m.hadm_id = c.hadm_id
            and m.intime <= c.ecg_time and m.eventtype in ('admit', 'transfer'))
),
ordered as (
    select p.subject_id, p.starttime, coalesce(p.stoptime, p.starttime) as stoptime
    from hosp.prescriptions p
    where regexp_matches(
        p.drug,
        'amiodarone|sotalol|dofetilide|ibutilide|procainamide|quinidine|dronedarone|haloperidol|chlorpromazine|droperidol'
        || '|methadone|citalopram|donepezil|ondansetron|azithromycin|clarithromycin|erythromycin|levofloxacin|moxifloxacin'
        || '|ciprofloxacin|fluconazole|hydroxychloroquine|pentamidine', 'i')
      and not regexp_matches(p.drug, 'ophth|\botic\b|topical', 'i')
      and not regexp_matches(
          coalesce(p.route, ''), '\b(eyes?|ears?|ophth\w*|otic|topical|tp|ou|od|os|au|ad|as)\b', 'i')
),
eligible as (
    select c.*
    from candidate c
    where c.study_id not in (select study_id from in_emergency)
      and exists (
          select 1 from ordered o
          where o.subject_id = c.subject_id
            and o.starttime <= c.ecg_time + interval 24 hour and o.stoptime >= c.ecg_time)
    qualify row_number() over (partition by c.subject_id order by c.ecg_time, c.study_id) = 1
)
select
    e.subject_id,
    e.hadm_id,
    s.stay_id,
    e.ecg_time as index_time,
    e.ecg_time + interval 24 hour as as_of,
    e.hadm_id as sealed_hadm_id,
    e.eid as index_eid,
    '{}' as params
from eligible e
left join icu.icustays s
    on s.subject_id = e.subject_id and s.hadm_id = e.hadm_id
    and e.ecg_time >= s.intime and e.ecg_time < s.outtime
qualify row_number() over (partition by e.subject_id order by s.intime) = 1
order by e.subject_id
