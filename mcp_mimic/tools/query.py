"""Rows as they are served, and what a search counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from math import isfinite
from typing import Any

import duckdb

from mcp_mimic.tools.source import Detail, Source

type Row = dict[str, Any]
"""One row as it is served: `eid`, the official columns that are not null, and `label`."""


@dataclass(frozen=True)
class Counts:
    """Rows that match in the window, rows of anything in it, and the nearest rows on either side."""

    total: int
    in_window: int
    last_before: datetime | None
    first_after: datetime | None


def served(source: Source, names: Sequence[str], row: Sequence[Any]) -> Row:
    """A row as it is served; `row` is the event time, the label, then the columns `names`."""
    values = dict(zip(names, row[2:], strict=True))
    served: Row = {"eid": values.pop("eid")}
    for name, value in values.items():
        if value is not None and name not in source.hidden:
            served[name] = plain(value)
    if source.label is not None and (source.item or source.joins) and row[1] is not None:
        served["label"] = row[1]
    return served


def add_details(cursor: duckdb.DuckDBPyConnection, detail: Detail, rows: Sequence[Row]) -> None:
    """Add to each row the rows of the detail table that share its evidence id."""
    found = cursor.execute(
        f"select r.* exclude (available_at) from {detail.table} r where list_contains($eids::varchar[], r.eid) "
        f"order by r.eid, {detail.order}, r::varchar",
        {"eids": [row["eid"] for row in rows]},
    )
    names = [column[0] for column in found.description]
    details: dict[str, list[Row]] = {}
    for values in found.fetchall():
        row = dict(zip(names, values, strict=True))
        compact = {
            name: plain(value)
            for name, value in row.items()
            if value is not None and name != "eid" and name not in detail.hidden
        }
        if compact:
            details.setdefault(row["eid"], []).append(compact)
    for row in rows:
        if row["eid"] in details:
            row["detail"] = details[row["eid"]]


def plain(value: Any) -> Any:
    """A value as JSON can hold it: times as ISO text, and text for a number that is none."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value
