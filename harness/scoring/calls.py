"""How well a trial used its tools: errors, refusals, repeats, and results left half read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.scoring.coverage import Search
from harness.scoring.trail import Trail
from mcp_mimic.contract import canonical_json


@dataclass(frozen=True)
class CallHealth:
    """Counts over one trial.

    `repeats`: calls with the same tool and arguments as an earlier one. `truncated_unread`: searches that
    found more rows than were read, and that no later page or call finished.
    """

    calls: int
    errors: int
    refusals: int
    repeats: int
    truncated_unread: int


def count_calls(trail: Trail) -> CallHealth:
    """Count what went well and what did not."""
    outcomes = [call.get("outcome") for call in trail.calls]
    return CallHealth(
        calls=len(trail.calls),
        errors=outcomes.count("error"),
        refusals=outcomes.count("refused"),
        repeats=len(trail.calls) - len({_question(call) for call in trail.calls}),
        truncated_unread=_unfinished(trail.searches.values()),
    )


def _question(call: Mapping[str, Any]) -> str:
    return canonical_json([call.get("tool"), call.get("args")])


def _unfinished(searches: Iterable[Search]) -> int:
    return len({search.key for search in searches if not search.complete})
