-- What the scenarios mean by "given", "recording" and "a result": table macros for adjudicate.sql and
-- evidence.sql, over the table `task` and the served tables. Rows that are not available by as_of are in
-- none of them. A bound (opens, closes) is an expression over the columns of `task`, such as
-- `index_time + interval 24 hour`, and both ends count. Names are regular expressions without regard to case.
-- The sources of the rules are MIMIC-IV's documentation and the catalogue's shared conventions; none was
-- reviewed by a clinician.

-- Whether a row of hosp.labevents is a result. A cancelled, insufficient or lost specimen has none;
-- "QNS to verify hemolysis" speaks of the check alone. A number that no patient has is none: creatinine outside
-- (0, 150] mg/dL, sodium outside [80, 200], potassium outside (0, 30] and lactate outside (0, 40] mmol/L, glucose
-- outside (0, 10000] mg/dL, haemoglobin outside (0, 30] g/dL (the catalogue's ranges); white cells outside (0, 1000] and
-- platelets of 0 K/uL (ours).
create or replace temp macro is_result(itemid, valuenum, value, comments) as
    valuenum is not null
    and not regexp_matches(
        regexp_replace(concat_ws(' ', value, comments), 'qns to verify( hemolysis)?', '', 'gi'),
        'cancel|not sufficient|\bqns\b|specimen lost|lost specimen', 'i')
    and case
        when itemid = 50912 then valuenum > 0 and valuenum <= 150
        when itemid = 50983 then valuenum between 80 and 200
        when itemid in (50971, 50822) then valuenum > 0 and valuenum <= 30
        when itemid in (50931, 50809) then valuenum > 0 and valuenum <= 10000
        when itemid = 50813 then valuenum > 0 and valuenum <= 40
        when itemid in (51222, 50811) then valuenum > 0 and valuenum <= 30
        when itemid = 51301 then valuenum > 0 and valuenum <= 1000
        when itemid = 51265 then valuenum > 0
        else true
    end;

-- Laboratory results of these items that are a number; those of one item at one draw time are averaged.
-- value: in the item's unit; eid: of the row with the lowest id; eids: all of them.
create or replace temp macro lab_results(items) as table
select
    task_id, itemid, charttime, avg(valuenum) as value, max(available_at) as available_at,
    arg_min(eid, labevent_id) as eid, list(eid order by labevent_id) as eids, min(specimen_id) as specimen_id
from hosp.labevents
where itemid in (select unnest(items)) and is_result(itemid, valuenum, value, comments)
group by task_id, itemid, charttime;

-- The same of what was known by a moment: a result of the same draw that came later takes nothing from it.
create or replace temp macro lab_results_known(items, moment) as table
select
    l.task_id, l.itemid, l.charttime, avg(l.valuenum) as value, max(l.available_at) as available_at,
    arg_min(l.eid, l.labevent_id) as eid, list(l.eid order by l.labevent_id) as eids,
    min(l.specimen_id) as specimen_id
from hosp.labevents l
join task using (task_id)
where l.itemid in (select unnest(items)) and l.available_at <= moment
  and is_result(l.itemid, l.valuenum, l.value, l.comments)
group by l.task_id, l.itemid, l.charttime;

-- eMAR rows whose drug has such a name. what: 'given'; 'verb_lost' where only "in Other Location" or
-- "Delayed" is left of the event, which is neither a dose nor proof of none; else 'not_given' (Not Given,
-- Hold Dose, Flushed, Stopped, no event, ...). route: that of a detail row, else IV or SC by its kind, else the
-- pharmacy's, else the order's, else null. administration: the kinds of its detail rows.
create or replace temp macro administrations(names) as table
with
named as (
    select task_id, eid, pharmacy_id, charttime, trim(medication) as name, trim(event_txt) as event
    from hosp.emar
    where regexp_matches(medication, names, 'i')
),
detail as (
    select
        d.task_id, d.eid, max(nullif(trim(d.route), '')) as route, max(d.pharmacy_id) as pharmacy_id,
        coalesce(string_agg(distinct d.administration_type, ' '), '') as administration
    from hosp.emar_detail d
    join named n using (task_id, eid)
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
)
select
    n.task_id, n.eid, n.charttime as moment, n.name, n.event,
    coalesce(d.administration, '') as administration,
    coalesce(n.pharmacy_id, d.pharmacy_id) as pharmacy_id,
    coalesce(
        d.route,
        case
            when regexp_matches(d.administration, '\bSC\b', 'i') then 'SC'
            when regexp_matches(d.administration, 'infusion|\bIV\b', 'i') then 'IV'
        end,
        w.route,
        o.route) as route,
    case
        when n.event in (
            'Administered', 'Administered in Other Location', 'Administered Bolus from IV Drip',
            'Delayed Administered', 'Partial Administered', 'Started', 'Started in Other Location',
            'Delayed Started', 'Restarted', 'Applied', 'Applied in Other Location',
            'Removed Existing / Applied New') then 'given'
        when n.event in ('in Other Location', 'Delayed') then 'verb_lost'
        else 'not_given'
    end as what
from named n
left join detail d using (task_id, eid)
left join written_route w
    on w.task_id = n.task_id and w.pharmacy_id = coalesce(n.pharmacy_id, d.pharmacy_id)
left join ordered_route o
    on o.task_id = n.task_id and o.pharmacy_id = coalesce(n.pharmacy_id, d.pharmacy_id);

-- Whether a dose of such a route and name goes into a vein. Without a route it counts unless its name says
-- another one.
create or replace temp macro intravenous(route, name) as
    case
        when route is not null then regexp_matches(route, '^(iv|intraven)', 'i')
        else not regexp_matches(
            name, '\b(po|oral|tabs?|tablets?|caps?|capsules?|ng|sc|sq|subcut\w*|topical|pr|rectal|inhal\w*)\b', 'i')
    end;

-- Infusion and push rows of these items. what: 'given' if an amount above zero went in (or the amount is
-- hidden because it was running at as_of, and the rate is above zero) and the row was not rewritten by a
-- later one. until: its end, or as_of while it runs.
create or replace temp macro infusions(items) as table
select
    i.task_id, i.eid, i.stay_id, i.itemid, i.starttime as moment, coalesce(i.endtime, t.as_of) as until,
    i.amount, i.amountuom, i.rate, i.rateuom, i.patientweight, i.orderid, i.linkorderid,
    i.ordercategoryname, i.ordercategorydescription,
    case
        when (i.amount > 0 or (i.amount is null and i.rate > 0))
            and coalesce(i.statusdescription, '') <> 'Rewritten' then 'given'
        else 'not_given'
    end as what
from icu.inputevents i
join task t using (task_id)
where i.itemid in (select unnest(items));

-- Continuous infusions as the eMAR charts them: from a row that says that a drug of such a name is running
-- (started, restarted, confirmed by a nurse, its rate changed, a bolus from its drip) to the drug's next row that
-- says so again or says that it stopped, if that follows within a day; else that moment alone. eid: of the row
-- that opens the stretch.
create or replace temp macro drips(names) as table
with noted as (
    select
        task_id, eid, charttime as moment, lower(trim(medication)) as name,
        regexp_matches(
            trim(event_txt), '^(delayed )?(started|restarted|confirmed|rate change)|^administered bolus from iv drip',
            'i') as running
    from hosp.emar
    where regexp_matches(medication, names, 'i')
      and regexp_matches(
          trim(event_txt),
          '^(delayed )?(started|restarted|confirmed|rate change|stopped)|^administered bolus from iv drip', 'i')
),
stretch as (
    select *, lead(moment) over (partition by task_id, name order by moment, running, eid) as ends from noted
)
select
    task_id, eid, name, moment,
    case when ends <= moment + interval 24 hour then ends else moment end as until
from stretch
where running;

-- Procedures of these items that were not rewritten by a later row. until: the end, or as_of while it lasts.
create or replace temp macro procedures(items) as table
select p.task_id, p.eid, p.stay_id, p.itemid, p.starttime as moment, coalesce(p.endtime, t.as_of) as until
from icu.procedureevents p
join task t using (task_id)
where p.itemid in (select unnest(items))
  and coalesce(p.statusdescription, '') <> 'Rewritten';

-- Tasks whose eMAR was recording: at least three rows of any drug within twelve hours of the window, up to
-- as_of; and where the window is twelve hours or longer, one inside it.
create or replace temp macro emar_live(opens, closes) as table
with span as (select task_id, as_of, opens as since, closes as till from task)
select s.task_id
from span s
join hosp.emar e using (task_id)
where e.charttime between s.since - interval 12 hour and least(s.till + interval 12 hour, s.as_of)
group by s.task_id, s.since, s.till
having count(*) >= 3
   and (s.till - s.since < interval 12 hour or bool_or(e.charttime between s.since and s.till));

-- Tasks whose laboratory was in use: any result drawn in the window, after its opening, and more than ten
-- minutes after index_time, so that the index specimen does not vouch for itself.
create or replace temp macro labs_live(opens, closes) as table
with span as (select task_id, index_time, opens as since, closes as till from task)
select distinct s.task_id
from span s
join hosp.labevents l using (task_id)
where l.charttime > greatest(s.since, s.index_time + interval 10 minute) and l.charttime <= s.till;

-- Tasks (and the stay) whose ICU record was kept: one stay covers the window, and from the last heart rate
-- (220045) at or before it to the first at or after it no gap exceeds four hours, or two in a window of up to
-- two hours. The stay's start and as_of stand in for missing ends.
create or replace temp macro icu_live(opens, closes) as table
with
span as (select task_id, as_of, opens as since, closes as till from task),
unit as (
    select s.*, i.stay_id, i.intime
    from span s
    join icu.icustays i using (task_id)
    where i.intime <= s.since and coalesce(i.outtime, s.as_of) >= s.till
),
heart_rate as (
    select u.task_id, u.stay_id, c.charttime
    from unit u
    join icu.chartevents c on c.task_id = u.task_id and c.stay_id = u.stay_id and c.itemid = 220045
),
watched as (
    select u.task_id, u.stay_id, coalesce(max(h.charttime), u.intime) as moment
    from unit u
    left join heart_rate h on h.task_id = u.task_id and h.stay_id = u.stay_id and h.charttime <= u.since
    group by u.task_id, u.stay_id, u.intime
    union all
    select u.task_id, u.stay_id, coalesce(min(h.charttime), u.as_of)
    from unit u
    left join heart_rate h on h.task_id = u.task_id and h.stay_id = u.stay_id and h.charttime >= u.till
    group by u.task_id, u.stay_id, u.as_of
    union all
    select u.task_id, u.stay_id, h.charttime
    from unit u
    join heart_rate h using (task_id, stay_id)
    where h.charttime > u.since and h.charttime < u.till
),
silence as (
    select task_id, stay_id, moment - lag(moment) over (partition by task_id, stay_id order by moment) as lasted
    from watched
)
select s.task_id, s.stay_id
from silence s
join span w using (task_id)
group by s.task_id, s.stay_id, w.since, w.till
having max(s.lasted) <= case when w.till - w.since <= interval 2 hour then interval 2 hour else interval 4 hour end;

-- Tasks whose patient was in the operating room for some of the window, with the rows that say so (eids).
-- Back in the unit (225469), the time away opens at the last departure (225470) since the previous return,
-- else at the stay's last heart rate before it, else at the stay's start. Without a return it lasts until the
-- next heart rate, else to as_of. What is given there is in no table.
create or replace temp macro operating(opens, closes) as table
with
span as (select task_id, as_of, opens as since, closes as till from task),
theatre as (
    select task_id, eid, itemid, starttime as moment, stay_id
    from icu.procedureevents
    where itemid in (225470, 225469)
),
heart_rate as (
    select c.task_id, c.stay_id, c.charttime
    from icu.chartevents c
    where c.itemid = 220045 and c.task_id in (select task_id from theatre)
),
away as (
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
            (select max(i.intime) from icu.icustays i
             where i.task_id = b.task_id and i.stay_id = b.stay_id),
            b.moment) as sent
    from theatre b
    where b.itemid = 225469
    union all
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
)
select a.task_id, list(distinct r.eid order by r.eid) as eids
from away a
join span s using (task_id)
join theatre r on r.task_id = a.task_id and r.moment between a.sent and a.back
where a.sent <= s.till and a.back >= s.since
group by a.task_id;

-- Tasks with an emergency stay in the window whose dispensing cabinet has any row.
create or replace temp macro pyxis_live(opens, closes) as table
with span as (select task_id, as_of, opens as since, closes as till from task)
select distinct s.task_id
from span s
join ed.edstays e using (task_id)
join ed.pyxis x on x.task_id = e.task_id and x.stay_id = e.stay_id
where e.intime <= s.till and coalesce(e.outtime, s.as_of) >= s.since;

-- Tasks in an intensive care unit for some of the window.
create or replace temp macro in_icu(opens, closes) as table
with span as (select task_id, as_of, opens as since, closes as till from task)
select distinct s.task_id
from span s
join icu.icustays i using (task_id)
where i.intime <= s.till and coalesce(i.outtime, s.as_of) >= s.since;

-- Stretches in an emergency department: came, went (as_of while there). Registration can end hours after the
-- patient has left; where the room is known, it decides.
create or replace temp macro emergencies() as table
with
room as (
    select t.task_id, x.intime as came, coalesce(x.outtime, t.as_of) as went
    from task t
    join hosp.transfers x using (task_id)
    where x.eventtype = 'ED' or regexp_matches(x.careunit, '^emergency department', 'i')
),
registered as (
    select t.task_id, a.edregtime as came, coalesce(a.edouttime, t.as_of) as went
    from task t
    join hosp.admissions a using (task_id)
    where a.edregtime is not null
    union all
    select t.task_id, e.intime, coalesce(e.outtime, t.as_of)
    from task t
    join ed.edstays e using (task_id)
)
select task_id, came, went from room
union all
select task_id, came, went
from registered r
where not exists (select 1 from room x where x.task_id = r.task_id and x.came <= r.went and x.went >= r.came);

-- Blood glucose by each of three methods: finger stick (225664), gas analyser (50809; 226537 is its copy in the
-- chart), laboratory chemistry (50931; 220621 its copy). value: mg/dL, averaged over rows of one item at one time;
-- null where no plausible number stands. beyond: 'high' or 'low' where the row then says that the glucose lay
-- outside the range of the meter or analyser, else null.
create or replace temp macro glucose_readings() as table
with reported as (
    select task_id, eid, itemid, charttime, available_at, valuenum, value, comments
    from hosp.labevents
    where itemid in (50809, 50931)
    union all
    select task_id, eid, itemid, charttime, available_at, valuenum, value, null
    from icu.chartevents
    where itemid in (225664, 226537, 220621)
),
numbered as (
    select
        * replace (
            case
                when valuenum > 0 and valuenum <= 10000
                    and not regexp_matches(
                        concat_ws(' ', value, comments),
                        'cancel|not sufficient|\bqns\b|specimen lost|lost specimen', 'i') then valuenum
            end as valuenum),
        valuenum is null as numberless
    from reported
)
select
    task_id, eid, itemid, charttime as moment, available_at,
    case
        when itemid = 225664 then 'finger_stick'
        when itemid in (50809, 226537) then 'gas_analyser'
        else 'chemistry'
    end as method,
    case
        when valuenum is not null
            then round(avg(valuenum) over (partition by task_id, itemid, charttime), 6)
    end as value,
    case
        when not numberless then null
        when regexp_matches(coalesce(value, ''), '^\s*(>\s*\d|greater than|hi(gh)?\s*$)', 'i')
            or regexp_matches(coalesce(comments, ''), '^\s*(>\s*\d|greater than)', 'i') then 'high'
        when regexp_matches(coalesce(value, ''), '^\s*(<\s*\d|less than|low?\s*$)', 'i')
            or regexp_matches(coalesce(comments, ''), '^\s*(<\s*\d|less than)', 'i') then 'low'
    end as beyond
from numbered;

-- What a discharge summary of the index admission (or an addendum to it) says the patient is to take: its list of
-- discharge medications, an item a row. Of several such notes the last one with a list counts; without a list, or
-- where all of it was removed, there is no row. what: 'taken'; 'held' where the item is marked as held, stopped or
-- not to be resumed, or stands below such a heading; 'conditional' where it is to begin or wait for something.
create or replace temp macro discharge_items() as table
with
listed as (
    select
        n.task_id, n.eid,
        regexp_extract(
            concat(chr(10), n.text, chr(10), 'Discharge Disposition:'),
            '(?is)\n[ \t]*(?:discharge (?:medications?|meds)(?: list)?|medications? (?:on|at) discharge)[ \t]*(?::|\n)(.*?)'
            || '\n[ \t]*(?:discharge (?:disposition|diagnos[ei]s|condition|instructions)|final diagnos[ei]s|follow-?up instructions)[ \t]*(?::|\n)',
            1) as section,
        n.charttime, n.note_seq
    from note.discharge n
    join task t on t.task_id = n.task_id and t.hadm_id = n.hadm_id
),
latest as (
    select * from listed
    where regexp_matches(section, '[a-zA-Z]')
    qualify row_number() over (partition by task_id order by charttime desc, note_seq desc, eid desc) = 1
),
parted as (
    select
        task_id, eid,
        regexp_split_to_array(
            section,
            '(?i)\n[ \t]*(?:stop(?:ped)?|discontinued|held|(?:the following )?(?:medications?|meds)[^\n:]{0,30}\b(?:stopped|discontinued|held))\b[^\n:]{0,40}:[ \t]*(?:\n|$)'
        ) as parts
    from latest
),
part as (
    select task_id, eid, concat(chr(10), unnest(parts)) as part, generate_subscripts(parts, 1) > 1 as below from parted
),
item as (
    select
        task_id, eid, below,
        trim(regexp_replace(
            unnest(case
                when regexp_matches(part, '\n[ \t]*\d{1,3}[.)][ \t]')
                    then regexp_split_to_array(part, '\n[ \t]*\d{1,3}[.)][ \t]+')
                else regexp_split_to_array(part, '\n')
            end),
            '\s+', ' ', 'g')) as item
    from part
)
select
    task_id, eid, item,
    case
        when below
            or regexp_matches(
                item, '^held\b|medication was (held|stopped|discontinued)|do not (restart|resume|take this)|\b(stopped|discontinued)\b', 'i')
            then 'held'
        when regexp_matches(item, '\b(hold|held|pending|resume|restart|to (re)?start|(start|begin)(ing)? (on|after|when|once))\b', 'i')
            then 'conditional'
        else 'taken'
    end as what
from item
where regexp_matches(item, '[a-zA-Z]');

-- Discharge summaries of the index admission, with addenda, as running text without their lists of medications:
-- '¶' stands for the end of a paragraph or the beginning of a line in a list, and decimals have a comma, so that a
-- stop ends a sentence.
create or replace temp macro discharge_prose() as table
select
    n.task_id, n.eid,
    regexp_replace(
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    concat(chr(10), n.text, chr(10), 'Discharge Disposition:'),
                    '(?is)\n[ \t]*(?:medications? on admission|(?:pre)?-?admission medications?|home medications?|discharge (?:medications?|meds)(?: list)?|medications? (?:on|at) discharge)[ \t]*(?::|\n)(.*?)'
                    || '\n[ \t]*(?:discharge (?:disposition|diagnos[ei]s|condition|instructions)|final diagnos[ei]s|follow-?up instructions)[ \t]*(?::|\n)',
                    chr(10) || chr(10), 'g'),
                '\n\s*\n|\n[ \t]*(?:[-*#•]|\[ ?\]|\d{1,3}[.)])', ' ¶ ', 'g'),
            '\s+', ' ', 'g'),
        '(\d)\.(\d)', '\1,\2', 'g') as text
from note.discharge n
join task t on t.task_id = n.task_id and t.hadm_id = n.hadm_id;

-- Whether one of the words stands within so many characters of one of the names, before or after it.
create or replace temp macro near(text, names, words, reach) as
    regexp_matches(
        text,
        concat('(?is)(?:', names, ').{0,', reach, '}(?:', words, ')|(?:', words, ').{0,', reach, '}(?:', names, ')'));

-- The same within a sentence of `discharge_prose`, where the word is not denied ("no bleeding on warfarin";
-- but "no warfarin because of bleeding" denies the drug).
create or replace temp macro near_in_sentence(text, names, words, reach) as
    regexp_matches(
        regexp_replace(
            regexp_replace(text, concat('(?is)(', names, ')'), '¤\1', 'g'),
            concat('(?is)\b(?:no|without|denie[sd]|negative for|neither|nor)\b(?: [a-z-]+){0,4}? (?:', words, ')'), ' ', 'g'),
        concat(
            '(?is)(?:', names, ')[^.;¶]{0,', reach, '}(?:', words, ')|(?:', words, ')[^.;¶]{0,', reach, '}(?:', names, ')'));

-- Heights: the ICU's (226730 in cm, 226707 in inches; source 'icu') and the clinic's ("Height (Inches)"; 'clinic', its
-- moment is the day). value: as it is written, null where it is no number; cm: in centimetres, taken in the unit of its
-- item, plausible or not. metric: it was written in centimetres.
create or replace temp macro heights() as table
with measured as (
    select
        task_id, eid, 'icu' as source, itemid = 226730 as metric, charttime as moment, available_at, valuenum as value
    from icu.chartevents
    where itemid in (226730, 226707)
    union all
    select
        task_id, eid, 'clinic', false, chartdate::timestamp, available_at,
        try_cast(regexp_extract(result_value, '^\s*(\d+(?:\.\d+)?)\s*$', 1) as double)
    from hosp.omr
    where regexp_matches(result_name, '^height \(inches\)', 'i')
)
select *, round(case when metric then value else value * 2.54 end, 6) as cm
from measured;

-- Laboratory results of an item, each with the rows that show it. laboratory: the eid of the result; eid: that, or its
-- copy in the ICU chart under an item of its own (same draw and value).
create or replace temp macro shown_results(laboratory_item, chart_item) as table
select l.task_id, l.eid as laboratory, l.eid
from hosp.labevents l
where l.itemid = laboratory_item
union all
select l.task_id, l.eid, c.eid
from hosp.labevents l
join icu.chartevents c
    on c.task_id = l.task_id and c.charttime = l.charttime and c.itemid = chart_item and c.valuenum = l.valuenum
where l.itemid = laboratory_item;
