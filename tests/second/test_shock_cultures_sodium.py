"""Scenarios 6, 7 and 15: the second implementation comes to the verdicts of the scenario's SQL."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from harness.data import data_folder
from harness.scenario import load_scenario
from mcp_mimic.chart.tasks import TaskRow
from mcp_mimic.store.store import Store
from tests.harness.synthetic.conftest import SyntheticWorld
from tests.scenarios import test_septic_shock_rules as shock
from tests.scenarios import test_sodium_rules as sodium
from tests.scenarios import test_staph_aureus_rules as cultures
from tests.scenarios.timed_charts import Chart, judge
from tests.second import s06, s07, s15
from tests.second.chart import Case, open_chart
from tests.second.labels import labelled

SECOND = {
    "06-septic-shock-sepsis3-criteria": s06,
    "07-staph-aureus-repeat-cultures": s07,
    "15-sodium-correction-first-day": s15,
}

BOUNDARIES: dict[str, Mapping[str, tuple[Chart, tuple[str, str]]]] = {
    "06-septic-shock-sepsis3-criteria": shock.CASES,
    "07-staph-aureus-repeat-cultures": cultures.CASES,
    "15-sodium-correction-first-day": sodium.CASES,
}
"""What the rules' own tests draw at each boundary: far denser there than any hospital."""

slow = pytest.mark.slow


def decided(store: Store, second: ModuleType, case: Case) -> str:
    with open_chart(store, case) as chart:
        return str(second.decide(chart, case))


@slow
@pytest.mark.parametrize("scenario_id", SECOND)
def test_every_synthetic_case_gets_the_same_verdict(scenario_id: str, whole_world: SyntheticWorld) -> None:
    scenario = load_scenario(data_folder("scenarios") / "determination" / scenario_id)
    cases = labelled(whole_world.store, scenario)
    assert {verdict for _, verdict in cases} == {
        verdict for verdict, wanted in scenario.mix.items() if wanted
    }
    found = {
        case.subject_id: (gold, decided(whole_world.store, SECOND[scenario_id], case)) for case, gold in cases
    }
    assert {subject: pair for subject, pair in found.items() if pair[0] != pair[1]} == {}


@slow
@pytest.mark.parametrize("scenario_id", BOUNDARIES)
def test_every_boundary_gets_the_same_verdict(scenario_id: str, tmp_path: Path) -> None:
    charts = {claim: chart for claim, (chart, _) in BOUNDARIES[scenario_id].items()}
    judged = judge(tmp_path, scenario_id, charts)
    store = Store.open(tmp_path / "store")
    second = {
        claim: decided(store, SECOND[scenario_id], as_case(scenario_id, task))
        for claim, task in judged.tasks.items()
    }
    assert second == {claim: verdict for claim, (verdict, _) in judged.verdicts.items()}
    assert second.keys() == charts.keys()


def as_case(scenario_id: str, task: TaskRow) -> Case:
    assert task.index_time is not None
    assert task.index_eid is not None
    return Case(
        scenario=scenario_id,
        subject_id=task.subject_id,
        hadm_id=task.hadm_id,
        stay_id=task.stay_id,
        index_time=task.index_time,
        as_of=task.as_of,
        sealed_hadm_id=task.sealed_hadm_id,
        index_eid=task.index_eid,
        params=dict(task.params),
    )
