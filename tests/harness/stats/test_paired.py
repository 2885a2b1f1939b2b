import math
from statistics import stdev

import pytest

from harness.stats.intervals import Bootstrap
from harness.stats.paired import Comparison, compare_systems, detectable
from harness.stats.record import TrialScore
from harness.stats.student import t_cdf
from tests.harness.stats.trials import constant, trial


def _answers(system: str, rights: str, scenario: str = "01") -> list[TrialScore]:
    return [
        trial(f"{scenario}-{n}", system, answer="yes" if right == "+" else "no", scenario=scenario)
        for n, right in enumerate(rights)
    ]


def _compare(first: list[TrialScore], second: list[TrialScore]) -> Comparison:
    [comparison] = compare_systems({"a": first, "b": second}, Bootstrap([*first, *second]))
    return comparison


def test_the_difference_is_over_the_tasks_that_both_have_a_score_for() -> None:
    dead = trial("01-9", "b", dead="boom", scenario="01")
    found = _compare(_answers("a", "+++++"), [*_answers("b", "+--"), dead])
    assert (found.tasks, found.unpaired) == (3, 2)
    assert found.difference == pytest.approx(2 / 3)


def test_sign_flips_count_every_pattern_of_signs() -> None:
    found = _compare(_answers("a", "+++++--"), _answers("b", "-----+-"))
    assert found.p_by_task == pytest.approx(14 / 64)


def test_sign_flips_agree_with_the_sign_test() -> None:
    found = _compare(_answers("a", "+" * 14 + "-" * 6), _answers("b", "-" * 14 + "+" * 6))
    exact = 2 * sum(math.comb(20, k) for k in range(7)) / 2**20
    assert found.p_by_task == pytest.approx(exact)


def test_a_subject_is_flipped_as_a_whole() -> None:
    first = [trial(f"t{n}", "a", cluster="only") for n in range(20)]
    second = [trial(f"t{n}", "b", answer="no", cluster="only") for n in range(20)]
    assert _compare(first, second).p_by_task == 1.0


def test_equal_systems_do_not_differ() -> None:
    found = _compare(_answers("a", "++--"), _answers("b", "++--"))
    assert (found.difference, found.p_by_task) == (0.0, 1.0)
    assert found.detectable_by_task is None
    assert found.p_by_scenario is None


def test_by_scenario_it_is_a_paired_t_test_over_means() -> None:
    rights = {"01": ("++++", "+---"), "02": ("++++", "++--"), "03": ("++--", "++--")}
    first = [t for scenario, (one, _) in rights.items() for t in _answers("a", one, scenario)]
    second = [t for scenario, (_, two) in rights.items() for t in _answers("b", two, scenario)]
    differences = [0.75, 0.5, 0.0]
    error = stdev(differences) / math.sqrt(3)
    found = _compare(first, second)
    assert found.p_by_scenario == pytest.approx(2 * (1 - t_cdf(sum(differences) / 3 / error, 2)))
    assert found.detectable_by_scenario == pytest.approx((4.30265 + 1.06066) * error, abs=1e-4)


def test_the_detectable_difference_by_task_follows_its_formula() -> None:
    found = _compare(_answers("a", "++++--"), _answers("b", "--++++"))
    spread = stdev([1, 1, 0, 0, -1, -1])
    assert found.detectable_by_task == pytest.approx(2.80159 * spread / math.sqrt(6), abs=1e-4)


def test_no_shared_task_is_no_difference() -> None:
    found = _compare(_answers("a", "++", "01"), _answers("b", "++", "02"))
    assert (found.tasks, found.difference, found.p_by_task) == (0, None, None)


def test_attempts_at_one_task_are_averaged() -> None:
    twice = [*_answers("a", "+"), trial("01-0", "a", answer="no", scenario="01", trial="again")]
    assert _compare(twice, _answers("b", "-")).difference == 0.5


def test_planning_uses_the_disagreement_that_was_seen_or_says_that_it_is_a_guess() -> None:
    seen = detectable({"a": _answers("a", "++++"), "b": _answers("b", "++--")})
    assert (seen.disagreement, seen.disagreement_is_guess) == (0.5, False)
    assert seen.difference == pytest.approx(2.80159 * math.sqrt(0.5 / 4), abs=1e-4)
    alone = detectable({"a": list(constant("a", "yes"))})
    assert (alone.disagreement, alone.disagreement_is_guess) == (0.3, True)
    assert detectable({}).difference is None
