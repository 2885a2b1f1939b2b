"""What a system's verdicts come to beside the mean: deferral, confusion, baselines.

Medical ambiguity is rare and each scenario has its own kind of it, so that figures about it alone are given
only over two scenarios or more.
"""

from collections.abc import Callable, Iterable, Sequence

from harness.stats.record import TrialScore, mean
from mcp_mimic.contract import VERDICTS

INDETERMINATE = ("lack_of_data", "medical_ambiguity")
AMBIGUITY = "medical_ambiguity"
NO_VERDICT = "none"
ONE_SCENARIO = "medical ambiguity is not reported for one scenario alone"

Row = dict[str, int]


def is_determinate(trial: TrialScore) -> bool:
    """Whether the record settles the question."""
    return trial.gold not in INDETERMINATE


def may_report_ambiguity(trials: Iterable[TrialScore]) -> bool:
    """Whether the ambiguous cases come from at least two scenarios."""
    return len({trial.scenario for trial in trials if trial.gold == AMBIGUITY}) >= 2


def share(
    trials: Iterable[TrialScore], among: Callable[[TrialScore], bool], answers: Sequence[str]
) -> float | None:
    """How many of the trials that `among` picks were answered with one of `answers`; None if it picks none."""
    return mean(trial.answer in answers for trial in trials if among(trial))


def confusion(trials: Sequence[TrialScore]) -> dict[str, Row | None]:
    """Counts by gold verdict and answer, `none` for no answer that counts; no row where none may be shown."""
    rows: dict[str, Row | None] = {gold: dict.fromkeys((*VERDICTS, NO_VERDICT), 0) for gold in VERDICTS}
    for trial in trials:
        row = rows[trial.gold]
        if row is not None:
            row[trial.answer or NO_VERDICT] += 1
    if any(trial.gold == AMBIGUITY for trial in trials) and not may_report_ambiguity(trials):
        rows[AMBIGUITY] = None
    return rows


def baselines(trials: Sequence[TrialScore]) -> dict[str, float | None]:
    """The accuracy that each constant answer would have on these trials' tasks."""
    found = {f"always_{verdict}": mean(trial.gold == verdict for trial in trials) for verdict in VERDICTS}
    if found[f"always_{AMBIGUITY}"] and not may_report_ambiguity(trials):
        found[f"always_{AMBIGUITY}"] = None
    return found
