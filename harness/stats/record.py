"""One trial as statistics see it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrialScore:
    """A trial with its score, or dead with its cause and no score.

    `cluster` is an opaque name of the subject, the same in all tasks about that subject. `score` is the
    verifier's score.json.
    """

    trial: str
    task: str
    scenario: str
    system: str
    cluster: str
    gold: str
    fragile: bool
    definition_fragile: bool
    label: str
    status: str
    cause: str | None
    attempts: int
    score: Mapping[str, Any] | None

    @property
    def answer(self) -> str | None:
        """The verdict that was given; None if there was none that counts, or the trial is dead."""
        return self.score["answer"] if self.score is not None else None

    def value(self, name: str) -> float:
        """One number of the score; a dead trial counts as 0, so leave dead ones out where that is wrong."""
        return float(self.score[name]) if self.score is not None else 0.0


Group = dict[str, list[TrialScore]]


def by_scenario(trials: Iterable[TrialScore]) -> Group:
    """The trials grouped by scenario, in the scenarios' order."""
    groups: Group = {}
    for trial in sorted(trials, key=lambda trial: (trial.scenario, trial.task, trial.trial)):
        groups.setdefault(trial.scenario, []).append(trial)
    return groups


def mean(values: Iterable[float]) -> float | None:
    """The arithmetic mean; None of nothing."""
    found = list(values)
    return sum(found) / len(found) if found else None
