-- T = when the index potassium was available; the window of treatment is [T - 30 min, T + 60 min].
-- Rules are tried in order; rows not available by as_of are not in these tables. The facts after the
-- rule serve evidence.sql: `acts` lists every row of a listed drug or of dialysis and what it amounts to.
with
span as (
    select
        k.task_id, k.hadm_id, k.as_of, k.index_eid,
        k.index_time as t,
        k.index_time - interval 30 minute as opens,
        k.index_time + interval 60 minute as closes,
        cast(k.params ->> '$.bicarbonate' as boolean) as bicarbonate_counts,
        cast(k.params ->> '$.beta_agonist' as boolean) as beta_agonist_counts,
        l.charttime as drawn, l.specimen_id
    from task k
    left join hosp.labevents l on l.task_id = k.task_id and l.eid = k.index_eid
),
detail as (  -- one eMAR row has several detail rows; a route is in one of them, or only in its kind
    select
        d.task_id, d.eid,
        max(nullif(trim(d.route), '')) as route,
        string_agg(distinct d.administration_type, ' ') as administration,
        max(d.pharmacy_id) as pharmacy_id
    from hosp.emar_detail d
    where d.eid in (
        select e.eid from hosp.emar e
        where e.task_id = d.task_id and regexp_matches(e.medication, 'calcium|insulin|bicarbonate|albuterol', 'i'))
    group by d.task_id, d.eid
),
written_route as (
    select task_id, pharmacy_id, max(nullif(trim(route), '')) as route
    from hosp.pharmacy where pharmacy_id is not null group by task_id, pharmacy_id
),
ordered_route as (
    select task_id, pharmacy_id, max(nullif(trim(route), '')) as route
    from hosp.prescriptions
    where pharmacy_id is not null and drug_type = 'MAIN' group by task_id, pharmacy_id
),
administration as (
    select
        e.task_id, e.eid, e.charttime as moment,
        trim(e.medication) as name,
        trim(e.event_txt) as event,
        coalesce(d.administration, '') as administration,
        coalesce(
            d.route,
            case
                when regexp_matches(d.administration, '\bSC\b', 'i') then 'SC'
                when regexp_matches(d.administration, 'infusion|\bIV\b', 'i') then 'IV'
            end,
            w.route,
            o.route) as route
    from hosp.emar e
    left join detail d using (task_id, eid)
    left join written_route w
        on w.task_id = e.task_id and w.pharmacy_id = coalesce(e.pharmacy_id, d.pharmacy_id)
    left join ordered_route o
        on o.task_id = e.task_id and o.pharmacy_id = coalesce(e.pharmacy_id, d.pharmacy_id)
    where regexp_matches(e.medication, 'calcium gluconate|calcium chloride|insulin|bicarbonate|albuterol', 'i')
),
routed as (
    select
        *,
        case
            when route is not null then regexp_matches(route, '^(iv|intraven)', 'i')
            else not regexp_matches(
                name, '\b(po|oral|tabs?|tablets?|caps?|capsules?|ng|sc|sq|subcut\w*|topical|pr|rectal|inhal\w*)\b', 'i')
        end as by_iv,
        case
            when regexp_matches(coalesce(route, ''), '^neb', 'i') then true
            when route is null or regexp_matches(route, '^(ih|inh)', 'i')
                then not regexp_matches(name, 'inhaler|spray|\b(hfa|mdi|po|oral|tabs?|tablets?|syrup)\b', 'i')
            else false
        end as by_nebuliser
    from administration
),
listed as (
    select
        *,
        case
            when by_iv and regexp_matches(name, 'calcium gluconate|calcium chloride', 'i')
                and not regexp_matches(name, 'crrt', 'i') then 'calcium'
            -- a push: not the sliding scale, not an infusion that controls glucose
            when by_iv and regexp_matches(name, 'insulin.*(regular|hyperkalemia)', 'i')
                and (event = 'Administered Bolus from IV Drip'
                    or not regexp_matches(concat_ws(' ', route, administration, name), 'drip|infusion|sliding', 'i'))
                then 'insulin'
            when by_iv and regexp_matches(name, 'sodium bicarbonate', 'i') then 'bicarbonate'
            when by_nebuliser and regexp_matches(name, 'albuterol', 'i') then 'beta_agonist'
        end as drug
    from routed
),
recorded as (
    select
        task_id, eid, moment, drug,
        case
            when event in (
                'Administered', 'Administered in Other Location', 'Administered Bolus from IV Drip',
                'Delayed Administered', 'Partial Administered', 'Started', 'Started in Other Location',
                'Delayed Started', 'Restarted', 'Applied', 'Applied in Other Location',
                'Removed Existing / Applied New') then 'given'
            when event in ('in Other Location', 'Delayed') then 'verb_lost'
            else 'not_given'
        end as what
    from listed
    where drug is not null
    union all
    select
        i.task_id, i.eid, i.starttime,
        case
            when i.itemid in (221456, 229640, 229618) then 'calcium'
            when i.itemid = 223258 then 'insulin'
            else 'bicarbonate'
        end,
        case
            when (i.amount > 0 or (i.amount is null and i.rate > 0))
                and coalesce(i.statusdescription, '') <> 'Rewritten' then 'given'
            else 'not_given'
        end
    from icu.inputevents i
    where i.itemid in (221456, 229640, 229618, 220995, 227533)
       -- pushes filed under non-intravenous insulin are subcutaneous
       or (i.itemid = 223258 and i.ordercategorydescription = 'Drug Push'
           and not regexp_matches(coalesce(i.ordercategoryname, ''), 'non iv', 'i'))
),
act as (
    select r.task_id, r.eid, r.moment, r.drug, r.what, cast(null as timestamp) as until
    from recorded r
    join span s using (task_id)
    where (r.drug <> 'bicarbonate' or s.bicarbonate_counts)
      and (r.drug <> 'beta_agonist' or s.beta_agonist_counts)
    union all
    select p.task_id, p.eid, p.starttime, 'dialysis', 'given', coalesce(p.endtime, s.as_of)
    from icu.procedureevents p
    join span s using (task_id)
    where p.itemid in (225441, 225802, 225803, 225809)
      and coalesce(p.statusdescription, '') <> 'Rewritten'
),
treatment as (  -- begun in the window, or a dialysis that was running when the result came
    select a.task_id, a.eid
    from act a
    join span s using (task_id)
    where a.what = 'given'
      and (a.moment between s.opens and s.closes
           or (a.drug = 'dialysis' and a.moment < s.t and a.until > s.t))
),
potassium as (
    select l.task_id, l.eid, l.charttime, l.available_at, l.specimen_id, l.valuenum
    from hosp.labevents l
    where l.itemid in (50971, 50822)
      and l.valuenum > 0 and l.valuenum <= 30
      and not regexp_matches(
          regexp_replace(concat_ws(' ', l.value, l.comments), 'qns to verify( hemolysis)?', '', 'gi'),
          'cancel|not sufficient|\bqns\b|specimen lost|lost specimen', 'i')
),
disputing as (  -- another specimen of about the same time, below 6.0 and not explained by treatment
    select p.task_id, p.eid
    from potassium p
    join span s using (task_id)
    where p.valuenum < 6.0
      and p.specimen_id is distinct from s.specimen_id
      and p.charttime >= s.drawn - interval 15 minute
      and p.available_at <= s.closes
      and not exists (
          select 1 from act a
          where a.task_id = p.task_id and a.what = 'given'
            and (a.moment between s.drawn - interval 15 minute and p.charttime
                 or (a.drug = 'dialysis' and a.moment <= p.charttime
                     and a.until > s.drawn - interval 15 minute)))
),
late_dialysis as (
    select a.task_id, a.eid
    from act a
    join span s using (task_id)
    where a.drug = 'dialysis' and a.moment > s.closes and a.moment <= s.t + interval 3 hour
),
dispense as (
    select x.task_id, x.eid
    from ed.pyxis x
    join span s using (task_id)
    where x.charttime between s.opens and s.closes
      and regexp_matches(
          x.name, 'calcium gluconate|calcium chloride|insulin.*(regular|hyperkalemia)|sodium bicarbonate|albuterol', 'i')
),
emergency_room as (
    select s.task_id, x.intime as came, coalesce(x.outtime, s.as_of) as went
    from span s
    join hosp.transfers x using (task_id)
    where (x.eventtype = 'ED' or regexp_matches(x.careunit, '^emergency department', 'i'))
),
registered as (
    select s.task_id, a.edregtime as came, coalesce(a.edouttime, s.as_of) as went
    from span s
    join hosp.admissions a using (task_id)
    where a.edregtime is not null
    union all
    select s.task_id, e.intime, coalesce(e.outtime, s.as_of)
    from span s
    join ed.edstays e using (task_id)
),
emergency as (  -- registration can end hours after the patient has left; where the room is known, it decides
    from emergency_room
    union all
    from registered r
    where not exists (
        select 1 from emergency_room x
        where x.task_id = r.task_id and x.came <= r.went and x.went >= r.came)
),
emar_count as (
    select s.task_id, count(*) as doses
    from span s
    join hosp.emar e using (task_id)
    where e.charttime between s.t - interval 12 hour and least(s.closes + interval 12 hour, s.as_of)
    group by s.task_id
),
in_emergency as (
    select
        s.task_id,
        bool_or(exists (
            select 1 from hosp.emar e
            where e.task_id = s.task_id and e.charttime between x.came and x.went)) as emar_there
    from span s
    join emergency x using (task_id)
    where x.came <= s.t and x.went > s.t
    group by s.task_id
),
heart_rate as (
    select c.task_id, c.stay_id, c.charttime from icu.chartevents c where c.itemid = 220045
),
unit as (
    select s.task_id, i.stay_id, i.intime, coalesce(i.outtime, s.as_of) as outtime
    from span s
    join icu.icustays i using (task_id)
),
watched as (  -- the moments between which the bedside record may not fall silent for over two hours
    select u.task_id, u.stay_id, coalesce(max(h.charttime), u.intime) as moment
    from unit u
    join span s using (task_id)
    left join heart_rate h on h.task_id = u.task_id and h.stay_id = u.stay_id and h.charttime <= s.t
    where u.intime <= s.t and u.outtime >= s.closes
    group by u.task_id, u.stay_id, u.intime
    union all
    select u.task_id, u.stay_id, coalesce(min(h.charttime), s.as_of)
    from unit u
    join span s using (task_id)
    left join heart_rate h on h.task_id = u.task_id and h.stay_id = u.stay_id and h.charttime >= s.closes
    where u.intime <= s.t and u.outtime >= s.closes
    group by u.task_id, u.stay_id, s.as_of
    union all
    select u.task_id, u.stay_id, h.charttime
    from unit u
    join span s using (task_id)
    join heart_rate h using (task_id, stay_id)
    where u.intime <= s.t and u.outtime >= s.closes and h.charttime > s.t and h.charttime < s.closes
),
gap as (
    select task_id, stay_id, moment - lag(moment) over (partition by task_id, stay_id order by moment) as silence
    from watched
),
icu_live as (
    select distinct task_id
    from (
        select task_id, stay_id from gap group by task_id, stay_id having max(silence) <= interval 2 hour
    )
),
theatre as (
    select p.task_id, p.eid, p.itemid, p.starttime as moment, p.stay_id
    from icu.procedureevents p
    where p.itemid in (225470, 225469)
),
in_theatre as (
    -- back in the unit: the interval opens at the last 'OR Sent' since the previous return, else at the
    -- last heart rate before the return, else at the stay's start
    select
        b.task_id, b.moment as back,
        coalesce(
            (select max(o.moment) from theatre o
             where o.task_id = b.task_id and o.itemid = 225470 and o.moment <= b.moment
               and not exists (
                   select 1 from theatre r
                   where r.task_id = b.task_id and r.itemid = 225469 and r.moment >= o.moment and r.moment < b.moment)),
            (select max(h.charttime) from heart_rate h
             where h.task_id = b.task_id and h.stay_id = b.stay_id and h.charttime < b.moment),
            (select u.intime from unit u where u.task_id = b.task_id and u.stay_id = b.stay_id),
            b.moment) as sent
    from theatre b
    where b.itemid = 225469
    union all
    -- not yet back: until the next heart rate, else still there at as_of
    select
        o.task_id,
        coalesce(
            (select min(h.charttime) from heart_rate h where h.task_id = o.task_id and h.charttime > o.moment),
            s.as_of),
        o.moment
    from theatre o
    join span s using (task_id)
    where o.itemid = 225470
      and not exists (
          select 1 from theatre r where r.task_id = o.task_id and r.itemid = 225469 and r.moment >= o.moment)
),
operating as (
    select i.task_id, list(distinct r.eid order by r.eid) as eids
    from in_theatre i
    join span s using (task_id)
    join theatre r on r.task_id = i.task_id and r.moment between i.sent and i.back
    where i.sent <= s.closes and i.back >= s.t
    group by i.task_id
),
pyxis_live as (
    select distinct s.task_id
    from span s
    join ed.edstays e using (task_id)
    join ed.pyxis x on x.task_id = e.task_id and x.stay_id = e.stay_id
    where e.intime <= s.closes and coalesce(e.outtime, s.as_of) >= s.t
),
finding as (
    select
        s.task_id, s.t, s.opens, s.closes, s.as_of, s.drawn,
        s.task_id in (select task_id from treatment) as treated,
        s.task_id in (select task_id from disputing) as disputed,
        s.task_id in (select task_id from late_dialysis) as dialysed_late,
        s.task_id in (select task_id from dispense) as dispensed,
        (coalesce(c.doses, 0) >= 3 and coalesce(e.emar_there, true))
            or s.task_id in (select task_id from icu_live) as recording,
        o.eids as operating,
        exists (select 1 from emergency x where x.task_id = s.task_id
                and x.came <= s.closes and x.went >= s.opens) as in_emergency,
        s.task_id in (select task_id from pyxis_live) as pyxis_live,
        exists (select 1 from unit u where u.task_id = s.task_id
                and u.intime <= s.closes and u.outtime >= s.opens) as intensive,
        exists (select 1 from act a where a.task_id = s.task_id and a.what = 'verb_lost'
                and a.moment between s.opens and s.closes) as verb_lost
    from span s
    left join emar_count c using (task_id)
    left join in_emergency e using (task_id)
    left join operating o using (task_id)
),
ruled as (
    select
        *,
        case
            when treated then 'treated'
            when pyxis_live or (recording and operating is null) then
                case
                    when disputed then 'disputed'
                    when dialysed_late then 'late_dialysis'
                    when dispensed then 'dispensed_only'
                    else 'untreated'
                end
            when recording then 'operating_room'
            else 'not_recording'
        end as rule
    from finding
)
select
    r.task_id,
    case
        when r.rule = 'treated' then 'yes'
        when r.rule in ('disputed', 'late_dialysis', 'dispensed_only') then 'medical_ambiguity'
        when r.rule = 'untreated' then 'no'
        else 'lack_of_data'
    end as verdict,
    r.rule,
    -- a row that has lost its verb is neither a dose nor proof of none
    r.treated or not r.verb_lost as eligible,
    r.intensive,
    r.in_emergency,
    r.operating,
    r.drawn,
    (select list({eid: a.eid, moment: a.moment, drug: a.drug, what: a.what, until: a.until} order by a.moment, a.eid)
     from act a where a.task_id = r.task_id) as acts,
    (select list(d.eid order by d.eid) from disputing d where d.task_id = r.task_id) as disputing,
    (select list(d.eid order by d.eid) from dispense d where d.task_id = r.task_id) as dispenses
from ruled r
order by r.task_id
