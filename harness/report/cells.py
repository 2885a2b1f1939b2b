"""What a report's tables are made of, and how numbers are written in them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Summary = Mapping[str, Any]
"""What `harness.stats.summary.summarise` returns."""

SHORT = {
    "yes": "yes",
    "no": "no",
    "lack_of_data": "lack of data",
    "medical_ambiguity": "ambiguity",
    "none": "no verdict",
}
NOT_DEFINED = "–"
_NUMBER = re.compile(r"(?:[-+<]?\d+(?:\.\d+)?(?:(?:–| to )-?\d+)?[ =<·r!]?|–)?")


@dataclass(frozen=True)
class Cell:
    """A table's cell: its text, and its share of 1 where it is one."""

    text: str
    share: float | None = None


@dataclass(frozen=True)
class Sheet:
    """One table: a stable key, a title, columns (the first names the row), rows, and what to know about it."""

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def is_number(text: str) -> bool:
    """Whether a cell's text is a number, an interval, or stands for one; a mark may follow it."""
    return _NUMBER.fullmatch(text) is not None


def percent(value: float | None) -> Cell:
    """A share as per cent, one decimal."""
    return Cell(NOT_DEFINED) if value is None else Cell(f"{100 * value:.1f}", value)


def count(value: int | None, share: float | None = None) -> Cell:
    """A whole number, with the share of 1 that it is of its row, if any."""
    return Cell(NOT_DEFINED if value is None else str(value), share)


def span(interval: Mapping[str, Any]) -> Cell:
    """An interval's ends in whole per cent."""
    low, high = interval["low"], interval["high"]
    if low is None or high is None:
        return Cell(NOT_DEFINED)
    ends: Sequence[str] = [f"{100 * end:.0f}" for end in (low, high)]
    return Cell(" to ".join(ends) if min(low, high) < 0 else "–".join(ends))


def signed(value: float | None) -> str:
    """A difference in points, with its sign."""
    if value is None:
        return NOT_DEFINED
    text = f"{100 * value:+.1f}"
    return text if float(text) else "0.0"


def reachable(value: float | None) -> Cell:
    """A detectable difference as per cent; one above 1 is more than two systems can differ by."""
    return percent(None if value is None or value > 1 else value)


def decimal(value: float | None) -> str:
    """A number with one decimal."""
    return NOT_DEFINED if value is None else f"{value:.1f}"


def p_value(value: float | None) -> str:
    """A p value."""
    if value is None:
        return NOT_DEFINED
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def detectable(summary: Summary) -> str:
    """The sentence on what difference could be detected, which every table of means carries."""
    found = summary["detectable"]
    if found["difference"] is None:
        return "Detectable difference: none can be reckoned, no two systems differ."
    reach = reachable(found["difference"]).text
    if reach != NOT_DEFINED:
        reach += " points"
    guess = "assumed" if found["disagreement_is_guess"] else "seen"
    return (
        f"Detectable difference between two systems: {reach} "
        f"(n = {found['subjects']} subjects, q = {found['disagreement']:.2f} {guess})."
    )
