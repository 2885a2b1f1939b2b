"""The score of one trial: a function of its gold, what it handed in, and its audit."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from harness.scoring.calls import count_calls
from harness.scoring.citations import MAX_COUNTED
from harness.scoring.evidence import (
    Finding,
    PolicyFinding,
    count_citations,
    weigh_policies,
    weigh_requirements,
)
from harness.scoring.files import FileReading
from harness.scoring.gold import Gold, read_gold
from harness.scoring.report import ReportReading, read_submissions
from harness.scoring.trail import Trail, document_of, read_trail

SCORE_VERSION = 1
REWARD_MODES = ("outcome", "supported", "multi")
COMPONENTS = ("verdict", "supported", "evidence_recall", "citation_precision")
"""The numbers of reward.json beside `reward` itself."""


class UnsealedError(ValueError):
    """The audit has no seal, a broken chain, or belongs to another task: there is no score."""


def score_trial(
    gold: object,
    report: FileReading,
    submission: FileReading,
    audit_lines: Iterable[str],
    *,
    mode: str = "outcome",
) -> dict[str, Any]:
    """Score one trial; GoldError if the gold is damaged, UnsealedError if the audit cannot be trusted.

    Returns JSON-able values, the four components and `reward` finite numbers.
    """
    checked = read_gold(gold)
    trail = read_trail(audit_lines)
    if not trail.sealed:
        raise UnsealedError(f"the audit cannot be trusted: {trail.problem}")
    if trail.task != checked.task:
        raise UnsealedError(f"the audit is of task {trail.task}, the gold of {checked.task}")
    return _score(checked, read_submissions(report, submission), trail, mode)


def _score(gold: Gold, reading: ReportReading, trail: Trail, mode: str) -> dict[str, Any]:
    first = reading.citations[:MAX_COUNTED]
    sections = [eid for eid in first if eid in trail.served and document_of(eid) is not None]
    counted = [eid for eid in first if eid not in sections]
    findings = weigh_requirements(gold, trail, counted)
    policies = weigh_policies(gold, trail, sections)
    citations = count_citations(gold, trail, reading.citations, counted)
    right = reading.verdict == gold.verdict
    components = {
        "verdict": float(right),
        "supported": float(right and all(finding.satisfied for finding in findings)),
        "evidence_recall": _share(findings, "satisfied"),
        "citation_precision": citations.precision,
    }
    return {
        "v": SCORE_VERSION,
        "task": gold.task,
        "scenario": gold.scenario,
        "label": gold.label,
        "rule": gold.rule,
        "fragile": gold.fragile,
        "definition_fragile": gold.definition_fragile,
        "gold": gold.verdict,
        "answer": reading.verdict,
        "answers": [answer[:200] for answer in reading.answers[:20]],
        "outcome": reading.problem or ("right" if right else "wrong_verdict"),
        "detail": reading.detail,
        **components,
        "retrieval_recall": _share(findings, "retrieved"),
        "citations": asdict(citations),
        "requirements": [asdict(finding) for finding in findings],
        "policy_support": _support(policies),
        "policy_citations": sections,
        "policies": [asdict(finding) for finding in policies],
        "calls": asdict(count_calls(trail)),
        "audit": {"sealed": trail.sealed, "problem": trail.problem, "last_call": _last_call(trail)},
        "reward_mode": mode,
        "reward": reward(components, mode),
    }


def _last_call(trail: Trail) -> str | None:
    """The hash of the last call, which no two trials share unless one has the other's audit."""
    return str(trail.calls[-1]["hash"]) if trail.calls else None


def reward(components: dict[str, float], mode: str) -> float:
    """The reward in one of REWARD_MODES."""
    if mode == "multi":
        parts = (0.5, "verdict"), (0.3, "evidence_recall"), (0.2, "citation_precision")
        return sum(weight * components[name] for weight, name in parts)
    if mode not in REWARD_MODES:
        raise ValueError(f"reward mode {mode!r} is none of {', '.join(REWARD_MODES)}")
    return components["verdict" if mode == "outcome" else "supported"]


def _support(policies: Sequence[PolicyFinding]) -> float | None:
    """The share of the policy items, by weight, whose document was served and cited; None if there are none."""
    total = sum(item.weight for item in policies)
    return sum(item.weight for item in policies if item.cited) / total if total else None


def _share(findings: Sequence[Finding], name: str) -> float:
    return sum(bool(getattr(finding, name)) for finding in findings) / len(findings)
