"""What a trial's audit shows: which ids were served, and what was searched to the end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from harness.scoring.coverage import Search
from mcp_mimic.contract import parse_eid, read_audit


@dataclass(frozen=True)
class Trail:
    """An audit as scoring uses it.

    `sealed` says that the chain holds to its seal; `problem` why it does not. `served` are the ids that
    answered calls showed, the notes of served passages among them. `searches` are the answered calls with a
    coverage, by their id; one counts as complete if any call for the same was read to the end.
    """

    task: str | None
    calls: tuple[Mapping[str, Any], ...]
    sealed: bool
    problem: str | None
    served: frozenset[str]
    searches: Mapping[str, Search]

    @property
    def call_ids(self) -> frozenset[str]:
        """The ids of all calls, whatever their outcome."""
        return frozenset(f"search:{number}" for number in range(1, len(self.calls) + 1))


def read_trail(lines: Iterable[str]) -> Trail:
    """Read an audit; a damaged one is unsealed and says why."""
    reading = read_audit(lines)
    answered = [call for call in reading.calls if call.get("outcome") == "ok"]
    served = {f"search:{call['seq']}" for call in answered}
    for call in answered:
        eids = call.get("eids")
        if isinstance(eids, list):
            served.update(eid for eid in eids if isinstance(eid, str))
    found = [search for call in answered if (search := _search(call)) is not None]
    finished = {search.key for search in found if search.complete}
    problem = reading.problem or (None if reading.sealed else "no seal")
    return Trail(
        task=_task(reading.header),
        calls=reading.calls,
        sealed=reading.sealed,
        problem=problem,
        served=with_notes(served),
        searches={f"search:{s.number}": replace(s, complete=s.key in finished) for s in found},
    )


def note_of(text: str) -> str | None:
    """The note that a passage belongs to, `note:DS-2` of `note:DS-2#4`; None of anything else."""
    eid = parse_eid(text)
    if eid is None or eid.kind != "note" or "#" not in eid.key:
        return None
    return text.partition("#")[0]


def document_of(text: str) -> str | None:
    """The policy document that a section belongs to, `x` of `policy:x#2`; None of anything else."""
    eid = parse_eid(text)
    return eid.key.partition("#")[0] if eid is not None and eid.kind == "policy" else None


def with_notes(ids: Iterable[str]) -> frozenset[str]:
    """The ids, and the notes of the passages among them: who has a passage has its note."""
    held = frozenset(ids)
    return held | {note for eid in held if (note := note_of(eid)) is not None}


def _task(header: Mapping[str, Any] | None) -> str | None:
    task = (header or {}).get("task")
    return task if isinstance(task, str) else None


def _search(call: Mapping[str, Any]) -> Search | None:
    """The call's coverage; None if it has none or a damaged one, which supports nothing."""
    coverage = call.get("coverage")
    if not isinstance(coverage, dict):
        return None
    try:
        items, names = coverage["items"], coverage["names"]
        return Search(
            number=call["seq"],
            source=str(coverage["source"]),
            items=None if items is None else frozenset(int(item) for item in items),
            names=None if names is None else tuple(sorted(str(name).lower() for name in names)),
            start=_moment(coverage["from"]),
            end=_moment(coverage["to"]),
            complete=coverage["complete"] is True,
        )
    except (KeyError, TypeError, ValueError):
        return None


def _moment(value: object) -> datetime | None:
    if value is None:
        return None
    moment = datetime.fromisoformat(str(value))
    if moment.tzinfo is not None:
        raise ValueError("the record's times have no zone")
    return moment
