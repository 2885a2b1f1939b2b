-- Admissions of adults with heart failure among the first three codes, discharged alive and not to hospice. T is the
-- discharge.
--
-- Correction: a store without any discharge summary gives no case. There the absence of a summary is the store's and
-- not the chart's, and no search could show it.
--
-- Correction: admissions of which every ejection fraction lies above 40 % are left out when their notes are read for
-- the verdict. The catalogue leaves them out when the candidates are chosen; the cases are the same.
select
    v.subject_id,
    v.hadm_id,
    cast(null as bigint) as stay_id,
    v.dischtime as index_time,
    v.dischtime + interval 30 day as as_of,
    cast(null as bigint) as sealed_hadm_id,
    a.eid as index_eid,
    '{}' as params
from adult_admissions() v
join hosp.admissions a using (hadm_id)
where exists (select 1 from note.discharge)
  and v.deathtime is null
  and coalesce(a.hospital_expire_flag, 0) = 0
  and not regexp_matches(coalesce(v.discharge_location, ''), 'hospice|died|expired', 'i')
  and exists (
      select 1 from hosp.diagnoses_icd d
      where d.hadm_id = v.hadm_id and d.seq_num <= 3
        and regexp_matches(trim(d.icd_code), case d.icd_version when 9 then '^428' else '^I50' end))
order by v.subject_id, v.dischtime, v.hadm_id
