-- T = the admission; doses count from it to the discharge. The allergy list is the text after "Allergies:" in the index
-- admission's own summary, else in the last summary before the admission. A, the classes listed: their entries are
-- parted by slashes, commas, semicolons and lines outside brackets. An entry is a mere intolerance if the reaction that
-- it names is of the stomach or a headache and nothing else.
--
-- Correction: "sulfa" stands in every "sulfate" (morphine, magnesium): as an allergy it is a word of its own or a
-- sulfonamide, as a drug sulfamethoxazole or its brands. Penicillins are every "...cillin" with their brands,
-- quinolones every "...floxacin"; the inputs of the ICU gain oxacillin (225889) and Keflex (227691).
--
-- Correction: vancomycin by mouth or rectum is not absorbed and does not count; nor do locks, dwells, inhalations,
-- irrigations and desensitisations themselves, beside what goes on skin, into eyes or ears.
--
-- Correction: patients without a listed class are not sampled. The catalogue prefers, for NO, those who have one; an
-- empty list would make most cases trivial. Nor are patients whose list names another antibiotic or was removed in
-- part where nothing listed was given, since the six classes do not settle what that entry rules out.
--
-- Correction: too close to call and not sampled are a NO whose listed class was given or dispensed in the emergency
-- department before the admission, or whose list has a cephalosporin or a penicillin while the patient was in the
-- operating room (what is given there is in no table); a verdict that would turn on a row that lost its verb; and a
-- reaction that names the stomach beside words of no known meaning.
--
-- Correction: an unknown list is a lack of data only if some dose of the six classes was given, or nothing would show
-- it; otherwise no list could rule out what the patient received, and the case is not sampled.
--
-- For review: which words are an intolerance, which make a reaction unclear, and three eMAR rows for an admission that
-- was recorded are ours; no source gives them.
with
span as (
    select
        k.task_id, k.hadm_id, k.index_time as t, k.index_eid,
        cast(k.params ->> '$.cross_reactivity' as boolean) as cross_reactivity,
        cast(k.params ->> '$.intolerance_rules_out' as boolean) as intolerance_rules_out,
        a.dischtime as went,
        coalesce(a.edregtime, a.admittime) as arrival
    from task k
    join hosp.admissions a on a.task_id = k.task_id and a.hadm_id = k.hadm_id
),
summary as (
    select
        n.task_id, n.eid, n.charttime, n.note_seq,
        n.hadm_id is not distinct from s.hadm_id as own,
        regexp_extract(
            concat(chr(10), n.text, chr(10), 'Attending:'),
            '(?is)\n[ \t]*allerg(?:y|ies)[^:\n]{0,40}:[ \t]*\n?(.*?)(?:\n[ \t]*\n|\n[ \t]*(?:attending|chief complaint))',
            0) as heading,
        regexp_replace(
            trim(regexp_extract(
                concat(chr(10), n.text, chr(10), 'Attending:'),
                '(?is)\n[ \t]*allerg(?:y|ies)[^:\n]{0,40}:[ \t]*\n?(.*?)(?:\n[ \t]*\n|\n[ \t]*(?:attending|chief complaint))',
                1)),
            '[ \t]+', ' ', 'g') as allergies
    from note.discharge n
    join span s using (task_id)
    where n.hadm_id = s.hadm_id or n.charttime < s.t
),
chosen as (  -- the admission's own first (the summary before its addenda), else the last one before
    select * from summary
    where heading <> ''
    qualify row_number() over (
        partition by task_id
        order by own desc, case when own then 0 else epoch(charttime) end desc, note_seq, eid) = 1
),
entry as (
    select
        task_id,
        trim(unnest(regexp_extract_all(
            regexp_replace(allergies, '\n', ' / ', 'g'), '(?:\([^)]*\)|[^/;,()])+'))) as entry
    from chosen
    where not regexp_matches(allergies, '\bno (known|allerg|adverse)|\bnkda\b|\bnka\b', 'i')
),
pattern as (
    select * from (values
        ('penicillin', '\w*cillins?\b|\bpcn\b|augmentin|unasyn|zosyn|timentin'),
        ('cephalosporin', '\bcef\w+|\bceph\w+|keflex|ancef|rocephin'),
        ('sulfonamide', '\bsulfas?\b|sulfonamide|sulfameth\w*|bactrim|septra'),
        ('quinolone', '\w*quinolones?\b|\bcipro\w*|\w*floxacin|levaquin|avelox'),
        ('macrolide', 'macrolide|\w*thromycin|zithromax|\bz-?pac?k|biaxin'),
        ('vancomycin', 'vancomycin|vancocin')
    ) as p(class, words)
),
named as (
    select
        e.task_id, p.class, e.entry,
        regexp_matches(e.entry, 'nausea|vomit|gi upset|diarrh|upset stomach|stomach upset|headache|\bn/v\b', 'i') as stomach,
        regexp_replace(
            e.entry,
            concat('(?i)', p.words, '|nausea|vomiting|vomits?|gi upset|diarrho?ea|upset stomach|stomach upset|headaches?|antibiotics?|\band\b|\bor\b|\bonly\b|\bmild\b|\bg\.?i\.?\b|intoleran\w+|reactions?|causes?|\bbase\b|\bds\b|[^a-z]'),
            '', 'g') = '' as nothing_else,
        regexp_matches(
            e.entry,
            'anaphyl|rash|hives|urticari|angioedema|swelling|edema|breath|dyspn|wheez|itch|prurit|stevens|\bsjs\b|\bdress\b|blister|throat|tongue|hypotens|shock|fever|flush|red ?man',
            'i') as serious
    from entry e
    join pattern p on regexp_matches(e.entry, concat('(?i)', p.words))
    -- "Sulfa (Sulfonamide Antibiotics)" is one entry; "cephalosporin" in the reaction of a penicillin is not sought
),
listed as (
    select
        task_id, class,
        bool_and(stomach and nothing_else) as intolerance,
        bool_or(stomach and not nothing_else and not serious) as unclear
    from named
    group by task_id, class
),
other as (  -- antibiotics beyond the six classes, and what was removed
    select distinct task_id
    from entry
    where regexp_matches(
        entry,
        'clindamycin|cleocin|metronidazole|flagyl|cyclines?\b|linezolid|zyvox|daptomycin|gentamicin|tobramycin|amikacin|aminoglyc|penem|aztreonam|nitrofurantoin|macrobid|macrodantin|rifamp|trimethoprim|antibiotic|antimicrob|___',
        'i')
      and not regexp_matches(entry, 'sulfa', 'i')
),
administered as (
    select
        x.task_id, x.eid, x.moment, x.what,
        case
            when regexp_matches(x.name, 'cillin|augmentin|unasyn|zosyn|timentin', 'i') then 'penicillin'
            when regexp_matches(x.name, '\bcef|\bceph|keflex|ancef|rocephin', 'i') then 'cephalosporin'
            when regexp_matches(x.name, 'sulfameth|bactrim|septra', 'i') then 'sulfonamide'
            when regexp_matches(x.name, 'floxacin|\bcipro|levaquin|avelox', 'i') then 'quinolone'
            when regexp_matches(x.name, 'thromycin|zithromax|biaxin', 'i') then 'macrolide'
            else 'vancomycin'
        end as class
    from administrations(
        'cillin|augmentin|unasyn|zosyn|timentin|\bcef|\bceph|keflex|ancef|rocephin|sulfameth|bactrim|septra|floxacin|\bcipro|levaquin|avelox|thromycin|zithromax|biaxin|vancomycin') x
    where not regexp_matches(
            x.name,
            'ophth|otic\b|\b(eyes?|ears?)\b|oint|cream|topical|\bgel\b|inhal|\bneb|irrig|\block\b|dwell|desensiti|enema', 'i')
      and not regexp_matches(
            coalesce(x.route, ''),
            '\b(tp|topical|eyes?|ears?|ih|inh|neb|irrig|dwell|lock|vg|vaginal)\b|ophth|intravit', 'i')
      and not (regexp_matches(x.name, 'vancomycin', 'i')
          and (regexp_matches(coalesce(x.route, ''), '^(po|ng|og|oral|pr|rectal|enema)', 'i')
              or regexp_matches(x.name, '\b(oral|po|caps?|capsules?)\b', 'i')))
),
infused as (
    select
        i.task_id, i.eid, i.moment, i.what,
        case
            when i.itemid in (225842, 225843, 225888, 225889, 225890, 225892, 225893) then 'penicillin'
            when i.itemid in (225850, 225851, 225853, 225855, 227691, 229587) then 'cephalosporin'
            when i.itemid = 225899 then 'sulfonamide'
            when i.itemid in (225859, 225879, 225886) then 'quinolone'
            when i.itemid in (225845, 225866) then 'macrolide'
            else 'vancomycin'
        end as class
    from infusions([
        225842, 225843, 225888, 225889, 225890, 225892, 225893, 225850, 225851, 225853, 225855, 227691, 229587,
        225899, 225859, 225879, 225886, 225845, 225866, 225798]) i
),
dose as (
    select d.*
    from (select * from administered union all select * from infused) d
    join span s using (task_id)
    where d.moment between s.t and s.went
),
before as (  -- in the emergency department, on the way to the admission
    select d.task_id, d.class
    from administered d
    join span s using (task_id)
    where d.what = 'given' and d.moment >= s.arrival and d.moment < s.t
    union
    select x.task_id, p.class
    from ed.pyxis x
    join span s using (task_id)
    join pattern p on regexp_matches(x.name, concat('(?i)', p.words))
    where x.charttime >= s.arrival and x.charttime < s.t
),
exposure as (  -- doses of a listed class, and of the relative of a listed penicillin or cephalosporin
    select d.task_id, d.eid, d.class, d.what, l.intolerance, true as same
    from dose d
    join listed l using (task_id, class)
    union all
    select d.task_id, d.eid, d.class, d.what, false, false
    from dose d
    join listed l on l.task_id = d.task_id
        and not l.intolerance
        and (l.class, d.class) in (('penicillin', 'cephalosporin'), ('cephalosporin', 'penicillin'))
    where not exists (select 1 from listed o where o.task_id = d.task_id and o.class = d.class)
),
desensitisation as (
    select n.task_id, n.eid
    from note.discharge n
    join span s using (task_id, hadm_id)
    where regexp_matches(n.text, 'desensiti[sz]|test\s+dose|graded\s+challenge', 'i')
    union
    select p.task_id, p.eid
    from hosp.prescriptions p
    join span s using (task_id, hadm_id)
    where regexp_matches(p.drug, 'desensiti[sz]|test dose|graded challenge', 'i')
    union
    select o.task_id, o.eid
    from hosp.poe o
    join span s using (task_id, hadm_id)
    where regexp_matches(concat_ws(' ', o.order_type, o.order_subtype), 'desensiti[sz]|test dose|graded challenge', 'i')
),
recorded as (
    select s.task_id, count(*) as rows
    from span s
    join hosp.emar e using (task_id)
    where e.charttime between s.t and s.went
    group by s.task_id
),
finding as (
    select
        s.*,
        c.eid as list_note,
        exists (select 1 from summary n where n.task_id = s.task_id) as summarised,
        coalesce(regexp_matches(c.allergies, '[a-zA-Z]'), false) as legible,
        exists (select 1 from listed l where l.task_id = s.task_id) as any_listed,
        exists (select 1 from exposure e where e.task_id = s.task_id and e.same and e.what = 'given') as exposed,
        exists (select 1 from exposure e where e.task_id = s.task_id and e.same and e.what = 'given'
                and (not e.intolerance or s.intolerance_rules_out)) as exposed_to_allergen,
        exists (select 1 from exposure e where e.task_id = s.task_id and not e.same and e.what = 'given')
            and s.cross_reactivity as crossed,
        exists (select 1 from desensitisation d where d.task_id = s.task_id) as desensitised,
        coalesce(r.rows, 0) >= 3 as recording
    from span s
    left join chosen c using (task_id)
    left join recorded r using (task_id)
),
ruled as (
    select
        *,
        case
            when not summarised then 'no_summary'
            when not legible then 'no_allergy_text'
            when not any_listed then 'none_listed'
            when not exposed and not recording then 'not_recording'
            when exposed and desensitised then 'desensitised'
            when exposed_to_allergen then 'given'
            when exposed then 'intolerance_only'
            when crossed then 'cross_reactive'
            else 'not_given'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule in ('no_summary', 'no_allergy_text', 'not_recording') then 'lack_of_data'
        when r.rule in ('desensitised', 'intolerance_only', 'cross_reactive') then 'medical_ambiguity'
        when r.rule = 'given' then 'yes'
        else 'no'
    end as verdict,
    r.rule,
    case
        when r.rule in ('no_summary', 'no_allergy_text') then not r.recording
            or exists (select 1 from dose d where d.task_id = r.task_id and d.what = 'given')
        when r.rule = 'none_listed' then false
        when r.rule in ('given', 'desensitised') then not exists (
            select 1 from listed l where l.task_id = r.task_id and l.unclear)
        else not exists (select 1 from other o where o.task_id = r.task_id)
            and not exists (select 1 from listed l where l.task_id = r.task_id and l.unclear)
            and not exists (
                select 1 from exposure e where e.task_id = r.task_id and e.what = 'verb_lost'
                    and (e.same or r.rule = 'not_given'))
            and not exists (
                select 1 from before b
                join listed l on l.task_id = b.task_id and l.class = b.class
                where b.task_id = r.task_id)
            and not (
                r.rule = 'not_given'
                and r.task_id in (select task_id from operating(index_time, as_of - interval 30 day))
                and exists (
                    select 1 from listed l
                    where l.task_id = r.task_id and l.class in ('penicillin', 'cephalosporin')))
    end as eligible,
    r.went,
    r.list_note,
    r.task_id in (select task_id from in_icu(index_time, as_of - interval 30 day)) as intensive,
    exists (select 1 from listed l where l.task_id = r.task_id and l.class in ('penicillin', 'cephalosporin')) as beta_lactam_listed,
    exists (select 1 from listed l where l.task_id = r.task_id and l.class = 'penicillin') as penicillin_listed,
    exists (select 1 from listed l where l.task_id = r.task_id and l.class = 'cephalosporin') as cephalosporin_listed,
    exists (select 1 from listed l where l.task_id = r.task_id and l.class = 'sulfonamide') as sulfonamide_listed,
    exists (select 1 from listed l where l.task_id = r.task_id and l.class = 'quinolone') as quinolone_listed,
    exists (select 1 from listed l where l.task_id = r.task_id and l.class = 'macrolide') as macrolide_listed,
    exists (select 1 from listed l where l.task_id = r.task_id and l.class = 'vancomycin') as vancomycin_listed,
    (select list(n.eid order by n.eid) from summary n where n.task_id = r.task_id) as summaries,
    (select list({eid: e.eid, what: e.what, same: e.same, intolerance: e.intolerance} order by e.eid)
     from exposure e where e.task_id = r.task_id) as exposures,
    (select list(d.eid order by d.eid) from desensitisation d where d.task_id = r.task_id) as desensitisations
from ruled r
order by r.task_id
