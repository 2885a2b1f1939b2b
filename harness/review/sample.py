"""Which cases a reviewer reads, and in which order: by hashes, so that the same cohort gives the same packet."""

from collections.abc import Sequence
from hashlib import sha256

from harness.cohort_file import CohortRow
from mcp_mimic.contract import VERDICTS


def sample_cases(rows: Sequence[CohortRow], count: int) -> list[CohortRow]:
    """Up to `count` cases of each scenario: one of each verdict in turn, within it by hash of subject and scenario."""
    chosen: list[CohortRow] = []
    for scenario in sorted({row.scenario for row in rows}):
        own = sorted((row for row in rows if row.scenario == scenario), key=_rank)
        queues = [[row for row in own if row.gold == verdict] for verdict in VERDICTS]
        longest = max(map(len, queues))
        turns = [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]
        chosen += turns[:count]
    return chosen


def order_for(reader: str, tasks: Sequence[str]) -> list[str]:
    """The tasks in this reader's own order, which says nothing of their labels."""
    return sorted(tasks, key=lambda task: _hash(f"reader {reader}:{task}"))


def _rank(row: CohortRow) -> tuple[str, str]:
    return _hash(f"review:{row.scenario}:{row.subject_id}"), f"{row.index_time} {row.as_of} {row.params}"


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
