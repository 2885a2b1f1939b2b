"""A report folder: index.html and report.md for people, scores.json and trials.csv for programs."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from harness.errors import JobError
from harness.report.cells import Sheet, Summary
from harness.report.headlines import lines_of
from harness.report.page import report_page
from harness.report.sheets import all_sheets
from harness.stats.record import TrialScore
from harness.stats.summary import RULE_DERIVED

_MARK, _DRAFT = "scores.json", ".draft"
_OTHER_FOLDER = "name a new or empty folder, or that of an earlier report"
_SCORES = ("verdict", "supported", "evidence_recall", "retrieval_recall", "citation_precision")
_COUNTS = {
    "citations": ("cited", "counted", "resolvable", "served", "relevant"),
    "calls": ("calls", "errors", "refusals", "repeats", "truncated_unread"),
}


def write_report(summary: Summary, trials: Sequence[TrialScore], folder: Path) -> Path:
    """Write the folder's files anew, all or none of them, and return its page.

    JobError if the folder holds anything but an earlier report.
    """
    _require_ours(folder)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "index.html"
    numbers = json.dumps(summary, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    files = {
        folder / _MARK: numbers,
        page: report_page(summary, trials),
        folder / "report.md": report_markdown(summary),
        folder / "trials.csv": trials_csv(trials),
    }
    drafts = {path: path.with_name(f".{path.name}{_DRAFT}") for path in files}
    try:
        for path, text in files.items():
            drafts[path].write_text(text, encoding="utf-8")
        for path, draft in drafts.items():
            draft.replace(path)
    finally:
        for draft in drafts.values():
            if draft.is_file():
                draft.unlink()
    return page


def _require_ours(folder: Path) -> None:
    """JobError unless the folder is new, empty, or has the scores of an earlier report."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise JobError(f"{folder} is no folder", _OTHER_FOLDER)
    others = [path for path in folder.iterdir() if not path.name.endswith(_DRAFT)]
    try:
        scores = json.loads((folder / _MARK).read_bytes())
    except (OSError, ValueError):
        scores = None
    if others and not (isinstance(scores, dict) and {"job", "labels", "systems"} <= scores.keys()):
        raise JobError(f"{folder} has other files in it, and no earlier report", _OTHER_FOLDER)


def report_markdown(summary: Summary) -> str:
    """The report as Markdown."""
    note, *lines = lines_of(summary)
    parts = [f"# Scores of {_plain(str(summary['job'].get('name', 'a job')))}", f"**{_plain(note)}**"]
    parts.append("\n".join(f"- {_plain(line)}" for line in lines))
    parts += [_markdown_sheet(sheet) for sheet in all_sheets(summary)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _markdown_sheet(sheet: Sheet) -> str:
    rows = [sheet.columns, *(tuple(cell.text for cell in row) for row in sheet.rows)]
    first, *rest = ["| " + " | ".join(map(_plain, row)) + " |" for row in rows]
    ruler = "|---|" + "---:|" * (len(sheet.columns) - 1)
    table = "\n".join([first, ruler, *rest])
    return "\n\n".join(part for part in (f"## {_plain(sheet.title)}", table, _plain(sheet.note)) if part)


def _plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return "".join(f"\\{mark}" if mark in "\\`*_[]<>|#" else mark for mark in " ".join(text.split()))


def trials_csv(trials: Sequence[TrialScore]) -> str:
    """One row a trial, dead ones too, each with where its label comes from."""
    rows = [_row(trial) for trial in trials]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(_row_names()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _row_names() -> tuple[str, ...]:
    counts = tuple(name for names in _COUNTS.values() for name in names)
    own = (
        "trial",
        "task",
        "scenario",
        "system",
        "subject",
        "status",
        "cause",
        "attempts",
        "label",
        "clinician_reviewed",
    )
    return (
        *own,
        "fragile",
        "definition_fragile",
        "gold",
        "answer",
        "outcome",
        *_SCORES,
        *counts,
        "unsatisfied",
    )


def _row(trial: TrialScore) -> dict[str, object]:
    row: dict[str, object] = {
        "trial": _inert(trial.trial),
        "task": trial.task,
        "scenario": trial.scenario,
        "system": _inert(trial.system),
        "subject": trial.cluster,
        "status": trial.status,
        "cause": _inert(trial.cause or ""),
        "attempts": trial.attempts,
        "label": trial.label,
        "clinician_reviewed": str(trial.label != RULE_DERIVED).lower(),
        "fragile": str(trial.fragile).lower(),
        "definition_fragile": str(trial.definition_fragile).lower(),
        "gold": trial.gold,
    }
    score = trial.score
    if score is None:
        return row
    row |= {"answer": score["answer"] or "", "outcome": score["outcome"]}
    row |= {name: score[name] for name in _SCORES}
    for part, names in _COUNTS.items():
        row |= {name: score[part][name] for name in names}
    unsatisfied = [need["id"] for need in score["requirements"] if not need["satisfied"]]
    return row | {"unsatisfied": " ".join(unsatisfied)}


def _inert(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
