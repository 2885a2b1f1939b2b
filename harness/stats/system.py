"""One system's numbers over its trials. A number that is not defined is None, and `undefined` says why."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.stats.intervals import Bootstrap, Interval, Value, scenario_means, t_interval
from harness.stats.rates import (
    AMBIGUITY,
    INDETERMINATE,
    ONE_SCENARIO,
    baselines,
    confusion,
    is_determinate,
    may_report_ambiguity,
    share,
)
from harness.stats.record import TrialScore, by_scenario, mean

HEADLINES = {
    "accuracy": "verdict",
    "supported_accuracy": "supported",
    "evidence_recall": "evidence_recall",
    "citation_precision": "citation_precision",
}
"""The numbers with intervals, and the part of a trial's score that each averages."""

_NO_INDETERMINATE = "no trial has an indeterminate gold, or only ambiguity of one scenario"
_CALLS = ("calls", "errors", "refusals", "repeats", "truncated_unread")
_CITATIONS = ("resolvable", "served", "relevant")

Numbers = dict[str, Any]


def summarise_system(trials: Sequence[TrialScore], missing: int, bootstrap: Bootstrap) -> Numbers:
    """All of a system's numbers, JSON-able; `missing` trials were planned and are not there."""
    scored = [trial for trial in trials if trial.score is not None]
    numbers = _counts(trials, scored, missing) | _means(trials, scored)
    numbers |= _deferral(scored) | _verdicts(scored)
    numbers |= {"citations": _citations(scored), "calls": _calls(scored)}
    numbers |= _without_fragile(scored) | {"scenarios": _scenarios(scored)}
    numbers["intervals"] = {
        "these_scenarios": _asdict(bootstrap.intervals(scored, _values())),
        "scenarios_in_general": {name: _general(scored, value) for name, value in _values().items()},
    }
    return numbers | {"undefined": _undefined(numbers, scored)}


def _counts(trials: Sequence[TrialScore], scored: Sequence[TrialScore], missing: int) -> Numbers:
    dead = [trial for trial in trials if trial.score is None]
    return {
        "trials": len(trials),
        "scored": len(scored),
        "dead": len(dead),
        "missing": missing,
        "agent_errors": sum(trial.status == "agent_error" for trial in scored),
        "retried": sum(trial.attempts > 1 for trial in trials),
        "causes": dict(Counter(trial.cause or "unknown" for trial in dead).most_common()),
        "subjects": len({trial.cluster for trial in trials}),
    }


def _means(trials: Sequence[TrialScore], scored: Sequence[TrialScore]) -> Numbers:
    numbers: Numbers = {}
    for name, value in _values().items():
        numbers[name] = mean(map(value, scored))
        numbers[f"{name}_dead_wrong"] = mean(map(value, trials))
    numbers["retrieval_recall"] = mean(trial.value("retrieval_recall") for trial in scored)
    numbers["accuracy_determinate"] = mean(
        trial.value("verdict") for trial in scored if is_determinate(trial)
    )
    return numbers


def _values() -> dict[str, Value]:
    return {name: _value(part) for name, part in HEADLINES.items()}


def _value(part: str) -> Callable[[TrialScore], float]:
    return lambda trial: trial.value(part)


def _deferral(scored: Sequence[TrialScore]) -> Numbers:
    if not any(trial.gold == "lack_of_data" for trial in scored) and not may_report_ambiguity(scored):
        scored = [trial for trial in scored if is_determinate(trial)]
    sensitivity = share(scored, lambda trial: not is_determinate(trial), INDETERMINATE)
    over = share(scored, is_determinate, INDETERMINATE)
    return {
        "deferral_sensitivity": sensitivity,
        "over_deferral": over,
        "deferral": None if sensitivity is None or over is None else sensitivity - over,
        "over_confidence": share(scored, lambda trial: not is_determinate(trial), ("yes", "no")),
    }


def _verdicts(scored: Sequence[TrialScore]) -> Numbers:
    table = confusion(scored)
    lack, ambiguity = table["lack_of_data"], table[AMBIGUITY]
    return {
        "confusion": table,
        "lack_taken_for_ambiguity": lack and lack[AMBIGUITY],
        "ambiguity_taken_for_lack": ambiguity and ambiguity["lack_of_data"],
        "baselines": baselines(scored),
        "outcomes": dict(Counter(trial.score["outcome"] for trial in scored if trial.score).most_common()),
    }


def _citations(scored: Sequence[TrialScore]) -> Numbers:
    """Citations a trial, and of all that count, the share that resolves, was served, is relevant."""
    counts = [trial.score["citations"] for trial in scored if trial.score]
    counted = sum(count["counted"] for count in counts)
    numbers: Numbers = {name: mean(count[name] for count in counts) for name in ("cited", "counted")}
    for name in _CITATIONS:
        numbers[name] = sum(count[name] for count in counts) / counted if counted else None
    return numbers


def _calls(scored: Sequence[TrialScore]) -> Numbers:
    """Totals over the trials, and calls a trial."""
    counts = [trial.score["calls"] for trial in scored if trial.score]
    totals = {name: sum(count[name] for count in counts) for name in _CALLS}
    return totals | {"calls_per_trial": mean(count["calls"] for count in counts)}


def _without_fragile(scored: Sequence[TrialScore]) -> Numbers:
    kept = {
        "without_fragile": [trial for trial in scored if not trial.fragile],
        "without_definition_fragile": [trial for trial in scored if not trial.definition_fragile],
        "without_either": [t for t in scored if not t.fragile and not t.definition_fragile],
    }
    return {name: _short(trials) for name, trials in kept.items()}


def _scenarios(scored: Sequence[TrialScore]) -> Numbers:
    return {scenario: _short(trials) for scenario, trials in by_scenario(scored).items()}


def _short(trials: Sequence[TrialScore]) -> Numbers:
    means = {name: mean(map(value, trials)) for name, value in _values().items()}
    return {"trials": len(trials)} | means


def _general(scored: Sequence[TrialScore], value: Value) -> Numbers:
    means = scenario_means(scored, value)
    return asdict(t_interval(means).clipped()) | {"scenarios": len(means)}


def _asdict(intervals: Mapping[str, Interval]) -> Numbers:
    return {name: asdict(interval) for name, interval in intervals.items()}


def _undefined(numbers: Mapping[str, Any], scored: Sequence[TrialScore]) -> dict[str, str]:
    """Why each number that is None is None."""
    if not scored:
        return {name: "no trial was scored" for name, value in numbers.items() if value is None}
    reasons = {
        "accuracy_determinate": "no trial has a determinate gold",
        "over_deferral": "no trial has a determinate gold",
        "deferral_sensitivity": _NO_INDETERMINATE,
        "over_confidence": _NO_INDETERMINATE,
        "deferral": "it needs determinate and indeterminate gold",
        "ambiguity_taken_for_lack": ONE_SCENARIO,
    }
    found = {name: reason for name, reason in reasons.items() if numbers[name] is None}
    if numbers["citations"]["resolvable"] is None:
        found |= {f"citations.{name}": "nothing was cited" for name in _CITATIONS}
    if numbers["confusion"][AMBIGUITY] is None:
        found |= {f"confusion.{AMBIGUITY}": ONE_SCENARIO}
    if numbers["baselines"][f"always_{AMBIGUITY}"] is None:
        found |= {f"baselines.always_{AMBIGUITY}": ONE_SCENARIO}
    for name in ("without_fragile", "without_definition_fragile", "without_either"):
        if not numbers[name]["trials"]:
            found[name] = "no such trial"
    return found
