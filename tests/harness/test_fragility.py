"""Fragility: five minutes, a last digit, another reading."""

from datetime import timedelta
from pathlib import Path

import pytest

from harness.data import data_folder
from harness.fragility import Fragility, assess_fragility
from harness.scenario import load_scenario
from mcp_mimic.chart.tasks import TaskRow
from mcp_mimic.store.store import Store
from tests.harness.toy_scenario import ADMITTED, Admissions, ward_store, write_toy
from tests.scenarios.kdigo_charts import Chart, after, draws, hourly, kdigo_task, write_charts


def at(minutes: float, *values: float) -> Admissions:
    return [(ADMITTED, [(ADMITTED + timedelta(minutes=minutes), value) for value in values])]


# fmt: off
CASES = {
    "a high value in the middle holds, whichever reading is taken": (at(120, 6.2), False, False),
    "a value between two readings' thresholds depends on the reading": (at(120, 5.2), False, True),
    "a value on the threshold depends on its last digit": (at(120, 5.0), True, True),
    "a value a unit short of the threshold depends on its last digit": (at(120, 4.9), True, False),
    "a value two units short does not": (at(120, 4.8), False, False),
    "the only value four minutes before the end depends on the clock": (at(356, 6.2), True, False),
    "the only value five minutes before the end still counts when moved": (at(355, 6.2), False, False),
    "a value four minutes after admission depends on the clock": (at(4, 6.2), True, False),
    "a second value close to the end does not matter if the first agrees": (
        [(ADMITTED, [(ADMITTED + timedelta(hours=2), 6.2), (ADMITTED + timedelta(minutes=358), 6.2)])],
        False, False),
    "nothing to move is not fragile": (at(120), False, False),
}
# fmt: on


@pytest.fixture(scope="module")
def assessed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fragility]:
    root = tmp_path_factory.mktemp("fragility")
    subjects = {100 + n: admissions for n, (admissions, _, _) in enumerate(CASES.values())}
    store = ward_store(root, subjects)
    tasks = [
        TaskRow(
            task_id=name,
            subject_id=100 + n,
            hadm_id=10 * (100 + n) + 1,
            index_time=ADMITTED,
            as_of=ADMITTED + timedelta(hours=6),
            index_eid=f"adm:{10 * (100 + n) + 1}",
            params={"threshold": 5.0},
        )
        for n, name in enumerate(CASES)
    ]
    return assess_fragility(store, load_scenario(write_toy(root)), tasks)


@pytest.mark.parametrize("claim", CASES)
def test_fragility_is_what_small_moves_and_readings_change(
    claim: str, assessed: dict[str, Fragility]
) -> None:
    assert assessed[claim] == Fragility(*CASES[claim][1:])


def test_no_tasks_are_no_work(small_store: Store, tmp_path: Path) -> None:
    assert assess_fragility(small_store, load_scenario(write_toy(tmp_path)), []) == {}


@pytest.mark.slow
def test_the_kdigo_readings_and_moves_are_tried(tmp_path: Path) -> None:
    straddling = [*hourly(70, 1, 17), *hourly(30, 18, 31), *hourly(70, 32)]
    charts = {
        "clear": Chart(creatinine=draws((after(-30), 1.0), (after(30), 2.4))),
        "a unit above twice": Chart(creatinine=draws((after(-30), 1.0), (after(30), 2.0))),
        "first of the admission was high": Chart(
            creatinine=draws((after(-60), 0.8), (after(-30), 1.6), (after(30), 1.9)), admitted=after(-40)
        ),
        "oliguria across two fixed windows": Chart(urine=straddling),
        "a weekly baseline by two minutes": Chart(
            creatinine=draws((after(30, 2 - 7 * 24 * 60), 1.0), (after(-20), 1.5), (after(30), 2.2))
        ),
    }
    store = write_charts(tmp_path, charts.values())
    scenario = load_scenario(data_folder("scenarios") / "determination" / "01-kdigo-stage-two-in-icu")
    tasks = [kdigo_task(name, number) for number, name in enumerate(charts, start=1)]
    assert assess_fragility(store, scenario, tasks) == {
        "clear": Fragility(fragile=False, definition_fragile=False),
        "a unit above twice": Fragility(fragile=True, definition_fragile=False),
        "first of the admission was high": Fragility(fragile=False, definition_fragile=True),
        "oliguria across two fixed windows": Fragility(fragile=False, definition_fragile=True),
        "a weekly baseline by two minutes": Fragility(fragile=True, definition_fragile=True),
    }
