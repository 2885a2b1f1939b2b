"""Reading one table of the slice: how many rows match, one page of them, and how live the source was.

Everything a client sends is bound as a parameter; the SQL text is made of constants alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from math import isfinite
from typing import Any

import duckdb

from mcp_mimic.tools.filters import Filter
from mcp_mimic.tools.source import Detail, Source
from mcp_mimic.tools.window import Window

type Row = dict[str, Any]
"""One row as it is served: `eid`, the official columns that are not null, and `label`."""

KEY_SQL = "try_cast(substr(r.eid, strpos(r.eid, ':') + 1) as bigint)"


@dataclass(frozen=True)
class Counts:
    """Rows that match in the window, rows of anything in it, and the nearest rows on either side."""

    total: int
    in_window: int
    last_before: datetime | None
    first_after: datetime | None


@dataclass(frozen=True)
class Paging:
    """Which page of the matching rows: in which order, how many rows, after how many others."""

    newest_first: bool
    limit: int
    offset: int = 0


@dataclass(frozen=True)
class _Conditions:
    window: str
    match: str
    parameters: Mapping[str, Any]


def count_rows(cursor: duckdb.DuckDBPyConnection, source: Source, window: Window, chosen: Filter) -> Counts:
    """Count the matching rows and what surrounds the window, for rows of any item."""
    conditions = _conditions(source, window, chosen)
    before = f"max({source.time}) filter (where {source.last_moment} < $start)" if window.start else "null"
    after = "null" if window.reaches_as_of else f"min({source.time}) filter (where {source.time} > $end)"
    row = cursor.execute(
        f"""
        select count(*) filter (where {conditions.window} and {conditions.match}),
               count(*) filter (where {conditions.window}), {before}, {after}
        from {source.table} r {source.joins}
        """,
        dict(conditions.parameters),
    ).fetchone()
    total, in_window, last_before, first_after = row or (0, 0, None, None)
    return Counts(total, in_window, last_before, first_after)


def read_page(
    cursor: duckdb.DuckDBPyConnection, source: Source, window: Window, chosen: Filter, paging: Paging
) -> list[tuple[datetime | None, Row]]:
    """One page, by event time, then by evidence id; rows without a time come last either way."""
    conditions = _conditions(source, window, chosen)
    way = "desc" if paging.newest_first else "asc"
    found = cursor.execute(
        f"""
        select {source.time}, {source.label or "null"}, r.* exclude ({", ".join(("available_at", *source.unread))})
        from {source.table} r {source.joins}
        where {conditions.window} and {conditions.match}
        order by {source.time} {way} nulls last, {KEY_SQL} {way} nulls last, r.eid {way}{source.then_by}
        limit $limit offset $offset
        """,
        {**conditions.parameters, "limit": paging.limit, "offset": paging.offset},
    )
    names = [column[0] for column in found.description[2:]]
    page = [(row[0], served(source, names, row)) for row in found.fetchall()]
    if source.detail is not None and page:
        add_details(cursor, source.detail, [row for _, row in page])
    return page


def _conditions(source: Source, window: Window, chosen: Filter) -> _Conditions:
    inside, match = ["true"], ["true"]
    parameters: dict[str, Any] = {}
    if window.start is not None:
        inside.append(f"{source.last_moment} >= $start")
        parameters["start"] = window.start
    if not window.reaches_as_of:
        inside.append(f"{source.time} <= $end")
        parameters["end"] = window.end
    if chosen.items is not None:
        match.append(f"list_contains($items::integer[], {source.item})")
        parameters["items"] = list(chosen.items)
    elif chosen.names is not None:
        tests = []
        for number, name in enumerate(chosen.names):
            tests.append(f"contains(lower({source.name}), $name{number})")
            parameters[f"name{number}"] = name
        match.append(f"({' or '.join(tests)})")
    return _Conditions(" and ".join(inside), f"coalesce({' and '.join(match)}, false)", parameters)


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
        f"select r.* exclude (available_at) from {detail.table} r where r.eid in (select unnest($eids)) "
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
