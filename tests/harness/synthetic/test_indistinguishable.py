"""A case's class, and whether it was planted at all, must not show in what the question is not about.

Each feature of a chart is compared between two groups by a rank-sum test; the smallest p-value, corrected
for the number of features, must not be small. What a scenario's plants write or suppress is left out, and
so are plants that say where the patient is: there the difference is the question.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from math import sqrt
from statistics import NormalDist
from typing import Any

import pytest

from harness.scenario import load_scenarios
from harness.synthetic.chart import Chart, open_chart
from harness.synthetic.hospital import fill_chart
from harness.synthetic.plan import Case, PlantedScenario, plan_cases
from harness.synthetic.plant_parts import StayBounds
from harness.synthetic.plants import read_plants

pytestmark = pytest.mark.slow

LEVEL = 0.01
SEED = 20260101
FEWEST = 6
FOLLOWERS = {
    "hosp.labevents": {"icu.chartevents"},
    "hosp.emar": {"hosp.emar_detail", "hosp.poe", "hosp.pharmacy", "hosp.prescriptions"},
    "hosp.prescriptions": {"hosp.emar", "hosp.emar_detail", "hosp.poe", "hosp.pharmacy"},
    "hosp.poe": {"hosp.poe_detail", "note.radiology", "note.radiology_detail"},
    "ecg.machine_measurements": {"ecg.record_list"},
    "icu.inputevents": {"icu.ingredientevents"},
    "icu.procedureevents": {
        "icu.datetimeevents",
        "ecg.machine_measurements",
        "ecg.record_list",
        "note.radiology",
        "note.radiology_detail",
    },
    "note.discharge": {"note.discharge_detail"},
    "note.radiology": {"note.radiology_detail"},
}
"""Planted source → tables that its events also write."""

Features = dict[str, float]


@dataclass(frozen=True)
class _Sized:
    """A scenario with a mix of our own."""

    scenario: PlantedScenario
    mix: Mapping[Any, int]

    @property
    def id(self) -> str:
        return self.scenario.id

    @property
    def plants(self) -> Any:
        return self.scenario.plants


SCENARIOS = [_Sized(scenario, {"yes": 13, "no": 13}) for scenario in load_scenarios()]


def touched(scenario: PlantedScenario) -> set[str]:
    """The tables that the scenario's plants decide."""
    plants = read_plants(scenario.plants)
    sources: set[str] = {part.source for plant in plants for part in (*plant.event, *plant.suppress)}
    for plant in plants:
        sources |= {"hosp.diagnoses_icd"} if plant.diagnosis else set()
        sources |= {"note.discharge"} if plant.summary.absent or plant.earlier_summary.absent else set()
        sources |= {"note.radiology"} if plant.radiology else set()
    return sources.union(*(FOLLOWERS.get(source, set()) for source in sources))


def features(chart: Chart) -> Features:
    """Size and shape of a chart: rows by table, lengths, dates, keys, the person."""
    hour = timedelta(hours=1)
    index = next(a for a in chart.admissions if a.arrived <= chart.index_time <= a.discharged)
    found: Features = {f"rows of {table}": len(rows) for table, rows in chart.rows.items()}
    found |= {
        "admission hours": (index.discharged - index.admitted) / hour,
        "hours before": (chart.index_time - index.arrived) / hour,
        "ICU hours": sum((stay.end - stay.start) / hour for _, stay in chart.icu_stays()),
        "admissions": len(chart.admissions),
        "segments": len(index.segments),
        "year": chart.index_time.year,
        "day": chart.index_time.timetuple().tm_yday,
        "hour": chart.index_time.hour,
        "age": chart.person.anchor_age,
        "height": chart.person.height_cm,
        "year group": int(chart.person.anchor_year_group[:4]),
        "subject_id": chart.person.subject_id,
        "hadm_id": index.hadm_id,
        "transfer_id": index.segments[0].transfer_id,
        "labevent_id": chart.rows["hosp.labevents"][0]["labevent_id"],
        "specimen_id": chart.rows["hosp.labevents"][0]["specimen_id"],
        "pharmacy_id": chart.rows["hosp.pharmacy"][0]["pharmacy_id"],
    }
    return found


def chart_of(case: Case) -> Chart:
    chart = open_chart(case, SEED)
    fill_chart(chart)
    return chart


def rank_sum_p(left: Sequence[float], right: Sequence[float]) -> float:
    """Two-sided p of the rank-sum test, by the normal approximation with ties."""
    pooled = sorted((value, side) for side, values in enumerate((left, right)) for value in values)
    ranks, ties, place = 0.0, 0.0, 0
    for _, group in groupby(pooled, key=lambda pair: pair[0]):
        members = list(group)
        middle = place + (len(members) + 1) / 2
        ranks += middle * sum(side == 0 for _, side in members)
        ties += len(members) ** 3 - len(members)
        place += len(members)
    m, n = len(left), len(right)
    variance = m * n / 12 * ((m + n + 1) - ties / ((m + n) * (m + n - 1)))
    if variance <= 0:
        return 1.0
    z = (abs(ranks - m * (m + n + 1) / 2) - 0.5) / sqrt(variance)
    return min(1.0, 2 * (1 - NormalDist().cdf(max(z, 0))))


def tell_apart(left: Sequence[Features], right: Sequence[Features], without: Iterable[str] = ()) -> Features:
    """Features by which the groups differ: name → p, corrected for the number of features."""
    hidden = {f"rows of {table}" for table in without}
    names = sorted({name for chart in (*left, *right) for name in chart} - hidden)
    p_values = {
        name: len(names) * rank_sum_p([c.get(name, 0) for c in left], [c.get(name, 0) for c in right])
        for name in names
    }
    return {name: p for name, p in p_values.items() if p < LEVEL}


@pytest.fixture(scope="module")
def charts() -> list[tuple[Case, Features]]:
    return [(case, features(chart_of(case))) for case in plan_cases(SCENARIOS, patients=140)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.id)
def test_yes_and_no_cannot_be_told_apart_outside_the_question(
    charts: list[tuple[Case, Features]], scenario: PlantedScenario
) -> None:
    compared = 0
    plants = [case.plant for case, _ in charts if case.plant and case.scenario == scenario.id]
    for place in {(plant.anchor, plant.presence) for plant in plants}:
        groups: dict[str, list[Features]] = {"yes": [], "no": []}
        for case, found in charts:
            plant = case.plant
            if plant and case.scenario == scenario.id and (plant.anchor, plant.presence) == place:
                groups[plant.verdict].append(found)
        if min(map(len, groups.values())) >= FEWEST:
            compared += 1
            assert tell_apart(groups["yes"], groups["no"], touched(scenario)) == {}, place
    assert compared


def test_carriers_and_neighbours_cannot_be_told_apart(charts: list[tuple[Case, Features]]) -> None:
    carriers = [found for case, found in charts if case.plant]
    neighbours = [found for case, found in charts if not case.plant]
    assert tell_apart(carriers, neighbours) == {}


def _stay_longer(case: Case) -> Case:
    return replace(case, bounds=StayBounds(icu_hours=400))


@pytest.mark.parametrize(
    ("mutate", "shown"),
    [(_stay_longer, {"ICU hours", "admission hours"}), (None, set())],
    ids=["longer stays", "the generator as it is"],
)
def test_a_generator_that_favours_a_class_is_caught(
    mutate: Callable[[Case], Case] | None, shown: set[str]
) -> None:
    scenario = SCENARIOS[0]
    cases = [case for case in plan_cases([scenario]) if case.plant]
    groups: dict[str, list[Features]] = {"yes": [], "no": []}
    for case in cases:
        verdict = case.plant.verdict if case.plant else ""
        carrier = mutate(case) if mutate and verdict == "yes" else case
        groups[verdict].append(features(chart_of(carrier)))
    assert shown <= tell_apart(groups["yes"], groups["no"], touched(scenario)).keys()
    assert bool(shown) == bool(tell_apart(groups["yes"], groups["no"], touched(scenario)))


def test_keys_that_follow_the_plan_are_caught() -> None:
    low = [{"subject_id": 10_000_000.0 + number} for number in range(15)]
    high = [{"subject_id": 10_000_015.0 + number} for number in range(15)]
    assert tell_apart(low, high).keys() == {"subject_id"}
    assert tell_apart(low[::2], low[1::2]) == {}
