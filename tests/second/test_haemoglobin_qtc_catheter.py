"""Scenarios 11, 19 and 25: the second implementation comes to the verdicts of the scenario's SQL."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from harness.data import data_folder
from harness.scenario import Scenario, load_scenario
from mcp_mimic.store.store import Store
from tests.harness.synthetic.conftest import SyntheticWorld
from tests.scenarios import test_catheter_rules as catheter
from tests.scenarios import test_qtc_rules as qtc
from tests.scenarios import test_transfusion_rules as transfusion
from tests.scenarios.timed_charts import Chart, write_charts
from tests.second import s11, s19, s25
from tests.second.chart import Case, open_chart
from tests.second.labels import labelled

pytestmark = pytest.mark.slow

SECOND = {
    "11-red-cell-transfusion-threshold": s11,
    "19-long-qtc-drug-exposure": s19,
    "25-urinary-catheter-after-surgery": s25,
}

BOUNDARIES: dict[str, Mapping[str, tuple[Chart, tuple[str, str]]]] = {
    "11-red-cell-transfusion-threshold": transfusion.CASES,
    "19-long-qtc-drug-exposure": qtc.CASES,
    "25-urinary-catheter-after-surgery": catheter.CASES,
}
"""What the rules' own tests draw at each boundary, a minute and a unit either side."""


def disagreements(
    store: Store, second: ModuleType, cases: list[tuple[Case, str]]
) -> dict[int, tuple[str, str]]:
    """Subject → the label and the second implementation's verdict, where they are not the same."""
    found = {}
    for case, gold in cases:
        with open_chart(store, case) as chart:
            verdict = second.decide(chart, case)
        if verdict != gold:
            found[case.subject_id] = gold, verdict
    return found


def scenario_of(scenario_id: str) -> Scenario:
    return load_scenario(data_folder("scenarios") / "determination" / scenario_id)


@pytest.mark.parametrize("scenario_id", SECOND)
def test_every_synthetic_case_gets_the_same_verdict(scenario_id: str, whole_world: SyntheticWorld) -> None:
    scenario = scenario_of(scenario_id)
    cases = labelled(whole_world.store, scenario)
    assert {verdict for _, verdict in cases} == {*scenario.mix}
    assert disagreements(whole_world.store, SECOND[scenario_id], cases) == {}


@pytest.mark.parametrize("scenario_id", BOUNDARIES)
def test_every_boundary_gets_the_same_verdict(scenario_id: str, tmp_path: Path) -> None:
    store = write_charts(tmp_path, [chart for chart, _ in BOUNDARIES[scenario_id].values()])
    cases = labelled(store, scenario_of(scenario_id))
    assert len(cases) > len(BOUNDARIES[scenario_id]) / 2, "charts are lost"
    assert disagreements(store, SECOND[scenario_id], cases) == {}
