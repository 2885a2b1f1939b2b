-- Admissions of adults with an order of an antibacterial that works in the whole body. T is the admission.
--
-- Correction: a store without any discharge summary gives no case. There the absence of an allergy list is the store's
-- and not the chart's, and no search could show it.
select
    v.subject_id,
    v.hadm_id,
    cast(null as bigint) as stay_id,
    v.admittime as index_time,
    v.dischtime + interval 30 day as as_of,
    cast(null as bigint) as sealed_hadm_id,
    a.eid as index_eid,
    '{}' as params
from adult_admissions() v
join hosp.admissions a using (hadm_id)
where exists (select 1 from note.discharge)
  and exists (
      select 1 from hosp.prescriptions p
      where p.hadm_id = v.hadm_id and p.drug_type = 'MAIN'
        and regexp_matches(
            p.drug,
            'cillin|augmentin|unasyn|zosyn|\bcef|\bceph|keflex|ancef|rocephin|sulfameth|bactrim|septra|floxacin|levaquin|thromycin|vancomycin|penem|aztreonam|metronidazole|flagyl|linezolid|daptomycin|clindamycin|doxycycline|minocycline|tigecycline|gentamicin|tobramycin|amikacin|nitrofurantoin',
            'i')
        and not regexp_matches(
            concat_ws(' ', p.drug, p.route),
            'ophth|otic\b|\b(eyes?|ears?)\b|oint|cream|topical|\bgel\b|\btp\b|inhal|\bih\b|\bneb|irrig|\block\b|dwell|desensiti|enema|\bpr\b|vancomycin oral',
            'i'))
order by v.subject_id, v.admittime, v.hadm_id
