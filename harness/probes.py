"""What the instruments must get, held against what they got: the scores' own test."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.report.cells import Cell as SheetCell
from harness.report.cells import Sheet
from harness.stats.record import TrialScore

AXES = ("verdict", "resolvable", "served", "precision", "retrieved", "recall", "supported")
_LOW = 0.25
_EXPECTED = Path(__file__).with_name("probes.toml")

Score = Mapping[str, Any]
"""A trial's score.json."""


@dataclass(frozen=True)
class Cell:
    """One probe on one axis: the mean over trials, what was expected, and the tasks where it is not so."""

    mean: float
    mark: str
    wrong: tuple[str, ...]


def load_expected() -> dict[str, dict[str, str]]:
    """The expected mark by system and axis."""
    return tomllib.loads(_EXPECTED.read_text(encoding="utf-8"))


def axis_values(score: Score) -> dict[str, float]:
    """A trial's place on each axis, 0 to 1."""
    citations = score["citations"]
    counted = citations["counted"]
    return {
        "verdict": score["verdict"],
        "resolvable": citations["resolvable"] / counted if counted else 0.0,
        "served": citations["served"] / counted if counted else 0.0,
        "precision": score["citation_precision"],
        "retrieved": score["retrieval_recall"],
        "recall": score["evidence_recall"],
        "supported": score["supported"],
    }


def compare(expected: Mapping[str, str], scores: Sequence[Score]) -> dict[str, Cell]:
    """One system's cells over its trials."""
    values = [axis_values(score) for score in scores]
    return {axis: _cell(mark, scores, [value[axis] for value in values]) for axis, mark in expected.items()}


def _cell(mark: str, scores: Sequence[Score], values: Sequence[float]) -> Cell:
    average = sum(values) / len(values) if values else 0.0
    if mark == "low":
        wrong = [average >= _LOW and value >= _LOW for value in values]
    else:
        wrong = [not _holds(mark, value, score) for value, score in zip(values, scores, strict=True)]
    tasks = (score["task"] for score, is_wrong in zip(scores, wrong, strict=True) if is_wrong)
    return Cell(average, mark, tuple(tasks))


def compare_all(trials: Iterable[TrialScore]) -> dict[str, dict[str, Cell]]:
    """Every instrument's cells over its scored trials, in the order of the expectations."""
    scores: dict[str, list[Score]] = {}
    for trial in trials:
        if trial.score is not None:
            scores.setdefault(trial.system, []).append(trial.score)
    return {tag: compare(expected, scores[tag]) for tag, expected in load_expected().items() if tag in scores}


def probe_sheet(probes: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Sheet:
    """The table of probes by axes; `probes` is what `compare_all` found, as JSON holds it."""
    rows = [
        (SheetCell(tag), *(SheetCell(_shown(cell)) for cell in cells.values()))
        for tag, cells in probes.items()
    ]
    wrong = sum(bool(cell["wrong"]) for cells in probes.values() for cell in cells.values())
    cells = sum(len(found) for found in probes.values())
    verdict = (
        f"all {cells} cells are as expected"
        if not wrong
        else f"{wrong} of {cells} cells are NOT as expected (!)"
    )
    return Sheet(
        key="probes",
        title="Instruments by axes: per cent, mean over trials",
        columns=("system", *AXES),
        rows=tuple(rows),
        note=(
            f"Held against what each must get, trial by trial: {verdict}. Expected: 100 or 0 in every trial; "
            "= 100 where the gold is the probe's answer, else 0; < under 25 on average; "
            "r what rows alone can satisfy; · not tested."
        ),
    )


def _shown(cell: Mapping[str, Any]) -> str:
    signs = {"full": "", "none": "", "low": "<", "any": "·", "rows": "r", "rows-only": "r"}
    sign = "!" if cell["wrong"] else signs.get(cell["mark"], "=")
    return f"{100 * cell['mean']:.1f}{sign or ' '}"


def _holds(mark: str, value: float, score: Score) -> bool:
    return mark == "any" or abs(value - _wanted(mark, score)) < 1e-9


def _wanted(mark: str, score: Score) -> float:
    if mark.startswith("gold:"):
        return float(score["gold"] == mark.removeprefix("gold:"))
    able = [bool(requirement["by_rows"]) for requirement in score["requirements"]]
    by_rows = sum(able) / len(able)
    return {"full": 1.0, "none": 0.0, "rows": by_rows, "rows-only": float(by_rows == 1)}[mark]
