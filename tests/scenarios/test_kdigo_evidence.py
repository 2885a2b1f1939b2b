"""What an answer to the KDIGO question must rest on."""

from pathlib import Path

import pytest

from harness.adjudication import Requirement, adjudicate, gather_evidence
from harness.data import data_folder
from harness.scenario import load_scenario
from mcp_mimic.chart.tasks import open_tasks
from tests.scenarios.kdigo_charts import (
    AS_OF,
    KG_80,
    Chart,
    Entry,
    T,
    after,
    draws,
    hourly,
    kdigo_task,
    write_charts,
)

OLIGURIA = [*hourly(70, 1, 16), *hourly(30, 17, 40), *hourly(70, 41)]
RISE = draws((after(-60), 0.8), (after(-30), 0.9), (after(-10), 1.1), (after(20), 1.6), (after(30), 1.8))

CHARTS = {
    "rise": Chart(creatinine=RISE, observations=[Entry(after(30), 220615, 1.8)]),
    "rise and oliguria": Chart(creatinine=RISE, urine=OLIGURIA),
    "oliguria": Chart(urine=OLIGURIA),
    "dialysis": Chart(procedures=[Entry(after(5), 225802)]),
    "steady": Chart(
        creatinine=draws((after(-30), 1.0), (after(5), 1.2), (after(15), 1.2), (after(40), 0.9)),
        weight=[*KG_80, Entry(after(20), 224639, 81)],
    ),
    "one creatinine, no weight": Chart(creatinine=draws((after(3), 1.4)), weight=()),
    "no urine": Chart(urine=()),
    "no earlier creatinine": Chart(creatinine=draws((after(1), 2.6), (after(24), 2.2)), gender="F", age=50),
}


@pytest.fixture(scope="module")
def needs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Requirement]]:
    """The requirements of every chart, by name."""
    store = write_charts(tmp_path_factory.mktemp("evidence"), CHARTS.values())
    scenario = load_scenario(_folder())
    tasks = [kdigo_task(name, number) for number, name in enumerate(CHARTS, start=1)]
    with open_tasks(store, tasks) as connection:
        adjudicate(connection, scenario)
        found = gather_evidence(connection, scenario)
    return {name: {need.id: need for need in requirements} for name, requirements in found.items()}


def _folder() -> Path:
    return data_folder("scenarios") / "determination" / "01-kdigo-stage-two-in-icu"


Needs = dict[str, dict[str, Requirement]]


def test_every_verdict_rests_on_the_icu_stay(needs: Needs) -> None:
    for number, name in enumerate(CHARTS, start=1):
        assert needs[name]["icu_stay"].alternatives == ((f"icu:{3000 + number}",),)


def test_any_pair_that_reaches_a_doubling_settles_yes_and_no_other_pair_does(needs: Needs) -> None:
    alternatives = needs["rise and oliguria"]["stage_two"].alternatives
    labs = {eid for pair in alternatives for eid in pair if eid.startswith("lab:")}
    first = min(int(eid[4:]) for eid in labs)
    low, lower_middle, middle, higher, peak = (f"lab:{first + place}" for place in range(5))
    pairs = {frozenset(pair) for pair in alternatives if set(pair) <= labs}
    assert pairs == {frozenset(pair) for pair in ((low, higher), (low, peak), (lower_middle, peak))}
    assert middle not in labs


def test_the_charts_copy_of_a_value_stands_for_it(needs: Needs) -> None:
    alternatives = needs["rise"]["stage_two"].alternatives
    copies = [pair for pair in alternatives if any(eid.startswith("obs:") for eid in pair)]
    assert len(copies) == 2
    assert len(alternatives) == 5


def test_oliguria_beside_a_rise_is_an_alternative_to_it(needs: Needs) -> None:
    alternatives = needs["rise and oliguria"]["stage_two"].alternatives
    assert [sorted(eid.split(":")[0] for eid in pair) for pair in alternatives].count(["obs", "out"]) == 1


def test_urine_alone_needs_one_search_over_the_first_oliguric_span_and_a_weight(needs: Needs) -> None:
    (window,) = needs["oliguria"]["urine_span"].search
    assert window.end is not None
    assert window.start is not None
    assert (window.end - window.start).total_seconds() == 12 * 3600
    assert window.end == after(26)
    assert needs["oliguria"]["urine_span"].kind == "series"
    assert len(needs["oliguria"]["weight"].alternatives) == 1
    assert "stage_two" not in needs["oliguria"]


def test_one_dialysis_row_settles_yes(needs: Needs) -> None:
    assert [len(each) for each in needs["dialysis"]["stage_two"].alternatives] == [1]
    assert "weight" not in needs["dialysis"]


def test_no_rests_on_peak_and_lowest_creatinine_urine_weight_and_a_search_for_dialysis(needs: Needs) -> None:
    steady = needs["steady"]
    assert set(steady) == {
        "icu_stay",
        "weight",
        "peak_creatinine",
        "lowest_creatinine",
        "urine_series",
        "no_renal_replacement",
    }
    assert len(steady["peak_creatinine"].alternatives) == 2, "two equal peaks are equally good"
    assert len(steady["lowest_creatinine"].alternatives) == 2, "the peak's baseline, or the lowest of all"
    assert len(steady["weight"].alternatives) == 2
    (window,) = steady["no_renal_replacement"].search
    assert (window.start, window.end) == (T, AS_OF)
    assert steady["no_renal_replacement"].qualifying == ()


def test_lack_rests_on_a_search_for_any_input_that_is_missing(needs: Needs) -> None:
    two = needs["one creatinine, no weight"]["missing_input"]
    assert two.any
    assert [window.source for window in two.search] == ["hosp.labevents", "icu.chartevents"]
    assert [window.source for window in needs["no urine"]["missing_input"].search] == ["icu.outputevents"]


def test_ambiguity_rests_on_the_first_creatinine_and_a_search_for_earlier_ones(needs: Needs) -> None:
    ambiguous = needs["no earlier creatinine"]
    assert len(ambiguous["first_creatinine"].alternatives) == 1
    (window,) = ambiguous["no_earlier_creatinine"].search
    assert window.start == after(-365 * 24)
    assert window.end is not None
    assert window.end < after(-24)
    assert ambiguous["no_earlier_creatinine"].qualifying == ()
