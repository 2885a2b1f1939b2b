"""Intervals around a mean over trials: for these scenarios, and for scenarios in general.

For these scenarios: a bootstrap within scenarios, clustered by subject. Each resample gives every subject one
random weight (exponential, that is, a Bayesian bootstrap), which all of that subject's trials carry, in every
scenario and for every system; within a scenario the weights are normalised, so that each scenario keeps its
share. For scenarios in general: Student's t over the scenarios' means.
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import stdev

from harness.stats.record import TrialScore, by_scenario, mean
from harness.stats.student import t_quantile

RESAMPLES = 2000
SEED = 20260101
LEVEL = 0.95

Value = Callable[[TrialScore], float]


@dataclass(frozen=True)
class Interval:
    """A 95% interval; without one, the reason."""

    low: float | None
    high: float | None
    reason: str | None = None

    @classmethod
    def none(cls, reason: str) -> "Interval":
        """No interval, for this reason."""
        return cls(None, None, reason)

    def clipped(self) -> "Interval":
        """The interval within 0 and 1, where shares and scores live."""
        if self.low is None or self.high is None:
            return self
        return Interval(max(0.0, self.low), min(1.0, self.high))


class Bootstrap:
    """One set of random subject weights, shared by everything that is compared."""

    def __init__(self, trials: Iterable[TrialScore], resamples: int = RESAMPLES, seed: int = SEED) -> None:
        clusters = sorted({trial.cluster for trial in trials})
        generator = random.Random(seed)  # noqa: S311 - resampling, not secrecy
        self._place = {cluster: place for place, cluster in enumerate(clusters)}
        self._weights = [[-math.log(1.0 - generator.random()) for _ in clusters] for _ in range(resamples)]

    def interval(self, trials: Sequence[TrialScore], value: Value) -> Interval:
        """The middle 95% of the resampled means of `value`."""
        return self.intervals(trials, {"value": value})["value"]

    def intervals(self, trials: Sequence[TrialScore], values: Mapping[str, Value]) -> dict[str, Interval]:
        """The middle 95% of the resampled mean of each value, over the same resamples."""
        found = {name: self._without_spread(trials, value) for name, value in values.items()}
        spread = [name for name, interval in found.items() if interval is None]
        drawn = self._resample(trials, [values[name] for name in spread])
        middle = dict(zip(spread, map(_middle, drawn), strict=True))
        return {name: interval or middle[name] for name, interval in found.items()}

    def _without_spread(self, trials: Sequence[TrialScore], value: Value) -> Interval | None:
        if len({trial.cluster for trial in trials}) < 2:
            return Interval.none("fewer than two subjects")
        if len({value(trial) for trial in trials}) == 1:
            return Interval.none(f"all {len(trials)} trials have the same value: nothing to resample")
        return None

    def _resample(self, trials: Sequence[TrialScore], values: Sequence[Value]) -> list[list[float]]:
        """For each value its resampled means."""
        drawn = [[0.0] * len(self._weights) for _ in values]
        if not values:
            return drawn
        for group in by_scenario(trials).values():
            clusters = sorted({trial.cluster for trial in group})
            pick = self._picker(clusters)
            counts, *columns = _totals(group, clusters, [lambda _: 1.0, *values])
            share = len(group) / len(trials)
            for number, row in enumerate(self._weights):
                weights = pick(row)
                factor = share / math.sumprod(weights, counts)
                for means, column in zip(drawn, columns, strict=True):
                    means[number] += factor * math.sumprod(weights, column)
        return drawn

    def _picker(self, clusters: Sequence[str]) -> Callable[[list[float]], tuple[float, ...]]:
        """Takes these clusters' weights out of a row."""
        places = [self._place[cluster] for cluster in clusters]
        if len(places) == 1:
            return lambda row: (row[places[0]],)
        return itemgetter(*places)


def _totals(
    group: Sequence[TrialScore], clusters: Sequence[str], values: Sequence[Value]
) -> list[list[float]]:
    """For each value its total over each cluster's trials."""
    place = {cluster: number for number, cluster in enumerate(clusters)}
    columns = [[0.0] * len(clusters) for _ in values]
    for column, value in zip(columns, values, strict=True):
        for trial in group:
            column[place[trial.cluster]] += value(trial)
    return columns


def _middle(means: list[float]) -> Interval:
    means = sorted(means)
    tail = (1 - LEVEL) / 2
    return Interval(_percentile(means, tail), _percentile(means, 1 - tail))


def _percentile(ordered: Sequence[float], share: float) -> float:
    """The percentile by linear interpolation between neighbours."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def scenario_means(trials: Sequence[TrialScore], value: Value) -> list[float]:
    """The mean of `value` in each scenario."""
    groups = by_scenario(trials).values()
    return [average for group in groups if (average := mean(map(value, group))) is not None]


def t_interval(means: Sequence[float]) -> Interval:
    """Mean ± t(0.975, k − 1) · s ÷ √k over k scenario means."""
    if len(means) < 2:
        return Interval.none("fewer than two scenarios")
    spread = stdev(means)
    if spread == 0:
        return Interval.none("the scenarios' means do not differ: no spread to judge by")
    half = t_quantile(1 - (1 - LEVEL) / 2, len(means) - 1) * spread / math.sqrt(len(means))
    centre = sum(means) / len(means)
    return Interval(centre - half, centre + half)
