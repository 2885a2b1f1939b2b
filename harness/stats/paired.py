"""Two systems on the same tasks: their difference, by task and by scenario, and what could be detected."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import stdev

from harness.stats.intervals import Bootstrap, Interval, scenario_means, t_interval
from harness.stats.record import TrialScore, mean
from harness.stats.student import normal_quantile, t_cdf, t_quantile

_POWER = 0.8
_GUESS = 0.3
TASK_FORMULA = "(1.96 + 0.84) · s ÷ √n, s over n subjects' mean differences"
SCENARIO_FORMULA = "(t(0.975, k−1) + t(0.8, k−1)) · s ÷ √k, s over k scenarios' mean differences"
PLAN_FORMULA = "(1.96 + 0.84) · √(q ÷ n), q the share of tasks that two systems score differently"


@dataclass(frozen=True)
class Comparison:
    """`first` minus `second` in accuracy over the tasks that both have a score for.

    By task: sign flips of whole subjects, and a bootstrap interval. By scenario: a paired t test over the
    scenarios' mean differences. `detectable_*`: the true difference that such a test at 5% would find four
    times in five. None where there is no spread to judge by.
    """

    first: str
    second: str
    tasks: int
    unpaired: int
    difference: float | None
    by_task: Interval
    p_by_task: float | None
    detectable_by_task: float | None
    by_scenario: Interval
    p_by_scenario: float | None
    detectable_by_scenario: float | None


def compare_systems(systems: Mapping[str, Sequence[TrialScore]], bootstrap: Bootstrap) -> list[Comparison]:
    """Every pair of systems."""
    return [
        _compare(first, second, systems[first], systems[second], bootstrap)
        for first, second in combinations(systems, 2)
    ]


@dataclass(frozen=True)
class Detectable:
    """The smallest difference between two systems that these tasks could show, and how it was reckoned."""

    difference: float | None
    subjects: int
    disagreement: float
    disagreement_is_guess: bool
    formula: str = PLAN_FORMULA


def detectable(systems: Mapping[str, Sequence[TrialScore]]) -> Detectable:
    """For planning: over all pairs of systems, or with a guessed disagreement of 0.3 if there is one system."""
    subjects = len({trial.cluster for trials in systems.values() for trial in trials})
    shares = [
        share
        for first, second in combinations(systems.values(), 2)
        if (share := mean(_disagree(first, second))) is not None
    ]
    disagreement = mean(shares)
    share = _GUESS if disagreement is None else disagreement
    reach = _reach() * math.sqrt(share / subjects) if subjects and share else None
    return Detectable(reach, subjects, share, disagreement is None)


def _reach() -> float:
    return normal_quantile(0.975) + normal_quantile(_POWER)


def _verdict(trial: TrialScore) -> float:
    return trial.value("verdict")


def _by_task(trials: Iterable[TrialScore]) -> dict[str, list[TrialScore]]:
    tasks: dict[str, list[TrialScore]] = {}
    for trial in trials:
        if trial.score is not None:
            tasks.setdefault(trial.task, []).append(trial)
    return tasks


def _disagree(first: Iterable[TrialScore], second: Iterable[TrialScore]) -> list[bool]:
    one, other = _by_task(first), _by_task(second)
    return [
        mean(map(_verdict, one[task])) != mean(map(_verdict, other[task])) for task in one if task in other
    ]


def _compare(
    first: str,
    second: str,
    first_trials: Sequence[TrialScore],
    second_trials: Sequence[TrialScore],
    bootstrap: Bootstrap,
) -> Comparison:
    one, other = _by_task(first_trials), _by_task(second_trials)
    shared = sorted(one.keys() & other.keys())
    means = {
        task: (mean(map(_verdict, one[task])) or 0.0) - (mean(map(_verdict, other[task])) or 0.0)
        for task in shared
    }
    paired = [one[task][0] for task in shared]

    def value(trial: TrialScore) -> float:
        return means[trial.task]

    subjects = _by_subject(paired, means)
    scenarios = scenario_means(paired, value)
    return Comparison(
        first=first,
        second=second,
        tasks=len(shared),
        unpaired=len(one.keys() ^ other.keys()),
        difference=mean(means.values()),
        by_task=bootstrap.interval(paired, value),
        p_by_task=_sign_flips(subjects),
        detectable_by_task=_detectable_by_task(subjects),
        by_scenario=t_interval(scenarios),
        p_by_scenario=_paired_t(scenarios),
        detectable_by_scenario=_detectable_by_scenario(scenarios),
    )


def _by_subject(paired: Iterable[TrialScore], means: Mapping[str, float]) -> list[list[float]]:
    """Each subject's differences."""
    subjects: dict[str, list[float]] = {}
    for trial in paired:
        subjects.setdefault(trial.cluster, []).append(means[trial.task])
    return list(subjects.values())


def _sign_flips(subjects: Sequence[Sequence[float]]) -> float | None:
    """Two-sided p of the total difference when each subject's sign is up to chance.

    Exact: the chances of all totals, subject by subject. They stay few, since differences of scores are
    whole numbers, or fractions with the number of attempts below the line.
    """
    if not subjects:
        return None
    sums = [math.fsum(differences) for differences in subjects]
    chances = {0.0: 1.0}
    for size in sums:
        grown: dict[float, float] = {}
        for total, chance in chances.items():
            for signed in (total + size, total - size):
                place = round(signed, 9)
                grown[place] = grown.get(place, 0.0) + chance / 2
        chances = grown
    observed = abs(math.fsum(sums)) - 1e-6
    return min(1.0, math.fsum(chance for total, chance in chances.items() if abs(total) >= observed))


def _paired_t(means: Sequence[float]) -> float | None:
    if len(means) < 2 or not (spread := stdev(means)):
        return None
    value = abs(sum(means) / len(means)) / (spread / math.sqrt(len(means)))
    return 2 * (1 - t_cdf(value, len(means) - 1))


def _detectable_by_task(subjects: Sequence[Sequence[float]]) -> float | None:
    means = [sum(differences) / len(differences) for differences in subjects]
    if len(means) < 2 or not (spread := stdev(means)):
        return None
    return _reach() * spread / math.sqrt(len(means))


def _detectable_by_scenario(means: Sequence[float]) -> float | None:
    if len(means) < 2 or not (spread := stdev(means)):
        return None
    freedom = len(means) - 1
    return (t_quantile(0.975, freedom) + t_quantile(_POWER, freedom)) * spread / math.sqrt(len(means))
