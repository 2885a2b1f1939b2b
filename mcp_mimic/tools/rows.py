"""The rows of one table of a slice as a session reads them: found by time and item without asking the database.

A slice does not change, so one query a table and session reads what its rows are searched by: when they were,
which item, in which order. Counting and paging are look-ups then. The rows themselves are kept where the table
is small, and fetched page by page where it is not, so that a session's memory stays bounded.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import duckdb

from mcp_mimic.tools.filters import Filter
from mcp_mimic.tools.query import Counts, Row, add_details, served
from mcp_mimic.tools.source import Source
from mcp_mimic.tools.window import Window

KEPT_ROWS = 4000
"""The rows of a table that has no more than this are kept."""

_KEY = "try_cast(substr(r.eid, strpos(r.eid, ':') + 1) as bigint)"
_EPOCH, _MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)


class TableRows:
    """One table. A rank counts its rows from the oldest, by event time, then evidence id; timeless ones last."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, source: Source, *, kept: int = KEPT_ROWS) -> None:
        key = source.item or (f"lower({source.name})" if source.name else "null")
        found = cursor.execute(
            f"""
            select r.rowid, {source.time}, {source.last_moment}, {key},
                row_number() over (order by {source.time} desc nulls last, {_KEY} desc nulls last, r.eid desc{source.then_by})
            from {source.table} r {source.joins}
            order by {source.time} nulls last, {_KEY} nulls last, r.eid{source.then_by}
            """
        ).fetchall()
        self._source = source
        self._numbers = array("q", (row[0] for row in found))
        self._times = array("q", (_micros(row[1]) for row in found if row[1] is not None))
        self._lasts = self._times
        if source.latest:
            self._lasts = array("q", (_micros(row[2]) for row in found if row[1] is not None))
        self._ranks: dict[Any, array[int]] = {}
        for rank, row in enumerate(found):
            self._ranks.setdefault(row[3], array("q")).append(rank)
        self._newest = array("q", (row[4] for row in found))
        timed, rows = len(self._times), len(found)
        reverse = (*range(timed, 0, -1), *range(rows, timed, -1))
        self._reverses = all(place == mirrored for place, mirrored in zip(self._newest, reverse, strict=True))
        self._select = (
            f"select r.rowid, {source.time}, {source.label or 'null'}, "
            f"r.* exclude ({', '.join(('available_at', *source.unread))}) from {source.table} r {source.joins}"
        )
        self._kept = self._read(cursor) if rows <= kept else None

    def count(self, window: Window, chosen: Filter) -> Counts:
        """Count the matching rows and what surrounds the window, for rows of any item."""
        before = after = None
        if window.start is not None:
            start = _micros(window.start)
            if self._source.latest:
                ended = (time for time, last in zip(self._times, self._lasts, strict=True) if last < start)
                before = max(ended, default=None)
            elif rank := bisect_left(self._times, start):
                before = self._times[rank - 1]
        if not window.reaches_as_of:
            rank = bisect_right(self._times, _micros(window.end))
            after = self._times[rank] if rank < len(self._times) else None
        total, in_window = (
            len(self._within(window, ranks)) for ranks in (self._matching(chosen), self._all())
        )
        return Counts(total, in_window, _moment(before), _moment(after))

    def page(
        self,
        cursor: duckdb.DuckDBPyConnection,
        window: Window,
        chosen: Filter,
        *,
        newest_first: bool,
        limit: int,
        offset: int,
    ) -> list[tuple[datetime | None, Row]]:
        """One page, by event time, then by evidence id; rows without a time come last either way."""
        ranks = self._within(window, self._matching(chosen))
        ordered = self._newest_first(ranks) if newest_first else ranks
        numbers = [self._numbers[rank] for rank in ordered[offset : offset + limit]]
        names, rows = self._read(cursor, numbers) if self._kept is None else self._kept
        page = [(rows[number][1], served(self._source, names, rows[number][1:])) for number in numbers]
        if self._source.detail is not None and page:
            add_details(cursor, self._source.detail, [row for _, row in page])
        return page

    def _read(
        self, cursor: duckdb.DuckDBPyConnection, numbers: Sequence[int] | None = None
    ) -> tuple[list[str], dict[int, tuple[Any, ...]]]:
        """Names of the columns, and rows by their number; all rows where no numbers are given."""
        only = "" if numbers is None else f" where r.rowid in ({', '.join(map(str, numbers)) or 'null'})"
        found = cursor.execute(self._select + only)
        names = [column[0] for column in found.description[3:]]
        return names, {row[0]: row for row in found.fetchall()}

    def _all(self) -> Sequence[int]:
        return range(len(self._numbers))

    def _matching(self, chosen: Filter) -> Sequence[int]:
        if chosen.items is not None:
            return _merged(self._ranks[item] for item in chosen.items if item in self._ranks)
        if chosen.names is None:
            return self._all()
        return _merged(
            ranks
            for name, ranks in self._ranks.items()
            if name is not None and any(part in name for part in chosen.names)
        )

    def _within(self, window: Window, ranks: Sequence[int]) -> Sequence[int]:
        """Those of the ranks that lie in the window; rows without a time lie in the window without ends only."""
        if window.start is None and window.reaches_as_of:
            return ranks
        end = len(self._times) if window.reaches_as_of else bisect_right(self._times, _micros(window.end))
        ranks = ranks[: bisect_left(ranks, end)]
        if window.start is None:
            return ranks
        start = _micros(window.start)
        if self._source.latest:
            return [rank for rank in ranks if self._lasts[rank] >= start]
        return ranks[bisect_left(ranks, bisect_left(self._times, start)) :]

    def _newest_first(self, ranks: Sequence[int]) -> Sequence[int]:
        if not self._reverses:
            return sorted(ranks, key=self._newest.__getitem__)
        timed = bisect_left(ranks, len(self._times))
        return [*ranks[:timed][::-1], *ranks[timed:][::-1]] if timed < len(ranks) else ranks[::-1]


def _merged(several: Iterable[array[int]]) -> Sequence[int]:
    found = list(several)
    return found[0] if len(found) == 1 else sorted(rank for ranks in found for rank in ranks)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + micros * _MICROSECOND
