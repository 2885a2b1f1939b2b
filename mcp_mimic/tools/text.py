"""The compact text table: one line a row, values neutralised so that data can never look like layout."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from mcp_mimic.tools.query import Row
from mcp_mimic.tools.sources import Source
from mcp_mimic.tools.window import iso

SEPARATOR = " | "
_NO_UNIT = (None, "None")
"""The record writes None behind the count of a task: "Chest X-Ray, 1 None" would read as none done."""

_CONTROLS = {"Cc", "Cf", "Zl", "Zp", "Cs", "Co"}


def clean(value: Any) -> str:
    """A value on one line: blanks for line breaks, a mark for control characters, no column separator."""
    text = _number(value) if isinstance(value, float) else str(value)
    if text.isascii() and text.isprintable() and "|" not in text:
        return text
    return "".join(_clean_character(character) for character in text)


def _number(value: float) -> str:
    """A number without a needless fraction, to six digits where it has one."""
    return f"{value:.0f}" if value.is_integer() else f"{value:.6g}"


def _clean_character(character: str) -> str:
    if character in "\r\n\t\v\f\u0085\u2028\u2029":
        return " "
    if character == "|":
        return "¦"
    return "�" if unicodedata.category(character) in _CONTROLS else character


def row_line(source: Source, moment: datetime | None, row: Row) -> str:
    """`eid | time | item | value unit | further columns as name=value`."""
    cells = [clean(row["eid"]), _when(source, moment, row), _item(source, row)]
    cells += _value_cells(source, row)
    for detail in row.get("detail", ()):
        cells.append("detail: " + ", ".join(f"{name}={clean(value)}" for name, value in detail.items()))
    return SEPARATOR.join(cells)


def _when(source: Source, moment: datetime | None, row: Row) -> str:
    """The event time; a row dated to a day shows no midnight that nobody recorded."""
    if moment is None:
        return "no time"
    return moment.date().isoformat() if source.latest and "charttime" not in row else iso(moment)


def _item(source: Source, row: Row) -> str:
    label = clean(row.get("label") or _named(source, row)) or "-"
    return f"{row['itemid']} {label}" if "itemid" in row and source.item else label


def _named(source: Source, row: Row) -> str:
    column = (source.label or "").removeprefix("r.")
    return str(row.get(column, ""))


def _value_cells(source: Source, row: Row) -> list[str]:
    shown = {"eid", "label", "detail", "itemid", _own_column(source.time), _own_column(source.label or "")}
    shown |= set(source.quiet) | set(source.units.values())
    cells = []
    values = sorted(row.items(), key=lambda cell: cell[0] not in source.units)
    for name, value in values:
        if name in shown or (name == "valuenum" and _says_the_same(row.get("value"), value)):
            continue
        unit = row.get(source.units.get(name, ""))
        text = clean(value) if unit in _NO_UNIT else f"{clean(value)} {clean(unit)}"
        cells.append(text if name == "value" else f"{name}={text}")
    return cells


def _own_column(expression: str) -> str:
    return expression.removeprefix("r.").removesuffix("::timestamp")


def _says_the_same(value: Any, number: Any) -> bool:
    try:
        return float(value) == float(number)
    except (TypeError, ValueError):
        return False


def joined(values: Sequence[Any]) -> str:
    """Values in a sentence."""
    return ", ".join(clean(value) for value in values)


def problem_text(call: str | None, problem: Mapping[str, str]) -> str:
    """An error as text: the same that the structured result says."""
    head = f"error {problem['code']}" + (f" ({call})" if call else "")
    return f"{head}: {problem['message']}\nremedy: {problem['remedy']}"
