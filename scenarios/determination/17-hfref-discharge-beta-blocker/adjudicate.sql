-- T = the discharge. E, the ejection fractions: those of the index admission's summary and addenda, else those of the
-- last note of the year before T that has any (radiology report or an earlier discharge summary).
--
-- Correction: the pattern does not reach across a full stop ("EF pending. Sat 95%" is none), takes "45%-50%" as a
-- range, and passes over the right ventricle.
--
-- Correction: "toprol" needs a word boundary, for it stands in every "metoprolol", and so do "xl" and "er", or
-- "metoprolol tartrate ... after" would count. Extended or sustained release written out counts as XL and ER do.
--
-- Correction: values on both sides of 40 % are a conflict only if neither is marked as an older one ("previously",
-- "prior", "from", a date after it). Where one is, the present value would decide for a clinician: such a case is not
-- sampled. Neither is one whose last earlier note is at odds with itself.
--
-- Correction: metoprolol without its salt or release is neither the one drug nor the other; if nothing else decides,
-- the case is not sampled.
--
-- Correction: an item that the list marks as held or stopped is not therapy at discharge but a documented decision;
-- one that the list makes wait for something is too close to call.
--
-- Correction: words in a list of medications are not reasons: 120 characters of a list join drugs that have nothing to
-- do with each other. A reason counts where it stands in one sentence with the drug and is not denied. Where only the
-- catalogue's 120 characters find one, the case is too close to call. "Declined" counts like "refused", and "not
-- initiated" and "not resumed" like "not started".
--
-- For review: a year for an earlier ejection fraction, heart failure among the first three codes, a reason within 120
-- characters of the drug and in one sentence with it, and the words that are one are ours; no source gives them.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_time as t, k.index_eid,
        cast(k.params ->> '$.highest_fraction' as double) as highest,
        cast(k.params ->> '$.nebivolol' as boolean) as nebivolol_counts,
        a.admittime as admitted
    from task k
    join hosp.admissions a on a.task_id = k.task_id and a.hadm_id = k.hadm_id
),
failure as (
    select d.task_id, d.eid
    from hosp.diagnoses_icd d
    join span s using (task_id, hadm_id)
    where regexp_matches(trim(d.icd_code), case d.icd_version when 9 then '^428' else '^I50' end)
),
note as (
    select
        n.task_id, n.eid, true as own, n.charttime as moment, n.text
    from note.discharge n
    join span s using (task_id, hadm_id)
    union all
    select n.task_id, n.eid, false, n.charttime, n.text
    from note.discharge n
    join span s using (task_id)
    where n.hadm_id is distinct from s.hadm_id
      and n.charttime >= s.t - interval 365 day and n.charttime < s.admitted
    union all
    select n.task_id, n.eid, false, n.charttime, n.text
    from note.radiology n
    join span s using (task_id)
    where n.charttime >= s.t - interval 365 day and n.charttime <= s.t
),
running as (
    select
        task_id, eid, own, moment,
        regexp_replace(
            regexp_replace(text, '\s+', ' ', 'g'),
            '(right ventric\w+|\brv|\br\.v\.) (ejection fraction|ef)\b', ' ', 'gi') as text
    from note
),
marked as (  -- the same without values that are marked as older ones
    select
        *,
        regexp_replace(
            regexp_replace(
                text,
                '(?i)\b(?:prior|previous(?:ly)?|prev|last|earlier|former(?:ly)?|history of|hx of|h/o|baseline|from|in ___)\b[^.;%]{0,40}?(?:\blvef\b|ejection fraction|\bef\b)(?:[^0-9%.;]|est\.|approx\.){0,30}?\d{1,2}\s*%?\s*(?:(?:-|–|to)\s*\d{1,2})?\s*%',
                ' ', 'g'),
            '(?i)(?:\blvef\b|ejection fraction|\bef\b)(?:[^0-9%.;]|est\.|approx\.){0,30}?\d{1,2}\s*%?\s*(?:(?:-|–|to)\s*\d{1,2})?\s*%[^.;]{0,20}(?:___|\bprior|\bprevious|\bago\b|\blast\b|\bearlier\b)',
            ' ', 'g') as present
    from running
),
written as (
    select task_id, eid, own, moment, true as older, unnest(regexp_extract_all(
        text,
        '(?i)(?:\blvef\b|ejection fraction|\bef\b)(?:[^0-9%.;]|est\.|approx\.){0,30}?\d{1,2}\s*%?\s*(?:(?:-|–|to)\s*\d{1,2})?\s*%'
    )) as words
    from marked
    union all
    select task_id, eid, own, moment, false, unnest(regexp_extract_all(
        present,
        '(?i)(?:\blvef\b|ejection fraction|\bef\b)(?:[^0-9%.;]|est\.|approx\.){0,30}?\d{1,2}\s*%?\s*(?:(?:-|–|to)\s*\d{1,2})?\s*%'
    ))
    from marked
),
fraction as (  -- a range counts as its midpoint; `older` rows are all values, the others those not marked as older
    select
        task_id, eid, own, moment, older,
        (cast(regexp_extract(words, '(\d{1,2})[^0-9]*(?:\d{1,2})?\s*%$', 1) as double)
            + cast(regexp_extract(words, '(\d{1,2})\s*%$', 1) as double)) / 2 as value
    from written
),
counted as (
    select f.*
    from fraction f
    where f.own
    union all
    select f.*
    from fraction f
    join (
        select task_id, arg_max(eid, (moment, eid)) as eid
        from fraction
        where task_id not in (select task_id from fraction where own)
        group by task_id
    ) l using (task_id, eid)
),
summed as (
    select
        c.task_id,
        bool_or(c.own) as own,
        bool_or(c.value <= s.highest) filter (c.older) as low,
        bool_or(c.value > s.highest) filter (c.older) as high,
        coalesce(bool_or(c.value <= s.highest) filter (not c.older), false)
            and coalesce(bool_or(c.value > s.highest) filter (not c.older), false) as at_odds,
        list(distinct c.eid order by c.eid) filter (c.value <= s.highest) as low_notes,
        list(distinct c.eid order by c.eid) filter (c.value > s.highest) as high_notes
    from counted c
    join span s using (task_id)
    group by c.task_id
),
listed as (select distinct task_id, eid from discharge_items()),
item as (
    select
        d.task_id, d.eid, d.what,
        regexp_matches(
            d.item,
            'bisoprolol|zebeta|carvedilol|coreg|metoprolol succ|\btoprol|metoprolol.{0,20}\b(xl|er)\b|metoprolol.{0,60}(extended|sustained)[- ]release',
            'i')
            or (s.nebivolol_counts and regexp_matches(d.item, 'nebivolol|bystolic', 'i')) as recommended,
        regexp_matches(d.item, 'metoprolol', 'i')
            and not regexp_matches(d.item, 'tartrate|lopressor', 'i') as unspecified,
        regexp_matches(
            d.item,
            'beta[- ]?blocker|\w+olol\b|carvedilol|coreg|toprol|lopressor|zebeta|bystolic', 'i') as of_class
    from discharge_items() d
    join span s using (task_id)
),
spoken as (
    select
        task_id, eid,
        near(text,
            'beta[- ]?block|\bbb\b|metoprolol|lopressor|toprol|carvedilol|coreg|bisoprolol|zebeta|atenolol|propranolol|nadolol|labetalol|nebivolol|bystolic',
            '\bh[eo]ld|stopp|discontinu|not (?:be )?(?:re)?(?:start|initiat|resum)|defer|intoleran|bradycard|heart block|hypotens|shock|low output|bronchospasm|refus|declin|allerg',
            120) as wide,
        near_in_sentence(text,
            'beta[- ]?block|\bbb\b|metoprolol|lopressor|toprol|carvedilol|coreg|bisoprolol|zebeta|atenolol|propranolol|nadolol|labetalol|nebivolol|bystolic',
            '\bh[eo]ld|stopp|discontinu|not (?:be )?(?:re)?(?:start|initiat|resum)|defer|intoleran|bradycard|heart block|hypotens|shock|low output|bronchospasm|refus|declin|allerg',
            120) as strict
    from discharge_prose()
),
finding as (
    select
        s.*,
        f.own, f.at_odds, f.low_notes, f.high_notes,
        coalesce(f.low, false) as low,
        coalesce(f.high, false) as high,
        exists (select 1 from spoken n where n.task_id = s.task_id) as summarised,
        exists (select 1 from listed l where l.task_id = s.task_id) as listed,
        exists (select 1 from item i where i.task_id = s.task_id and i.recommended and i.what = 'taken') as taken,
        exists (select 1 from item i where i.task_id = s.task_id and i.recommended and i.what = 'conditional') as conditional,
        exists (select 1 from item i where i.task_id = s.task_id and i.unspecified and not i.recommended and i.what <> 'held') as unspecified,
        exists (select 1 from item i where i.task_id = s.task_id and i.of_class and i.what = 'held') as held,
        exists (select 1 from spoken n where n.task_id = s.task_id and n.wide) as reason_wide,
        exists (select 1 from spoken n where n.task_id = s.task_id and n.strict) as reason_strict
    from span s
    left join summed f using (task_id)
),
ruled as (
    select
        *,
        case
            when not summarised then 'no_summary'
            when not listed then 'no_list'
            when not low and not high then 'no_fraction'
            when not low then 'preserved'
            when high then 'fractions_at_odds'
            when taken then 'on_beta_blocker'
            when held or reason_strict or reason_wide then 'documented_reason'
            else 'without_beta_blocker'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule in ('no_summary', 'no_list', 'no_fraction') then 'lack_of_data'
        when r.rule in ('fractions_at_odds', 'documented_reason', 'preserved') then 'medical_ambiguity'
        when r.rule = 'on_beta_blocker' then 'yes'
        else 'no'
    end as verdict,
    r.rule,
    case r.rule
        when 'preserved' then false
        when 'no_summary' then r.low or not r.high
        when 'no_list' then r.low or not r.high
        when 'fractions_at_odds' then r.own and r.at_odds
        when 'documented_reason' then (r.held or r.reason_strict) and not r.conditional and not r.unspecified
        when 'without_beta_blocker' then not r.conditional and not r.unspecified
        else true
    end as eligible,
    r.admitted,
    r.own as of_this_admission,
    r.low_notes,
    r.high_notes,
    (select list(f.eid order by f.eid) from failure f where f.task_id = r.task_id) as failure,
    (select list(l.eid) from listed l where l.task_id = r.task_id) as lists,
    (select list(n.eid order by n.eid) from spoken n where n.task_id = r.task_id) as summaries,
    (select list(x.eid order by x.eid)
     from (select n.eid from spoken n where n.task_id = r.task_id and n.strict
           union
           select i.eid from item i where i.task_id = r.task_id and i.of_class and i.what = 'held') x) as reasons
from ruled r
order by r.task_id
