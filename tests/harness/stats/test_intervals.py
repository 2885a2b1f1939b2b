import math
import random
from statistics import stdev

import pytest

from harness.stats.intervals import Bootstrap, scenario_means, t_interval
from harness.stats.record import TrialScore
from tests.harness.stats.trials import trial


def _right(trial: TrialScore) -> float:
    return trial.value("verdict")


def _trials(count: int, share: float, scenario: str = "01", cluster: str = "c") -> list[TrialScore]:
    generator = random.Random(3)
    return [
        trial(
            f"{scenario}-{number}",
            answer="yes" if generator.random() < share else "no",
            scenario=scenario,
            cluster=f"{cluster}{number}",
        )
        for number in range(count)
    ]


def test_the_interval_is_close_to_the_normal_one_for_many_independent_trials() -> None:
    trials = _trials(400, 0.7)
    mean = sum(map(_right, trials)) / 400
    half = 1.96 * math.sqrt(mean * (1 - mean) / 400)
    interval = Bootstrap(trials).interval(trials, _right)
    assert interval.low == pytest.approx(mean - half, abs=0.006)
    assert interval.high == pytest.approx(mean + half, abs=0.006)


def test_the_same_trials_give_the_same_interval() -> None:
    trials = _trials(40, 0.6)
    assert Bootstrap(trials).interval(trials, _right) == Bootstrap(trials).interval(trials[::-1], _right)


def test_trials_of_one_subject_do_not_count_as_independent() -> None:
    apart = [trial(f"t{n}", answer="yes" if n % 2 else "no", cluster=f"c{n}") for n in range(80)]
    together = [trial(f"t{n}", answer="yes" if n // 8 % 2 else "no", cluster=f"c{n // 8}") for n in range(80)]
    widths = []
    for trials in (apart, together):
        interval = Bootstrap(trials).interval(trials, _right)
        assert interval.low is not None
        assert interval.high is not None
        widths.append(interval.high - interval.low)
    assert widths[1] > 2 * widths[0]


def test_differences_between_scenarios_do_not_widen_it() -> None:
    trials = [
        trial(f"{scenario}-{n}", answer=scenario, scenario=scenario, cluster=f"{scenario}{n}")
        for scenario in ("yes", "no")
        for n in range(20)
    ]
    interval = Bootstrap(trials).interval(trials, _right)
    assert (interval.low, interval.high) == (pytest.approx(0.5), pytest.approx(0.5))


def test_without_spread_or_subjects_there_is_no_interval_but_a_reason() -> None:
    same, one = _trials(5, 1.0), [trial("t1", cluster="c"), trial("t2", answer="no", cluster="c")]
    assert Bootstrap(same).interval(same, _right).reason == (
        "all 5 trials have the same value: nothing to resample"
    )
    assert Bootstrap(one).interval(one, _right).reason == "fewer than two subjects"
    assert Bootstrap([]).interval([], _right).low is None


def test_the_general_interval_is_students_t_over_scenario_means() -> None:
    means = [0.6, 0.7, 0.9]
    interval = t_interval(means)
    half = 4.30265 * stdev(means) / math.sqrt(3)
    assert interval.low == pytest.approx(2.2 / 3 - half, abs=1e-5)
    assert interval.high == pytest.approx(2.2 / 3 + half, abs=1e-5)
    assert interval.clipped().high == 1.0


def test_the_general_interval_needs_two_scenarios_that_differ() -> None:
    assert t_interval([0.5]).reason == "fewer than two scenarios"
    assert "do not differ" in str(t_interval([0.5, 0.5]).reason)


def test_scenarios_weigh_by_their_means() -> None:
    trials = [*_trials(30, 1.0, "01"), *_trials(10, 0.0, "02")]
    assert scenario_means(trials, _right) == [1.0, 0.0]
