-- T = the end of the insulin infusion. What counts was known at T: G, the glucose measured last in [T - 2 h, T];
-- Na, Cl and B of the last specimen in [T - 6 h, T] that has all three, gap = Na - Cl - B; the last pH in
-- [T - 6 h, T]; K, the last beta-hydroxybutyrate in [T - 12 h, T]. R09 (2009 consensus): G < 200 and two of
-- B >= 15, pH > 7.30, gap <= 12. R24 (2024 consensus): G < 200, B >= 18 or pH >= 7.30, and K < 0.6 or not
-- measured. A missing pH is not met. Rows not available by as_of are not in these tables.
--
-- Correction: the catalogue calls every missing glucose or chemistry a lack of data. Where what is there decides
-- both definitions whatever the missing value (a glucose of 200 or more without a chemistry; an acidosis without
-- a glucose), the answer is NO. Each definition is therefore evaluated in three values, true, false, unknown.
--
-- For review: finger sticks are often stored in batches, and count here from then on, as in the catalogue. Whoever
-- stopped the infusion may have read the meter before; the reading that counts them from the moment they were measured
-- is named as an accepted one.
--
-- For review: 2 hours for the glucose, 6 for chemistry and pH, 12 for beta-hydroxybutyrate, a pause of up to 2 hours,
-- an infusion of at least 4 hours, and leaving a ketone that was not measured out of account are ours; neither
-- consensus gives them.
with
span as (
    select
        task_id, index_eid, as_of,
        index_time as t,
        params ->> '$.bedside_known' as bedside_known
    from task
),
glucose as (
    select g.task_id, g.eid, g.moment, g.itemid, g.value, g.beyond
    from glucose_readings() g
    join span s using (task_id)
    where g.moment between s.t - interval 2 hour and s.t
      and (g.available_at <= s.t or (s.bedside_known = 'measured' and g.itemid = 225664))
      and (g.value is not null or g.beyond is not null)
),
last_glucose as (  -- of one moment: chemistry, gas analyser, finger stick; the laboratory before its copy
    select * from glucose
    qualify row_number() over (
        partition by task_id
        order by moment desc,
            list_position([50931, 220621, 50809, 226537, 225664], itemid), eid) = 1
),
lab as (
    select l.task_id, l.itemid, l.charttime, l.specimen_id, l.eids, round(l.value, 6) as value, s.t
    from lab_results_known([50983, 50902, 50882, 50820, 51567], index_time) l
    join span s using (task_id)
    where l.charttime <= s.t
),
panel as (
    select n.task_id, n.charttime, n.eids as sodium, c.eids as chloride, b.eids as bicarbonate,
        n.value - c.value - b.value as gap, b.value as b
    from lab n
    join lab c on c.task_id = n.task_id and (c.specimen_id = n.specimen_id or c.charttime = n.charttime)
    join lab b on b.task_id = n.task_id and (b.specimen_id = n.specimen_id or b.charttime = n.charttime)
    where n.itemid = 50983 and c.itemid = 50902 and b.itemid = 50882
      and n.charttime >= n.t - interval 6 hour
    qualify row_number() over (partition by n.task_id order by n.charttime desc, c.charttime desc, b.charttime desc) = 1
),
ph as (
    select task_id, eids, value
    from lab
    where itemid = 50820 and charttime >= t - interval 6 hour and value > 6 and value < 8
    qualify row_number() over (partition by task_id order by charttime desc) = 1
),
ketone as (
    select task_id, eids, value
    from lab
    where itemid = 51567 and charttime >= t - interval 12 hour
    qualify row_number() over (partition by task_id order by charttime desc) = 1
),
component as (
    select
        s.task_id,
        g.eid as glucose_eid, g.moment as glucose_moment, g.value as glucose, g.beyond,
        case when g.beyond = 'high' then false when g.beyond = 'low' then true else g.value < 200 end as g_met,
        p.b, round(p.gap, 6) as gap, p.charttime as panel_time, p.sodium, p.chloride, p.bicarbonate,
        h.value as ph, h.eids as ph_eids, k.value as ketone, k.eids as ketone_eids,
        coalesce(h.value > 7.30, false) as ph_above, coalesce(h.value >= 7.30, false) as ph_reached,
        coalesce(k.value < 0.6, true) as ketone_met
    from span s
    left join last_glucose g using (task_id)
    left join panel p using (task_id)
    left join ph h using (task_id)
    left join ketone k using (task_id)
),
judged as (
    select
        *,
        -- without a chemistry two of the three may be met or not
        g_met and case when b is not null then (b >= 15)::int + (gap <= 12)::int + ph_above::int >= 2 end as r09,
        g_met and ketone_met and (b >= 18 or ph_reached) as r24,
        g_met and case when b is not null then (b >= 15)::int + (gap <= 12)::int >= 2 end as r09_without_ph,
        g_met and ketone_met and b >= 18 as r24_without_ph,
        g_met and (b >= 18 or ph_reached) as r24_without_ketone
    from component
),
ruled as (
    select
        *,
        case
            when r09 and r24 then 'resolved'
            when r09 and not r24 then 'resolved_2009_only'
            when not r09 and r24 then 'resolved_2024_only'
            when not g_met then 'glucose_high'
            when not r09 and not r24 then 'acidosis'
            when g_met is null then 'no_glucose'
            else 'no_chemistry'
        end as rule
    from judged
)
select
    task_id,
    case
        when rule = 'resolved' then 'yes'
        when rule in ('glucose_high', 'acidosis') then 'no'
        when rule in ('no_glucose', 'no_chemistry') then 'lack_of_data'
        else 'medical_ambiguity'
    end as verdict,
    rule,
    glucose_eid, glucose_moment, glucose, beyond,
    b, gap, panel_time, sodium, chloride, bicarbonate, ph, ph_eids, ketone, ketone_eids,
    -- whether the answer would be another one without the pH, without the ketone
    coalesce(r09 is distinct from r09_without_ph or r24 is distinct from r24_without_ph, false) as ph_decides,
    coalesce(r24 is distinct from r24_without_ketone, false) as ketone_decides
from ruled
order by task_id
