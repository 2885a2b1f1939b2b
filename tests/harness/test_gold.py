"""Gold files: windows, names, items and ids as the verifier compares them, and golds that cannot be."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from harness.build import task_id
from harness.errors import TaskError
from harness.gold import Case, gather_gold
from harness.scenario import Evidence, Scenario, Search
from harness.scoring.gold import read_gold
from harness.sources import NAME_COLUMNS, ROUTES, TERM_COLUMNS, text_piece
from mcp_mimic.chart.slice import open_slice
from mcp_mimic.chart.tasks import STORE_ALIAS, open_tasks
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES
from mcp_mimic.tools.sources import SOURCES
from tests.harness.built_tasks import CHARTS, KEY, World
from tests.scenarios.timed_charts import T


@pytest.fixture(scope="module")
def world(task_world: World) -> World:
    return task_world


def gold(world: World, name: str) -> dict[str, Any]:
    file = world.tasks / task_id(world.rows[name], KEY) / "tests" / "gold.json"
    return dict(json.loads(file.read_text()))


def requirement(world: World, name: str, need: str) -> Mapping[str, Any]:
    return next(each for each in gold(world, name)["requirements"] if each["id"] == need)


def regather(world: World, name: str, **changed: object) -> dict[str, Any]:
    row = world.rows[name]
    scenario = next(each for each in world.scenarios if each.id == row.scenario)
    return gather_gold(world.store, scenario.model_copy(update=changed), [Case("task", row)])["task"]


def with_evidence(scenario: Scenario, **changed: object) -> tuple[Evidence, ...]:
    """The scenario's evidence with the requirement `no_treatment` changed."""
    return tuple(
        each.model_copy(update=changed) if each.id == "no_treatment" else each for each in scenario.evidence
    )


def searching(world: World, **entry: object) -> dict[str, Any]:
    """The gold of an untreated case whose absence asks for one other search."""
    search = Search.model_validate({"source": "hosp.emar", **entry})
    evidence = with_evidence(world.scenarios[1], search=(search,))
    (need,) = (
        each
        for each in regather(world, "potassium no", evidence=evidence)["requirements"]
        if each["id"] == "no_treatment"
    )
    (found,) = need["search"]
    return dict(found)


def moment(**offset: float) -> str:
    return (T + timedelta(**offset)).isoformat()


def test_the_scorer_accepts_every_gold(world: World) -> None:
    for name in CHARTS:
        read = read_gold(gold(world, name))
        assert (read.verdict, read.rule) == (world.rows[name].gold, world.rows[name].rule)
        assert read.label == "rule-derived"


def test_only_the_requirements_of_the_verdict_and_rule_are_there(world: World) -> None:
    found = {name: [need["id"] for need in gold(world, name)["requirements"]] for name in CHARTS}
    assert found == {
        "lactate yes": ["index_lactate", "repeat_lactate"],
        "lactate no": ["index_lactate", "no_repeat", "presence"],
        "lactate lack": ["index_lactate", "no_repeat", "departure"],
        "lactate silent": ["index_lactate", "no_laboratory"],
        "lactate ambiguity": ["index_lactate", "no_repeat", "first_culture", "late_lactate"],
        "potassium yes": ["index_potassium", "treatment"],
        "potassium no": ["index_potassium", "no_treatment"],
        "potassium lack": ["index_potassium", "no_treatment"],
        "potassium ambiguity": ["index_potassium", "no_treatment", "disputing_potassium"],
    }


def test_what_suffices_is_relevant_too(world: World) -> None:
    for name in CHARTS:
        for need in gold(world, name)["requirements"]:
            assert {eid for alternative in need["alternatives"] for eid in alternative} <= set(
                need["relevant"]
            )


class TestWindows:
    def test_ends_are_evaluated_for_the_case(self, world: World) -> None:
        entry = requirement(world, "potassium no", "no_treatment")["search"][0]
        assert (entry["from"], entry["to"]) == (moment(minutes=-30), moment(minutes=60))

    def test_an_end_after_as_of_is_as_of(self, world: World) -> None:
        entry = searching(world, **{"from": "index_time", "to": "index_time + interval 5 hour"})
        assert (entry["from"], entry["to"]) == (moment(), moment(hours=4))

    def test_an_open_end_is_as_of_and_an_open_begin_stays_open(self, world: World) -> None:
        entry = searching(world)
        assert (entry["from"], entry["to"]) == (None, moment(hours=4))

    def test_a_window_after_as_of_is_an_error(self, world: World) -> None:
        with pytest.raises(TaskError, match="no_treatment begins after it ends"):
            searching(world, **{"from": "as_of + interval 1 minute"})


class TestNames:
    def test_they_are_the_store_s_strings_that_match_in_lower_case(self, world: World) -> None:
        entry = requirement(world, "potassium lack", "no_treatment")["search"][0]
        assert entry["names"] == ["calcium gluconate", "insulin regular sliding scale"]

    def test_case_does_not_matter(self, world: World) -> None:
        assert searching(world, names="HEPARIN")["names"] == ["heparin"]

    def test_where_no_string_matches_the_list_is_empty(self, world: World) -> None:
        assert searching(world, names="patiromer")["names"] == []

    def test_each_table_s_names_are_those_that_its_tool_matches(self) -> None:
        for table, column in TERM_COLUMNS.items():
            if table not in ("hosp.poe", "hosp.diagnoses_icd"):
                assert str(SOURCES[table].name).replace("r.", "") == column

    def test_a_code_has_the_title_that_its_tool_matches(self) -> None:
        source = SOURCES["hosp.diagnoses_icd"]
        assert source.name == "concat_ws(' ', r.icd_code, d.long_title)"
        assert (
            "left join hosp.d_icd_diagnoses d on d.icd_code = r.icd_code and d.icd_version = r.icd_version"
            in (source.joins)
        )
        assert NAME_COLUMNS["hosp.diagnoses_icd"] == (
            "concat_ws(' ', icd_code, (select d.long_title from hosp.d_icd_diagnoses d "
            "where d.icd_code = diagnoses_icd.icd_code and d.icd_version = diagnoses_icd.icd_version))"
        )

    def test_a_table_is_searched_by_names_only_where_its_tool_takes_some(self) -> None:
        assert all(ROUTES[table].names for table in TERM_COLUMNS)
        assert NAME_COLUMNS.keys() < TERM_COLUMNS.keys()

    @pytest.mark.parametrize("table", sorted(NAME_COLUMNS))
    def test_every_table_with_names_gives_the_store_s(self, table: str, small_store: Store) -> None:
        with open_tasks(small_store, []) as connection:
            column = NAME_COLUMNS[table]
            connection.execute(f"select distinct lower(trim({column})) from {STORE_ALIAS}.{table}")

    def test_what_names_an_order_here_begins_the_name_that_its_tool_matches(self) -> None:
        tool = str(SOURCES["hosp.poe"].name).replace("r.", "").removesuffix(", x.details)")
        assert f"{tool})" == NAME_COLUMNS["hosp.poe"]


class TestTerms:
    def test_of_a_text_they_are_whole_words_in_a_row_or_open_where_they_say(self) -> None:
        assert [text_piece(term) for term in ("LVEF", "Ejection  fraction", "metopr*", "*pril", "beta-blocker")] == [
            " lvef ", " ejection fraction ", " metopr", "pril ", " beta blocker ",
        ]  # fmt: skip

    def test_of_a_table_they_are_parts_of_names_whatever_the_store_has(self, world: World) -> None:
        assert searching(world, terms=["Patiromer", "calcium"])["names"] == ["calcium", "patiromer"]

    def test_a_text_of_a_module_that_the_store_lacks_cannot_be_asked_for(self, world: World) -> None:
        with pytest.raises(TaskError, match="no_treatment needs a search, and this store has none"):
            searching(world, source="note.discharge.text", terms=["patiromer"])


class TestItems:
    def test_an_absence_asks_for_the_items_that_the_store_knows(self, world: World) -> None:
        entries = {
            entry["source"]: entry for entry in requirement(world, "potassium no", "no_treatment")["search"]
        }
        assert entries["icu.inputevents"]["items"] == [221456]
        assert entries["icu.procedureevents"]["items"] == [225441]

    def test_none_of_them_there_leaves_an_empty_list(self, world: World) -> None:
        entries = {
            entry["source"]: entry for entry in requirement(world, "lactate no", "no_repeat")["search"]
        }
        assert entries["hosp.labevents"]["items"] == [50813]
        assert entries["icu.chartevents"]["items"] == []

    def test_for_rows_the_search_is_as_the_scenario_says(self, world: World) -> None:
        entry = requirement(world, "potassium yes", "index_potassium")["search"][0]
        assert entry["items"] == [50822, 50971]


class TestModules:
    def test_a_table_that_the_store_lacks_cannot_be_asked_for(self, world: World) -> None:
        assert "ed" not in world.store.manifest.modules
        search = (
            Search.model_validate({"source": "ed.pyxis", "names": "calcium"}),
            Search.model_validate({"source": "hosp.emar", "names": "calcium"}),
        )
        evidence = with_evidence(world.scenarios[1], search=search)
        needs = regather(world, "potassium no", evidence=evidence)["requirements"]
        assert [entry["source"] for entry in needs[1]["search"]] == ["hosp.emar"]

    def test_an_absence_of_nothing_else_is_an_error(self, world: World) -> None:
        search = (Search.model_validate({"source": "ed.pyxis", "names": "calcium"}),)
        evidence = with_evidence(world.scenarios[1], search=search)
        with pytest.raises(TaskError, match="no_treatment needs a search, and this store has none"):
            regather(world, "potassium no", evidence=evidence)


class TestKnownIds:
    @pytest.mark.parametrize("name", CHARTS)
    def test_they_are_exactly_those_of_the_slice(self, name: str, world: World) -> None:
        row = world.rows[name]
        known = read_gold(gold(world, name)).known
        eids: set[str] = set()
        with open_slice(world.store, row.subject_id, row.as_of, row.sealed_hadm_id) as chart:
            cursor = chart.cursor()
            for table in TABLES.values():
                if table.kind and table.schema in chart.modules:
                    columns = {
                        column
                        for (column,) in cursor.execute(
                            "select column_name from information_schema.columns "
                            "where table_schema = ? and table_name = ?",
                            [table.schema, table.name],
                        ).fetchall()
                    }
                    if "eid" in columns:
                        rows = cursor.execute(f"select distinct eid from {table.qualified}").fetchall()
                        eids |= {eid for (eid,) in rows}
        assert eids
        assert all(eid in known for eid in eids)
        assert sum(high - low + 1 for ranges in known.ranges.values() for low, high in ranges) + sum(
            len(texts) for texts in known.texts.values()
        ) == len(eids)

    def test_a_pending_culture_is_known_as_such(self, world: World) -> None:
        assert "micro:s1" in read_gold(gold(world, "lactate ambiguity")).known

    def test_what_comes_after_as_of_is_not_known(self, world: World) -> None:
        row = replace(world.rows["potassium yes"], as_of=T + timedelta(minutes=20))
        before = regather(world, "potassium yes")
        scenario = world.scenarios[1]
        after = gather_gold(world.store, scenario, [Case("task", row)])["task"]
        assert after["known"]["emar"] == [[1, 2], [4, 4]]
        assert before["known"]["emar"] == [[1, 4]]


class TestContradictions:
    def test_a_row_that_refutes_the_absence(self, world: World) -> None:
        sql = (
            "select task_id, 'no_treatment' as requirement, 'emar:1' as alternative, 'emar:1' as eid, "
            "'qualifying' as role from task union all select task_id, 'index_potassium', 'lab:1', 'lab:1', "
            "'sufficient' from task"
        )
        with pytest.raises(TaskError, match="no_treatment claims an absence, but emar:1 is there"):
            regather(world, "potassium no", evidence_sql=sql)

    def test_rows_that_are_not_there(self, world: World) -> None:
        sql = (
            "select task_id, 'treatment' as requirement, 'emar:4' as alternative, 'emar:4' as eid, "
            "'sufficient' as role from task"
        )
        with pytest.raises(TaskError, match=r"case task \(yes, treated\): index_potassium asks for rows"):
            regather(world, "potassium yes", evidence_sql=sql)

    def test_a_verdict_without_a_requirement(self, world: World) -> None:
        never = tuple(each.model_copy(update={"when": "false"}) for each in world.scenarios[1].evidence)
        with pytest.raises(TaskError, match="no requirement applies"):
            regather(world, "potassium yes", evidence=never)

    def test_another_rule_than_the_cohort_s(self, world: World) -> None:
        row = replace(world.rows["potassium yes"], rule="treated_early")
        with pytest.raises(TaskError, match=r"the cohort says yes \(treated_early\)"):
            gather_gold(world.store, world.scenarios[1], [Case("task", row)])

    def test_a_cohort_without_rules_is_accepted(self, world: World) -> None:
        row = replace(world.rows["potassium yes"], rule="")
        assert gather_gold(world.store, world.scenarios[1], [Case("task", row)])["task"]["rule"] == "treated"


def test_no_cases_make_no_golds(world: World) -> None:
    assert gather_gold(world.store, world.scenarios[0], []) == {}


def test_times_are_written_as_the_scorer_reads_them(world: World) -> None:
    entry = requirement(world, "lactate no", "no_repeat")["search"][0]
    assert datetime.fromisoformat(entry["from"]).tzinfo is None


def test_a_requirement_on_a_row_that_the_chart_has_not_is_refused(world: World) -> None:
    sql = (
        "select task_id, r.id as requirement, null as alternative, 'lab:999999' as eid, 'sufficient' as role"
    )
    needs = "(values ('index_potassium'), ('no_treatment')) as r(id)"
    with pytest.raises(TaskError, match="asks for lab:999999, and the chart has no such row"):
        regather(world, "potassium no", evidence_sql=f"{sql} from task, {needs}")
