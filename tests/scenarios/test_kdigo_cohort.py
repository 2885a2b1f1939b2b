"""Which ICU stays instantiate the KDIGO scenario."""

from pathlib import Path

import pytest

from harness.cohort import build_cohort
from harness.data import data_folder
from harness.scenario import load_scenario
from mcp_mimic.store.store import Store
from tests.scenarios.kdigo_charts import Chart, Entry, after, draws, hourly, write_charts

# fmt: off
CHARTS = {
    "an adult's first stay of 72 hours is in": (Chart(hours=72), True),
    "a stay a minute shorter is out": (Chart(hours=72 - 1 / 60), False),
    "a minor is out": (Chart(age=17), False),
    "coded chronic kidney disease, ICD-9, is out": (Chart(codes=[("5853", 9)]), False),
    "coded end-stage disease, ICD-10, is out": (Chart(codes=[("I10", 10), ("N186", 10)]), False),
    "kidney failure not further specified is out": (Chart(codes=[("N19", 10)]), False),
    "a code of the other version is no exclusion": (Chart(codes=[("5853", 10), ("N179", 10)]), True),
    "dialysis before the stay is out": (Chart(procedures=[Entry(after(-5), 225441)]), False),
    "dialysis during the stay is in": (Chart(procedures=[Entry(after(5), 225441)]), True),
    "weights a fifth apart are in": (
        Chart(weight=[Entry(after(1), 226512, 70), Entry(after(30), 224639, 84)]), True),
    "weights further apart are out": (
        Chart(weight=[Entry(after(1), 226512, 70), Entry(after(30), 224639, 84.1)]), False),
    "pounds charted as pounds agree with kilograms": (
        Chart(weight=[Entry(after(1), 226512, 80), Entry(after(1), 226531, 176)]), True),
    "kilograms charted as pounds are out": (
        Chart(weight=[Entry(after(1), 226512, 80), Entry(after(1), 226531, 80)]), False),
    "a weight after the window does not matter": (
        Chart(weight=[Entry(after(1), 226512, 70), Entry(after(80), 224639, 95)]), True),
    "a stay without creatinine is in": (Chart(creatinine=()), True),
    "urine near the threshold is out": (Chart(urine=hourly(40)), False),
    "urine near the threshold beside a doubled creatinine is in": (
        Chart(creatinine=draws((after(-9), 1.0), (after(9), 2.0)), urine=hourly(40)), True),
}
# fmt: on


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> set[int]:
    """The numbers of the charts that the cohort takes, without a limit."""
    folder = tmp_path_factory.mktemp("cohort")
    store = write_charts(folder, [chart for chart, _ in CHARTS.values()])
    scenario = load_scenario(_folder())
    everyone = scenario.model_copy(update={"mix": dict.fromkeys(scenario.mix, len(CHARTS))})
    return {row.subject_id - 1000 for row in build_cohort(store, [everyone]).rows}


def _folder() -> Path:
    return data_folder("scenarios") / "determination" / "01-kdigo-stage-two-in-icu"


@pytest.mark.slow
@pytest.mark.parametrize("claim", CHARTS)
def test_the_cohort_takes_the_stays_that_can_be_judged(claim: str, taken: set[int]) -> None:
    number = list(CHARTS).index(claim) + 1
    assert (number in taken) is CHARTS[claim][1]


@pytest.mark.demo
@pytest.mark.slow
def test_the_demo_yields_these_cases(demo_store: Store) -> None:
    cohort = build_cohort(demo_store, [load_scenario(_folder())])
    assert {stratum.verdict: stratum.eligible for stratum in cohort.strata} == {
        "yes": 13,
        "no": 7,
        "lack_of_data": 0,
        "medical_ambiguity": 0,
    }
    assert [(stratum.verdict, stratum.short) for stratum in cohort.shortfalls] == [
        ("no", 5),
        ("lack_of_data", 5),
        ("medical_ambiguity", 1),
    ]
