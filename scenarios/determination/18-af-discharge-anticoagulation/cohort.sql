-- Admissions of adults with atrial fibrillation or flutter coded, discharged alive and not to hospice, with at least
-- one point of CHA2DS2-VASc beside that of the sex. T is the discharge. A mechanical valve or a mitral stenosis coded
-- until then takes an admission out.
--
-- Correction: a store without any discharge summary gives no case. There the absence of a summary is the store's and
-- not the chart's, and no search could show it.
--
-- Correction: admissions with an anticoagulant below the threshold are left out when the summary is read for the
-- verdict. The catalogue leaves them out when the candidates are chosen; the cases are the same.
--
-- Correction: rheumatic heart failure (398.91) and hypertensive heart disease without a code of heart failure score
-- as the catalogue's codes have it; a history of stroke or TIA also counts in ICD-9 (V12.54), as Z86.73 does in
-- ICD-10, and secondary diabetes in ICD-9 (249.x), as E08 and E09 do.
with
coded as (
    select
        d.subject_id, d.hadm_id, a.dischtime, trim(d.icd_code) as code, d.icd_version as version
    from hosp.diagnoses_icd d
    join hosp.admissions a using (hadm_id)
),
index_admission as (
    select v.subject_id, v.hadm_id, v.dischtime, v.age, a.eid
    from adult_admissions() v
    join hosp.admissions a using (hadm_id)
    where v.deathtime is null
      and coalesce(a.hospital_expire_flag, 0) = 0
      and not regexp_matches(coalesce(v.discharge_location, ''), 'hospice|died|expired', 'i')
      and exists (
          select 1 from coded c
          where c.hadm_id = v.hadm_id
            and case c.version
                when 9 then regexp_matches(c.code, '^4273[12]$')
                when 10 then regexp_matches(c.code, '^I48')
            end)
)
select
    i.subject_id,
    i.hadm_id,
    cast(null as bigint) as stay_id,
    i.dischtime as index_time,
    i.dischtime + interval 30 day as as_of,
    cast(null as bigint) as sealed_hadm_id,
    i.eid as index_eid,
    '{}' as params
from index_admission i
where exists (select 1 from note.discharge)
  and not exists (
      select 1 from coded c
      where c.subject_id = i.subject_id and c.dischtime <= i.dischtime
        and case c.version
            when 9 then regexp_matches(c.code, '^(V433|394[02])$')
            when 10 then regexp_matches(c.code, '^(Z952|I05[02])$')
        end)
  and (i.age >= 65
      or exists (
          select 1 from coded c
          where c.subject_id = i.subject_id and c.dischtime <= i.dischtime
            and case c.version
                when 9 then regexp_matches(
                    c.code, '^(428|40[1-5]|249|250|433\d1|434\d1|435|444|V1254|410|412|440|4439)')
                when 10 then regexp_matches(
                    c.code, '^(I50|I1[0-5]|E0[89]|E1[0-3]|I63|G45|I74|Z8673|I21|I22|I252|I70|I739)')
            end))
order by i.subject_id, i.dischtime, i.hadm_id
