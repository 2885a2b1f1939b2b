from collections import Counter
from pathlib import Path

import pytest

from harness.errors import HarnessError, ScenarioError
from harness.synthetic.ids import MOST_PATIENTS, Ids
from harness.synthetic.plan import LEAST_NEIGHBOURS, SPARE, plan_cases
from tests.harness.synthetic.toy_plants import PLANTS, ToyScenario, write_plants

TWO_KINDS = """
[[plant]]
id = "plain"
verdict = "yes"
anchor = "icu"
share = 2
stay = { icu_hours = 80 }

[[plant]]
id = "hard"
verdict = "yes"
anchor = "icu"
"""


def test_every_verdict_has_its_mix_of_carriers_and_some_to_spare(tmp_path: Path) -> None:
    cases = plan_cases([ToyScenario(write_plants(tmp_path))])
    carriers = Counter(case.plant.verdict for case in cases if case.plant)
    assert carriers == {verdict: 1 + spare for verdict, spare in SPARE.items()}


def test_carriers_are_dealt_over_the_plants_of_a_verdict_by_share(tmp_path: Path) -> None:
    scenario = ToyScenario(write_plants(tmp_path, TWO_KINDS), mix={"yes": 9})
    carriers = Counter(case.plant.id for case in plan_cases([scenario]) if case.plant)
    assert carriers == {"plain": 8, "hard": 4}


def test_every_plant_is_carried_by_somebody(tmp_path: Path) -> None:
    plants = "".join(
        f'[[plant]]\nid = "p{number}"\nverdict = "yes"\nanchor = "icu"\nshare = {9 if number else 1}\n'
        for number in range(6)
    )
    scenario = ToyScenario(write_plants(tmp_path, plants), mix={"yes": 1})
    carriers = Counter(case.plant.id for case in plan_cases([scenario]) if case.plant)
    assert carriers == {f"p{number}": 1 for number in range(6)}


def test_a_bound_of_one_plant_holds_for_all_carriers_of_its_anchor(tmp_path: Path) -> None:
    scenario = ToyScenario(write_plants(tmp_path, TWO_KINDS), mix={"yes": 9})
    assert {case.bounds.icu_hours for case in plan_cases([scenario]) if case.plant} == {80}


def test_more_patients_mean_more_neighbours_and_the_same_carriers(tmp_path: Path) -> None:
    scenario = ToyScenario(write_plants(tmp_path, PLANTS))
    few, many = plan_cases([scenario]), plan_cases([scenario], patients=60)
    assert len(many) == 60
    assert many[: len(few)] == few
    assert sum(case.plant is None for case in few) == LEAST_NEIGHBOURS


def test_neighbours_have_the_anchors_and_bounds_of_carriers(tmp_path: Path) -> None:
    cases = plan_cases([ToyScenario(write_plants(tmp_path))], patients=200)
    carriers = {(case.anchor, case.bounds.icu_hours, case.presence) for case in cases if case.plant}
    neighbours = [case for case in cases if not case.plant]
    assert {(case.anchor, case.bounds.icu_hours, case.presence) for case in neighbours} == carriers
    # what takes long to show needs a longer admission than the carriers'
    longer = [case for case in neighbours if case.bounds.admission_days]
    assert {case.conditions for case in longer} == {("platelets",), ("warfarin",)}


def test_what_shows_late_arises_where_a_carrier_has_been_in_hospital_for_days(tmp_path: Path) -> None:
    early = '[[plant]]\nid = "early"\nverdict = "yes"\nanchor = "ward"\n'
    late = early.replace("early", "late") + "stay = {days_before = 8}\n"
    scenarios = []
    for place, text in enumerate((early, late), 91):
        (tmp_path / str(place)).mkdir()
        file = write_plants(tmp_path / str(place), text)
        scenarios.append(ToyScenario(file, id=f"{place}-toy", mix={"yes": 9}))
    cases = [case for case in plan_cases(scenarios, patients=200) if case.plant is None]
    falling = [case for case in cases if case.conditions == ("platelets",)]
    assert len(falling) > 3
    assert {case.bounds.days_before for case in falling} == {8}
    assert {case.bounds.days_before for case in cases} == {None, 8}


def test_a_mix_that_no_plant_can_fill_is_named(tmp_path: Path) -> None:
    scenario = ToyScenario(write_plants(tmp_path, TWO_KINDS), mix={"no": 1})
    with pytest.raises(ScenarioError, match="has no plant with the verdict no"):
        plan_cases([scenario])


@pytest.mark.parametrize(
    ("space", "first", "each"),
    [("subject", 10_000_000, 1), ("hadm", 20_000_000, 9), ("stay", 30_000_000, 9), ("order", 0, 40)],
)
def test_numbers_are_unique_and_stay_in_their_space(space: str, first: int, each: int) -> None:
    numbers = [ids.next(space) for ids in (Ids(5, index) for index in range(400)) for _ in range(each)]
    assert len({*numbers}) == len(numbers)
    assert all(first <= number < first + 10**7 for number in numbers)


def test_a_hospital_has_an_upper_limit() -> None:
    with pytest.raises(HarnessError, match="at most"):
        Ids(5, MOST_PATIENTS)
