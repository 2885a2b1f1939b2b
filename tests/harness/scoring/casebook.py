"""Small hand-written gold files and audits, sealed with the real hash chain."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from harness.scoring.files import FileReading
from harness.scoring.score import score_trial
from mcp_mimic.contract import AUDIT_VERSION, chain_hash

TASK = "05-lactate-0123456789ab"
MISSING = FileReading()


def rows(name: str, *alternatives: Sequence[str], relevant: Sequence[str] = ()) -> dict[str, Any]:
    return requirement(name, "rows", alternatives, relevant=relevant)


def requirement(
    name: str,
    kind: str,
    alternatives: Sequence[Sequence[str]] = (),
    *,
    relevant: Sequence[str] = (),
    search: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    return {
        "id": name,
        "kind": kind,
        "alternatives": [list(ids) for ids in alternatives],
        "relevant": list(relevant),
        "search": list(search),
    }


def entry(
    source: str = "hosp.emar",
    *,
    items: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    start: str | None = "2180-01-01T08:00:00",
    end: str | None = "2180-01-01T14:00:00",
) -> dict[str, Any]:
    return {
        "source": source,
        "items": None if items is None else list(items),
        "names": None if names is None else list(names),
        "from": start,
        "to": end,
    }


def gold(verdict: str = "yes", *requirements: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "task": TASK,
        "scenario": TASK.rsplit("-", 1)[0],
        "version": "1",
        "verdict": verdict,
        "rule": "second lactate drawn",
        "fragile": False,
        "definition_fragile": False,
        "label": "rule-derived",
        "requirements": list(requirements) or [rows("index", ["lab:1"])],
        "known": {"lab": [[1, 60]], "emar": [[1, 200]], "micro": [[3, 9], "s123"], "note": ["DS-2#4"]},
    } | more


def call(
    *eids: str,
    outcome: str = "ok",
    tool: str = "get_labs",
    args: dict[str, Any] | None = None,
    coverage: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A call's line, still without its place in the chain."""
    return {
        "t": "2026-01-01T00:00:00+00:00",
        "tool": tool,
        "args": args or {},
        "outcome": outcome,
        "rule": "granted",
        "coverage": coverage,
        "eids": list(eids),
        "chars": 100,
        "ms": 1,
    }


def searched(
    source: str = "hosp.emar",
    *eids: str,
    items: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    start: str | None = "2180-01-01T08:00:00",
    end: str | None = "2180-01-01T14:00:00",
    complete: bool = True,
    outcome: str = "ok",
    **more: Any,
) -> dict[str, Any]:
    """A search's line; its total is one more than returned if it is not complete."""
    coverage = entry(source, items=items, names=names, start=start, end=end) | {
        "total": len(eids) + (not complete),
        "returned": len(eids),
        "complete": complete,
    }
    return call(*eids, outcome=outcome, coverage=coverage, **more)


def audit(*calls: dict[str, Any], seal: bool = True, task: str = TASK) -> list[str]:
    """The lines of a whole audit over these calls."""
    header = {"v": AUDIT_VERSION, "grant": "g", "task": task, "store": "f", "server": "1", "started": "t"}
    body = [header, *({"seq": number} | line for number, line in enumerate(calls, start=1))]
    if seal:
        body.append({"sealed": True, "calls": len(calls)})
    return chained(body)


def chained(body: Iterable[dict[str, Any]]) -> list[str]:
    """The lines with `prev` and `hash` as the server writes them."""
    lines, previous = [], ""
    for number, line in enumerate(body):
        placed = line if number == 0 else line | {"prev": previous}
        previous = chain_hash(previous, placed)
        lines.append(json.dumps(placed | {"hash": previous}))
    return lines


def handed_in(text: str | bytes) -> FileReading:
    return FileReading(text if isinstance(text, bytes) else text.encode())


def score(
    gold_data: dict[str, Any],
    report: str | bytes | FileReading,
    *calls: dict[str, Any],
    submission: FileReading = MISSING,
    mode: str = "outcome",
) -> dict[str, Any]:
    file = report if isinstance(report, FileReading) else handed_in(report)
    return score_trial(gold_data, file, submission, audit(*calls), mode=mode)


def write_trial_parts(folder: Path, report: str | None, lines: Iterable[str]) -> None:
    """The artefacts of a trial as Harbor lays them out."""
    workspace, sidecar = folder / "artifacts" / "workspace", folder / "artifacts" / "audit"
    workspace.mkdir(parents=True)
    sidecar.mkdir(parents=True)
    if report is not None:
        (workspace / "report.md").write_text(report, encoding="utf-8")
    (sidecar / "audit.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
