-- T = the discharge. Codes are those of the index admission and of admissions that ended before it; text is that of
-- the index admission's own summary and addenda. `points` leaves the sex out: the threshold for women is one higher
-- and their sex gives one point, so that 2 points beside it reach either threshold (param women_threshold = 3).
--
-- Correction: an anticoagulant that the list marks as held or stopped is not therapy at discharge but a documented
-- decision; one that the list makes wait for something ("hold until INR < 3") is too close to call.
--
-- Correction: words in a list of medications are not reasons: 150 characters of a list join drugs that have nothing to
-- do with each other. A reason counts where it stands in one sentence with the drug and is not denied. Where only the
-- catalogue's 150 characters find one, across sentences or in a denial, the case is too close to call, either way.
--
-- Correction: "deferred", "not started" and "not resumed" beside the drug are decisions like "declined".
--
-- For review: a reason within 150 characters of the drug and in one sentence with it, the words that are one, and the
-- codes that stand for each factor of the score are ours; the guidelines name diseases, not codes or words.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_time as t, k.index_eid,
        cast(k.params ->> '$.women_threshold' as integer) as women_threshold,
        a.admittime as admitted,
        p.gender,
        p.anchor_age + year(a.admittime) - p.anchor_year as age
    from task k
    join hosp.admissions a on a.task_id = k.task_id and a.hadm_id = k.hadm_id
    join hosp.patients p on p.task_id = k.task_id
),
coded as (
    select s.task_id, d.eid, d.hadm_id, trim(d.icd_code) as code, d.icd_version as version
    from span s
    join hosp.diagnoses_icd d using (task_id)
    join hosp.admissions a on a.task_id = d.task_id and a.hadm_id = d.hadm_id
    where d.hadm_id = s.hadm_id or a.dischtime < s.t
),
fibrillation as (
    select c.task_id, c.eid
    from coded c
    join span s using (task_id, hadm_id)
    where case c.version
        when 9 then regexp_matches(c.code, '^4273[12]$')
        when 10 then regexp_matches(c.code, '^I48')
    end
),
factor as (
    select task_id, eid, name, case name when 'stroke' then 2 else 1 end as points
    from (
        select
            task_id, eid,
            case version
                when 9 then case
                    when regexp_matches(code, '^428') then 'heart failure'
                    when regexp_matches(code, '^40[1-5]') then 'hypertension'
                    when regexp_matches(code, '^(249|250)') then 'diabetes'
                    when regexp_matches(code, '^(43[34]\d1|435|444|V1254)') then 'stroke'
                    when regexp_matches(code, '^(410|412|440|4439)') then 'vascular disease'
                end
                when 10 then case
                    when regexp_matches(code, '^I50') then 'heart failure'
                    when regexp_matches(code, '^I1[0-5]') then 'hypertension'
                    when regexp_matches(code, '^(E0[89]|E1[0-3])') then 'diabetes'
                    when regexp_matches(code, '^(I63|G45|I74|Z8673)') then 'stroke'
                    when regexp_matches(code, '^(I21|I22|I252|I70|I739)') then 'vascular disease'
                end
            end as name
        from coded
    )
    where name is not null
),
score as (
    select
        s.*,
        case when s.age >= 75 then 2 when s.age >= 65 then 1 else 0 end as by_age,
        coalesce(
            (select sum(points)
             from (select distinct name, points from factor f where f.task_id = s.task_id)), 0)::integer as by_codes
    from span s
),
drug as (  -- anticoagulants in the list
    select task_id, eid, item, what
    from discharge_items()
    where regexp_matches(
        item, 'warfarin|coumadin|jantoven|apixaban|eliquis|rivaroxaban|xarelto|dabigatran|pradaxa|edoxaban|savaysa', 'i')
),
listed as (select distinct task_id, eid from discharge_items()),
spoken as (
    select
        task_id, eid,
        near(text,
            'warfarin|coumadin|jantoven|apixaban|eliquis|rivaroxaban|xarelto|dabigatran|pradaxa|edoxaban|savaysa|anticoag|a/c\b|\b[nd]oacs?\b',
            '\bh[eo]ld|stopp|discontinu|not (?:an? )?(?:\w+ )?candidate|contraindic|bleed|ha?emorrhag|fall risk|risk (?:of|for) falls?|declin|refus|watchman|appendage|defer|not (?:be )?(?:re)?(?:start|initiat|resum)|off of|\boff\b',
            150) as wide,
        near_in_sentence(text,
            'warfarin|coumadin|jantoven|apixaban|eliquis|rivaroxaban|xarelto|dabigatran|pradaxa|edoxaban|savaysa|anticoag|a/c\b|\b[nd]oacs?\b',
            '\bh[eo]ld|stopp|discontinu|not (?:an? )?(?:\w+ )?candidate|contraindic|bleed|ha?emorrhag|fall risk|risk (?:of|for) falls?|declin|refus|watchman|appendage|defer|not (?:be )?(?:re)?(?:start|initiat|resum)',
            150) as strict
    from discharge_prose()
),
finding as (
    select
        s.*,
        s.by_age + s.by_codes as points,
        s.by_age + s.by_codes + (s.gender = 'F')::integer
            >= case when s.gender = 'F' then s.women_threshold else 2 end as high,
        exists (select 1 from spoken n where n.task_id = s.task_id) as summarised,
        exists (select 1 from listed l where l.task_id = s.task_id) as listed,
        exists (select 1 from drug d where d.task_id = s.task_id and d.what = 'taken') as taken,
        exists (select 1 from drug d where d.task_id = s.task_id and d.what = 'held') as held,
        exists (select 1 from drug d where d.task_id = s.task_id and d.what = 'conditional') as conditional,
        exists (select 1 from spoken n where n.task_id = s.task_id and n.wide) as reason_wide,
        exists (select 1 from spoken n where n.task_id = s.task_id and n.strict) as reason_strict
    from score s
),
ruled as (
    select
        *,
        case
            when not summarised then 'no_summary'
            when not listed then 'no_list'
            when not high and not taken then 'optional'
            when not high then 'given_below_threshold'
            when taken then 'anticoagulated'
            when held or reason_strict or reason_wide then 'documented_reason'
            else 'not_anticoagulated'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule in ('no_summary', 'no_list') then 'lack_of_data'
        when r.rule in ('optional', 'documented_reason', 'given_below_threshold') then 'medical_ambiguity'
        when r.rule = 'anticoagulated' then 'yes'
        else 'no'
    end as verdict,
    r.rule,
    r.rule <> 'given_below_threshold'
        and (r.taken or not r.conditional or not r.listed)
        and (r.rule <> 'documented_reason' or r.held or r.reason_strict) as eligible,
    r.admitted,
    r.points + (r.gender = 'F')::integer as score,
    -- what codes must show for the score to reach the threshold, or all they can where it does not
    case
        when r.rule = 'optional' then least(r.by_codes, 1)
        else (case when r.gender = 'F' then r.women_threshold - 1 else 2 end) - r.by_age
    end as due,
    (select list(f.eid order by f.eid) from fibrillation f where f.task_id = r.task_id) as fibrillation,
    (select list({eid: f.eid, name: f.name, points: f.points} order by f.name, f.eid)
     from factor f where f.task_id = r.task_id) as factors,
    (select list(l.eid) from listed l where l.task_id = r.task_id) as lists,
    (select list(n.eid order by n.eid) from spoken n where n.task_id = r.task_id) as summaries,
    (select list(x.eid order by x.eid)
     from (select n.eid from spoken n where n.task_id = r.task_id and n.strict
           union
           select d.eid from drug d where d.task_id = r.task_id and d.what = 'held') x) as reasons
from ruled r
order by r.task_id
