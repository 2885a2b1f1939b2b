-- Which rows satisfy which requirement. A specimen has many rows (one for each organism and antibiotic, Gram stains);
-- any of them shows its collection, one that names the organism shows the growth.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_eid, k.as_of, a.rule, a.opens, a.closes, a.specimens,
        k.index_time as t
    from task k
    join adjudicated a using (task_id)
),
specimen as (
    select task_id, unnest(x.eids) as eid, x.moment as moment, x.place as place, x.grew as grew
    from (select task_id, unnest(specimens) as x from span)
),
index_culture as (
    select i.task_id, m.eid
    from span s
    join hosp.microbiologyevents i on i.task_id = s.task_id and i.eid = s.index_eid
    join hosp.microbiologyevents m
        on m.task_id = i.task_id and m.micro_specimen_id = i.micro_specimen_id
        and regexp_matches(m.org_name, '^staph aureus', 'i')
),
here as (  -- rows that place the patient in the hospital when the window closed
    select s.task_id, x.eid
    from span s
    join hosp.transfers x using (task_id)
    where x.hadm_id = s.hadm_id and x.eventtype <> 'discharge'
      and x.intime <= s.closes and coalesce(x.outtime, s.as_of) >= s.closes
    union
    select s.task_id, x.eid
    from span s
    join hosp.transfers x using (task_id)
    where x.hadm_id = s.hadm_id and x.eventtype = 'discharge' and x.intime >= s.closes
    union
    select s.task_id, i.eid
    from span s
    join icu.icustays i using (task_id)
    where i.intime <= s.closes and coalesce(i.outtime, s.as_of) >= s.closes
    union
    select s.task_id, a.eid
    from span s
    join hosp.admissions a on a.task_id = s.task_id and a.hadm_id = s.hadm_id
),
gone as (
    select s.task_id, a.eid
    from span s
    join hosp.admissions a on a.task_id = s.task_id and a.hadm_id = s.hadm_id
    union
    select s.task_id, x.eid
    from span s
    join hosp.transfers x using (task_id)
    where x.hadm_id = s.hadm_id and x.eventtype = 'discharge' and x.intime < s.closes
),
other_culture as (  -- of other sites, in the days around: worth showing
    select m.task_id, m.eid
    from hosp.microbiologyevents m
    join span s using (task_id)
    where coalesce(m.charttime, m.chartdate) between s.t - interval 1 day and s.closes + interval 10 day
),
found as (
    select task_id, 'index_culture' as requirement, eid, 'sufficient' as role from index_culture
    union all
    select task_id, 'follow_up_culture', eid, 'sufficient' from specimen where place = 'follow_up'
    union all
    select task_id, 'no_follow_up', eid, 'qualifying' from specimen where place = 'follow_up'
    union all
    select p.task_id, 'no_follow_up', p.eid, 'qualifying'
    from specimen p
    join span s using (task_id)
    where p.place = 'early' and s.rule = 'not_repeated'
    union all
    select task_id, unnest(['index_culture', 'follow_up_culture', 'no_follow_up', 'early_culture']), eid, 'relevant'
    from other_culture
    union all
    select task_id, 'presence', eid, 'sufficient' from here
    union all
    select task_id, 'departure', eid, 'sufficient' from gone
    union all
    select task_id, 'undated_culture', eid, 'sufficient' from specimen where place = 'undated'
    union all
    select task_id, 'early_culture', eid, 'sufficient' from specimen where place = 'early'
)
select distinct task_id, requirement, eid as alternative, eid, role
from found
order by task_id, requirement, role, eid
