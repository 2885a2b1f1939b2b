-- T = the collection of the first blood culture that grew S. aureus. The window opens 48 hours and closes 96 hours after
-- T. F2 = a blood culture specimen collected in it; F1 = one collected from 24 hours after T until it opens; D = one
-- without a time of collection whose day overlaps the window. Rules are tried in order; rows not available by as_of are
-- not in these tables.
--
-- Correction: the catalogue says nothing of a specimen with a date and no time that may have been collected from 24 to
-- less than 48 hours after T, but not from 48 to 96. Whether it was decides between ambiguous and NO, so that such
-- cases are left out.
--
-- Correction: follow-up cultures that a patient had after leaving, within the window, are follow-up all the same; they
-- count by the time of collection, whatever admission stands beside them.
--
-- Correction: specimens for an autopsy and of newborns are no follow-up, nor are fluids in blood culture bottles and stem
-- cells, which the catalogue's pattern takes in: the type must begin with the words. A bottle for fungi and mycobacteria
-- is a blood culture and counts; the catalogue lets it count where it is the only repeat, which comes to the same unless
-- an ordinary one was collected too early.
--
-- Correction: the catalogue asks for a test of growth. A Gram stain alone shows a specimen too, for a bottle is stained
-- once something grows in it. A specimen is cancelled only if all its tests are: what is left of it was collected.
--
-- For review: reading two to four days as 48 to 96 hours, 24 hours for the first evaluation, and 30 days without the
-- organism before T are ours; the guideline names days only.
with
span as (
    select
        task_id, hadm_id, index_eid, as_of,
        index_time as t,
        index_time + interval 24 hour as day_one,
        case
            when params ->> '$.days' = 'calendar' then date_trunc('day', index_time) + interval 2 day
            else index_time + interval 48 hour
        end as opens,
        case
            when params ->> '$.days' = 'calendar' then date_trunc('day', index_time) + interval 5 day - interval 1 second
            else index_time + interval 96 hour
        end as closes
    from task
),
specimen as (
    select
        m.task_id, m.micro_specimen_id, min(m.charttime) as collected, min(m.chartdate) as day,
        list(m.eid order by m.eid) filter (coalesce(m.org_itemid, 0) <> 90760) as eids,
        bool_and(coalesce(m.org_itemid, 0) = 90760) as cancelled,
        coalesce(bool_or(regexp_matches(m.org_name, '^staph aureus', 'i')), false) as grew
    from hosp.microbiologyevents m
    where regexp_matches(m.spec_type_desc, '^blood culture', 'i')
      and not regexp_matches(m.spec_type_desc, 'post-mortem|neonat', 'i')
    group by m.task_id, m.micro_specimen_id
),
placed as (
    select
        p.task_id, p.micro_specimen_id, p.collected, p.eids, p.grew,
        case
            when p.cancelled then 'cancelled'
            when p.collected between s.opens and s.closes then 'follow_up'
            when p.collected >= s.day_one and p.collected < s.opens then 'early'
            when p.collected is not null then 'other'
            when p.day <= s.closes and p.day + interval 1 day > s.opens then 'undated'
            when p.day < s.opens and p.day + interval 1 day > s.day_one then 'undated_early'
            else 'other'
        end as place
    from specimen p
    join span s using (task_id)
),
present as (
    select
        s.task_id,
        least(a.dischtime, coalesce(a.deathtime, a.dischtime)) >= s.closes as to_the_end
    from span s
    join hosp.admissions a on a.task_id = s.task_id and a.hadm_id = s.hadm_id
),
finding as (
    select
        s.task_id, s.opens, s.closes, s.day_one,
        coalesce(bool_or(p.place = 'follow_up'), false) as follow_up,
        coalesce(bool_or(p.place = 'early'), false) as early,
        coalesce(bool_or(p.place = 'undated'), false) as undated,
        coalesce(bool_or(p.place = 'undated_early'), false) as undated_early,
        coalesce(bool_or(h.to_the_end), false) as to_the_end
    from span s
    left join placed p using (task_id)
    left join present h using (task_id)
    group by s.task_id, s.opens, s.closes, s.day_one
),
ruled as (
    select
        *,
        case
            when follow_up then 'followed_up'
            when undated then 'undated'
            when not to_the_end then 'departed'
            when early then 'early_repeat'
            else 'not_repeated'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule = 'followed_up' then 'yes'
        when r.rule in ('undated', 'departed') then 'lack_of_data'
        when r.rule = 'early_repeat' then 'medical_ambiguity'
        else 'no'
    end as verdict,
    r.rule,
    r.rule <> 'not_repeated' or not r.undated_early as eligible,
    r.opens,
    r.closes,
    case when r.rule = 'not_repeated' then r.day_one else r.opens end as search_from,
    (select list({eids: p.eids, moment: p.collected, place: p.place, grew: p.grew} order by p.collected, p.micro_specimen_id)
     from placed p where p.task_id = r.task_id) as specimens
from ruled r
order by r.task_id
