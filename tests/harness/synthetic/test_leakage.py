"""What a rule does not read must not tell the class of a planted case."""

import random

import pytest

from harness.cohort import build_cohort
from harness.scenario import load_scenarios
from tests.harness.synthetic.conftest import SyntheticWorld
from tests.harness.synthetic.leakage import Group, features_told, gather, neighbours_tell, ranks

CLASSES = ["yes"] * 12 + ["no"] * 12 + ["lack_of_data"] * 5 + ["medical_ambiguity"]


def groups(leak: float) -> dict[str, Group]:
    """Ten scenarios with ten features of noise; the first moves by `leak` standard deviations with the class."""
    rng = random.Random(1)
    return {
        f"{n:02}": (
            CLASSES,
            [
                {"f0": rng.gauss(leak * (label == "yes"), 1)}
                | {f"f{i}": rng.gauss(0, 1) for i in range(1, 10)}
                for label in CLASSES
            ],
        )
        for n in range(10)
    }


def test_a_feature_that_tells_is_found() -> None:
    told = features_told(groups(leak=1), times=99, seed=1)
    assert (told[0].name, told[0].p) == ("f0", 0.01)
    assert all(each.p > 0.05 for each in told[1:])


def test_noise_tells_nothing() -> None:
    assert all(each.p > 0.05 for each in features_told(groups(leak=0), times=99, seed=1))
    assert neighbours_tell(groups(leak=0), times=99, seed=1).p > 0.05


def test_many_features_that_tell_a_little_are_found_together() -> None:
    telling = {
        name: (
            classes,
            [
                {f: value + (label == "yes") for f, value in case.items()}
                for label, case in zip(classes, cases, strict=True)
            ],
        )
        for name, (classes, cases) in groups(leak=0).items()
    }
    assert neighbours_tell(telling, times=99, seed=1).p == 0.01


def test_ranks_are_standardised_and_nothing_comes_first() -> None:
    assert ranks([5, None, 5]) == pytest.approx([0.5**0.5, -(2**0.5), 0.5**0.5])
    assert ranks([7, 7]) == [0.0, 0.0]


@pytest.mark.slow
def test_no_class_of_the_default_hospital_is_told_by_what_its_rule_does_not_read(
    whole_world: SyntheticWorld,
) -> None:
    scenarios = load_scenarios()
    rows = build_cohort(whole_world.store, scenarios).rows
    found = gather(whole_world.store, scenarios, rows)
    assert len(found) == len(scenarios)
    assert min(len(cases[0]) for _, cases in found.values()) > 40
    worst = features_told(found, times=500, seed=1)[0]
    assert worst.p > 0.01, worst
    nearest = neighbours_tell(found, times=500, seed=1)
    assert nearest.p > 0.01, nearest
