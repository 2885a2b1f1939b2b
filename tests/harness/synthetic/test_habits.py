"""Planted rows are kept as the background keeps its own: times, steps, names, units, turnarounds, companions.

A reader of many charts must not find the carriers by the manner of their rows.
"""

from collections.abc import Iterable
from typing import Any

import duckdb
import pytest

from tests.harness.synthetic.conftest import SyntheticWorld


@pytest.fixture(scope="module")
def ask(world: SyntheticWorld) -> Iterable[Any]:
    with duckdb.connect() as connection:
        world.store.attach(connection, "store")
        connection.execute("use store")
        connection.execute("create temp table carrier (scenario varchar, plant varchar, subject_id bigint)")
        connection.executemany(
            "insert into carrier values (?, ?, ?)",
            [(case.scenario[:2], case.plant_id, case.subject_id) for case in world.planted],
        )
        yield lambda sql: connection.execute(sql).fetchall()


def test_urine_is_noted_on_the_minute_in_steps_of_five(ask: Any) -> None:
    assert ask(
        """select count(*) from icu.outputevents
        where second(charttime) <> 0 or (itemid in (226559, 226560) and value % 5 <> 0)"""
    ) == [(0,)]


def test_hours_of_urine_are_missed_in_planted_series_too(ask: Any) -> None:
    gaps = ask(
        """with gap as (
            select subject_id, charttime - lag(charttime) over (partition by stay_id order by charttime) as width
            from icu.outputevents where itemid = 226559)
        select subject_id, avg((width = interval 2 hour)::int) from gap
        where width is not null and subject_id in (
            select subject_id from carrier where scenario = '01' and plant not like '%lack')
        group by subject_id"""
    )
    assert 0.02 < sum(share for _, share in gaps) / len(gaps) < 0.1


def test_no_panel_of_a_carrier_lacks_the_item_in_question(ask: Any) -> None:
    assert (
        ask(
            """with specimen as (
            select subject_id, specimen_id, bool_or(itemid = 51006) as chemistry,
                bool_or(itemid = 50912) as creatinine, bool_or(itemid = 50971) as potassium
            from hosp.labevents group by all)
        select distinct subject_id from specimen
        where chemistry and not (creatinine and potassium)
          and subject_id not in (select subject_id from carrier where plant = 'lack' and scenario = '01')"""
        )
        == []
    )


def test_a_drug_has_one_spelling(ask: Any) -> None:
    assert (
        ask("select lower(medication) from hosp.emar group by 1 having count(distinct medication) > 1") == []
    )


def test_a_drug_has_one_unit_for_carriers_and_neighbours(ask: Any) -> None:
    assert (
        ask(
            """select medication, list(distinct dose_due_unit)
            from hosp.emar join hosp.emar_detail using (emar_id)
            where dose_due_unit is not null
              and regexp_matches(medication, '^(calcium|insulin|albuterol|dextrose|sodium polystyrene)', 'i')
            group by 1 having count(distinct dose_due_unit) > 1"""
        )
        == []
    )


def test_a_haemolysis_comment_does_not_give_the_ambiguous_cases_away(ask: Any) -> None:
    ((elsewhere,),) = ask(
        """select count(distinct subject_id) from hosp.labevents
        where comments ilike 'hemolysis%' and valuenum >= 6.5
          and subject_id not in (select subject_id from carrier where plant like 'ambiguity%')"""
    )
    assert elsewhere >= 5


def test_results_of_severe_potassium_take_all_sorts_of_time(ask: Any) -> None:
    ((kinds, commonest),) = ask(
        """with taken as (
            select date_diff('minute', charttime, storetime) as minutes, count(*) as often
            from hosp.labevents where itemid = 50971 and valuenum >= 6.5 group by 1)
        select count(*), max(often) / sum(often) from taken"""
    )
    assert kinds >= 15
    assert commonest < 0.2


def test_the_gas_analyser_agrees_with_the_laboratory(ask: Any) -> None:
    ((worst,),) = ask(
        """select max(abs(a.valuenum - b.valuenum)) from hosp.labevents a join hosp.labevents b
            on a.subject_id = b.subject_id and a.charttime = b.charttime
        where a.itemid = 50971 and b.itemid = 50822"""
    )
    assert worst <= 0.5


def test_nobody_charts_vitals_or_doses_in_the_operating_room(ask: Any) -> None:
    assert (
        ask(
            """with away as (
            select s.subject_id, max(s.starttime) as sent, r.starttime as received
            from icu.procedureevents r join icu.procedureevents s
                on s.stay_id = r.stay_id and s.itemid = 225470 and s.starttime < r.starttime
            where r.itemid = 225469 group by s.subject_id, r.starttime)
        select e.subject_id, e.charttime
        from away a join (
            select subject_id, charttime from icu.chartevents where itemid = 220045
            union all select subject_id, charttime from hosp.emar) e
            on e.subject_id = a.subject_id and e.charttime > a.sent and e.charttime < a.received"""
        )
        == []
    )


def test_no_potassium_is_given_on_top_of_a_high_one(ask: Any) -> None:
    assert (
        ask(
            """with given as (
            select subject_id, starttime as moment from icu.inputevents where itemid = 225166
            union all select subject_id, charttime from hosp.emar where medication = 'Potassium Chloride')
        select distinct g.subject_id from given g join hosp.labevents l using (subject_id)
        where l.itemid = 50971 and l.valuenum >= 5.5
          and g.moment between greatest(l.charttime, l.storetime) and l.storetime + interval 6 hour"""
        )
        == []
    )
