"""Made-up trials for statistics and reports."""

from collections.abc import Iterator
from typing import Any

from harness.stats.record import TrialScore


def trial(
    task: str = "t1",
    system: str = "a",
    *,
    gold: str = "yes",
    answer: str | None = "yes",
    scenario: str = "01-first",
    cluster: str | None = None,
    dead: str | None = None,
    **more: Any,
) -> TrialScore:
    """A trial that answered; `dead` names a cause instead."""
    right = float(answer == gold)
    outcome = "no_answer" if answer is None else "right" if right else "wrong_verdict"
    score: dict[str, Any] = {
        "answer": answer,
        "outcome": outcome,
        "verdict": right,
        "supported": right,
        "evidence_recall": 1.0,
        "retrieval_recall": 1.0,
        "citation_precision": 1.0,
        "citations": {"cited": 2, "counted": 2, "resolvable": 2, "served": 2, "relevant": 2},
        "calls": {"calls": 3, "errors": 0, "refusals": 0, "repeats": 0, "truncated_unread": 0},
        "requirements": [{"id": "index", "kind": "rows", "by_rows": True, "retrieved": True, "satisfied": True, "why": "satisfied"}],
    }  # fmt: skip
    own = {name: more.pop(name) for name in list(more) if name in score}
    return TrialScore(
        **{
            "trial": f"{task}__{system}",
            "task": task,
            "scenario": scenario,
            "system": system,
            "cluster": cluster or task,
            "gold": gold,
            "fragile": False,
            "definition_fragile": False,
            "label": "rule-derived",
            "status": "dead" if dead else "ok",
            "cause": dead,
            "attempts": 1,
            "score": None if dead else score | own,
        }
        | more
    )


VERDICTS = ("yes", "yes", "no", "no", "lack_of_data", "medical_ambiguity")


def constant(system: str, answer: str | None, scenarios: int = 3, each: int = 30) -> Iterator[TrialScore]:
    """A system that always answers the same, over scenarios with every class."""
    for scenario in range(scenarios):
        for number in range(each):
            gold = VERDICTS[number % len(VERDICTS)]
            yield trial(
                f"s{scenario}-{number}",
                system,
                gold=gold,
                answer=gold if answer == "gold" else answer,
                scenario=f"{scenario:02}-scenario",
                cluster=f"c{(number + scenario * 7) % 60}",
            )
