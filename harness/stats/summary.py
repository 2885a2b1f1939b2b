"""A whole job's numbers, as `--json` prints them and scores.json keeps them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from harness.stats.intervals import LEVEL, RESAMPLES, SEED, Bootstrap
from harness.stats.paired import SCENARIO_FORMULA, TASK_FORMULA, compare_systems, detectable
from harness.stats.rates import baselines
from harness.stats.record import TrialScore
from harness.stats.system import summarise_system

RULE_DERIVED = "rule-derived"


def summarise(
    trials: Sequence[TrialScore],
    *,
    missing: Mapping[str, int] | None = None,
    about: Mapping[str, Any] | None = None,
    declared: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Every system's numbers, every pair's comparison, and what could be detected.

    `missing`: planned trials that are not there, by system. `about`: what is known of the job. `declared`:
    what is known of the systems, in their order (`instrument`, `about`). Instruments measure the benchmark:
    they have numbers, and are compared with nobody.
    """
    missing, declared = missing or {}, declared or {}
    systems: dict[str, list[TrialScore]] = {tag: [] for tag in (*declared, *sorted(missing))}
    for trial in sorted(trials, key=lambda trial: (trial.system, trial.trial)):
        systems.setdefault(trial.system, []).append(trial)
    bootstrap = Bootstrap(trials)
    contestants = {tag: found for tag, found in systems.items() if not _is_instrument(declared, tag)}
    return {
        "job": dict(about or {}),
        "labels": label_note(trials),
        "systems": {
            tag: {
                "instrument": _is_instrument(declared, tag),
                "about": str(declared.get(tag, {}).get("about", "")),
                **summarise_system(found, missing.get(tag, 0), bootstrap),
            }
            for tag, found in systems.items()
        },
        "baselines": baselines(list({trial.task: trial for trial in trials}.values())),
        "comparisons": [asdict(comparison) for comparison in compare_systems(contestants, bootstrap)],
        "detectable": asdict(detectable(contestants if len(contestants) > 1 else systems)),
        "method": {
            "level": LEVEL,
            "resamples": RESAMPLES,
            "seed": SEED,
            "these_scenarios": "bootstrap within scenarios, clustered by subject (exponential subject weights)",
            "scenarios_in_general": "Student's t with k − 1 degrees of freedom over k scenario means",
            "detectable_by_task": TASK_FORMULA,
            "detectable_by_scenario": SCENARIO_FORMULA,
        },
    }


def _is_instrument(declared: Mapping[str, Mapping[str, Any]], tag: str) -> bool:
    return bool(declared.get(tag, {}).get("instrument"))


def label_note(trials: Sequence[TrialScore]) -> dict[str, Any]:
    """Where the labels come from: clinician-signed only if every one is."""
    unsigned = sorted({trial.scenario for trial in trials if trial.label == RULE_DERIVED})
    reviewed = bool(trials) and not unsigned
    label = "clinician-signed" if reviewed else RULE_DERIVED
    return {
        "label": label,
        "clinician_reviewed": reviewed,
        "note": f"{label} labels; clinician_reviewed = {str(reviewed).lower()}",
        "unsigned_scenarios": unsigned,
    }
