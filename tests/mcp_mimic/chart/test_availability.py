"""The rules are complete: every official column has one, and nothing else is served."""

from pathlib import Path

import duckdb
import pytest

from mcp_mimic.chart.served import SERVED_TABLES, served_columns
from mcp_mimic.store.availability import AVAILABILITY
from mcp_mimic.store.copies import CHART_COPIES
from mcp_mimic.store.rules import Never
from mcp_mimic.store.tables import TABLES
from tests.mcp_mimic.chart.truth import NEVER

NAMED_COPIES = {
    220615: 50912,
    220621: 50931,
    225668: 50813,
    227467: 51237,
    227442: 50971,
    227464: 50822,
    220645: 50983,
    220228: 51222,
    227457: 51265,
}


@pytest.mark.parametrize("name", TABLES)
def test_every_column_has_a_rule_and_every_rule_a_column(name: str) -> None:
    assert set(AVAILABILITY[name].columns) == set(TABLES[name].column_names)


def test_the_rules_are_for_the_tables_of_the_store_and_no_others() -> None:
    assert set(AVAILABILITY) == set(TABLES)


def test_a_column_without_a_rule_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = AVAILABILITY["hosp.labevents"].columns
    monkeypatch.delitem(rules, "valuenum")  # type: ignore[arg-type]
    assert "valuenum" not in served_columns.__wrapped__(
        "hosp.labevents"
    )  # what is worked out once is not kept


@pytest.mark.parametrize("name", TABLES)
def test_what_names_people_or_gives_the_outcome_away_is_never_served(name: str) -> None:
    hidden = {column for column in TABLES[name].column_names if column in NEVER or column == "provider_id"}
    assert {c for c, rule in AVAILABILITY[name].columns.items() if isinstance(rule, Never)} == hidden


def test_tables_of_providers_and_caregivers_are_not_served() -> None:
    assert set(TABLES) - set(SERVED_TABLES) == {"hosp.provider", "icu.caregiver"}


@pytest.mark.parametrize("name", TABLES)
def test_joins_need_only_tables_that_exist(name: str) -> None:
    assert set(AVAILABILITY[name].needs) <= set(TABLES) - {name}


def test_the_named_copies_are_known() -> None:
    assert all(lab in CHART_COPIES[chart] for chart, lab in NAMED_COPIES.items())


@pytest.mark.demo
def test_copies_are_chart_items_of_laboratory_items(demo_dir: Path) -> None:
    with duckdb.connect() as connection:
        chart = connection.execute(
            f"select itemid from read_csv('{demo_dir}/icu/d_items.csv.gz') where linksto = 'chartevents'"
        ).fetchall()
        labs = connection.execute(
            f"select itemid from read_csv('{demo_dir}/hosp/d_labitems.csv.gz')"
        ).fetchall()
    assert set(CHART_COPIES) <= {row[0] for row in chart}
    assert {lab for found in CHART_COPIES.values() for lab in found} <= {row[0] for row in labs}


@pytest.mark.demo
def test_copies_carry_the_value_of_the_laboratory_item(demo_dir: Path) -> None:
    pairs = ", ".join(f"({chart}, {lab})" for chart, labs in CHART_COPIES.items() for lab in labs)
    with duckdb.connect() as connection:
        unlike = connection.execute(
            f"""select c.itemid from read_csv('{demo_dir}/icu/chartevents.csv.gz') c
            join (values {pairs}) pair(chart, lab) on pair.chart = c.itemid
            join read_csv('{demo_dir}/hosp/labevents.csv.gz') l
                on l.subject_id = c.subject_id and l.charttime = c.charttime and l.itemid = pair.lab
            where c.valuenum is not null and l.valuenum is not null
            group by c.itemid having avg((abs(c.valuenum - l.valuenum) < 1e-6)::int) < 0.9"""
        ).fetchall()
    assert unlike == []
