"""The rows of one table of a slice as a session searches them: in memory, or by asking the database each time.

A slice does not change. So what the rows of a table are searched by (when they were, which item, in which
order) is read once a session; counting and paging are look-ups then, where a statement takes a millisecond or
two, most of it planning. The rows themselves are kept as well while the session has room for them, and else
fetched by their number. Tables of more than `HELD_ROWS` are asked by SQL (`mcp_mimic.tools.query`), whose
answers are what the look-ups must equal: so neither memory nor the time of a first look grows with a chart.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

import duckdb

from mcp_mimic.tools.filters import Filter
from mcp_mimic.tools.query import KEY_SQL, Counts, Paging, Row, add_details, count_rows, read_page, served
from mcp_mimic.tools.source import Source
from mcp_mimic.tools.window import Window

HELD_ROWS = 100_000
"""The longest table that is searched in memory: about 40 bytes a row."""

KEPT_ROWS = 10_000
"""How many rows a session keeps whole, whatever their tables: about a kilobyte each."""

_CHUNK = 2048
_EPOCH, _MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)

type Page = list[tuple[datetime | None, Row]]
"""Rows with their event times; each row is the caller's own."""


class TableRows(Protocol):
    """One table, to be counted and paged; `kept` says how many of its rows are in memory."""

    @property
    def kept(self) -> int:
        """How many rows are kept whole."""

    def count(self, cursor: duckdb.DuckDBPyConnection, window: Window, chosen: Filter) -> Counts:
        """Count the matching rows and what surrounds the window, for rows of any item."""

    def page(self, cursor: duckdb.DuckDBPyConnection, window: Window, chosen: Filter, paging: Paging) -> Page:
        """One page, by event time, then by evidence id; rows without a time come last either way."""


def table_rows(
    cursor: duckdb.DuckDBPyConnection, source: Source, *, room: int, longest: int = HELD_ROWS
) -> TableRows:
    """The rows of a table; they are kept if there are at most `room` of them."""
    counted = cursor.execute(f"select count(*) from {source.table}").fetchone()
    rows = counted[0] if counted else 0
    if rows > longest:
        return AskedRows(source)
    return HeldRows(cursor, source, keep=rows <= room)


class AskedRows:
    """A table that is too long to be held."""

    kept = 0

    def __init__(self, source: Source) -> None:
        self._source = source

    def count(self, cursor: duckdb.DuckDBPyConnection, window: Window, chosen: Filter) -> Counts:
        """See `TableRows`."""
        return count_rows(cursor, self._source, window, chosen)

    def page(self, cursor: duckdb.DuckDBPyConnection, window: Window, chosen: Filter, paging: Paging) -> Page:
        """See `TableRows`."""
        return read_page(cursor, self._source, window, chosen, paging)


class HeldRows:
    """A table in memory. The rank of a row is its place from the oldest, those without a time behind all others."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, source: Source, *, keep: bool) -> None:
        self._source = source
        self._numbers = array("q")
        self._times = array("q")
        self._lasts = array("q") if source.latest else self._times
        self._ranks: dict[Any, array[int]] = {}
        self._kept: Page | None = [] if keep else None
        newest = array("q")
        names, found = _sorted_rows(cursor, source, whole=keep)
        for rank, (number, time, last, key, place, *row) in enumerate(found):
            self._numbers.append(number)
            self._ranks.setdefault(key, array("q")).append(rank)
            newest.append(place)
            if time is not None:
                self._times.append(_micros(time))
                if source.latest:
                    self._lasts.append(_micros(last))
            if self._kept is not None:
                self._kept.append((time, served(source, names, row)))
        if self._kept and source.detail is not None:
            add_details(cursor, source.detail, [row for _, row in self._kept])
        self._newest = None if _mirrors(newest, len(self._times)) else newest

    @property
    def kept(self) -> int:
        """How many rows are kept whole."""
        return len(self._kept or ())

    def count(self, _: duckdb.DuckDBPyConnection, window: Window, chosen: Filter) -> Counts:
        """See `TableRows`."""
        total, in_window = (
            len(self._within(window, ranks)) for ranks in (self._matching(chosen), self._all())
        )
        return Counts(total, in_window, self._last_before(window), self._first_after(window))

    def page(self, cursor: duckdb.DuckDBPyConnection, window: Window, chosen: Filter, paging: Paging) -> Page:
        """See `TableRows`."""
        ranks = self._within(window, self._matching(chosen))
        ordered = self._newest_first(ranks) if paging.newest_first else ranks
        wanted = ordered[paging.offset : paging.offset + paging.limit]
        if self._kept is None:
            return _fetched(cursor, self._source, [self._numbers[rank] for rank in wanted])
        return [(time, dict(row)) for time, row in (self._kept[rank] for rank in wanted)]

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
        """Those of the ranks in the window; rows without a time lie in one without ends only."""
        if window.start is None and window.reaches_as_of:
            return ranks
        ended = len(self._times) if window.reaches_as_of else bisect_right(self._times, _micros(window.end))
        ranks = ranks[: bisect_left(ranks, ended)]
        if window.start is None:
            return ranks
        start = _micros(window.start)
        if self._source.latest:
            return [rank for rank in ranks if self._lasts[rank] >= start]
        return ranks[bisect_left(ranks, bisect_left(self._times, start)) :]

    def _last_before(self, window: Window) -> datetime | None:
        """The event time of the last row that lies before the window, whatever a row dated to a day may mean."""
        if window.start is None:
            return None
        start = _micros(window.start)
        if not self._source.latest:
            before = bisect_left(self._times, start)
            return _moment(self._times[before - 1]) if before else None
        ended = (time for time, last in zip(self._times, self._lasts, strict=True) if last < start)
        latest = max(ended, default=None)
        return None if latest is None else _moment(latest)

    def _first_after(self, window: Window) -> datetime | None:
        after = bisect_right(self._times, _micros(window.end))
        return None if window.reaches_as_of or after == len(self._times) else _moment(self._times[after])

    def _newest_first(self, ranks: Sequence[int]) -> Sequence[int]:
        if self._newest is not None:
            return sorted(ranks, key=self._newest.__getitem__)
        timed = bisect_left(ranks, len(self._times))
        return ranks[::-1] if timed == len(ranks) else [*ranks[:timed][::-1], *ranks[timed:][::-1]]


def _sorted_rows(
    cursor: duckdb.DuckDBPyConnection, source: Source, *, whole: bool
) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """Number, event time, last moment, key and place from the newest of every row, oldest first; if `whole`,
    then its event time, label and columns, whose names come first.
    """
    key = source.item or (f"lower({source.name})" if source.name else "null")
    orders = [
        f"{source.time} {way} nulls last, {KEY_SQL} {way} nulls last, r.eid {way}{source.then_by}"
        for way in ("asc", "desc")
    ]
    found = cursor.execute(
        f"select r.rowid, {source.time}, {source.last_moment}, {key}, row_number() over (order by {orders[1]})"
        f"{', ' + _columns(source) if whole else ''} from {source.table} r {source.joins} order by {orders[0]}"
    )
    names = [column[0] for column in found.description[7:]]
    return names, (row for chunk in iter(lambda: found.fetchmany(_CHUNK), []) for row in chunk)


def _fetched(cursor: duckdb.DuckDBPyConnection, source: Source, numbers: Sequence[int]) -> Page:
    """Rows by their number, in the order of the numbers."""
    found = cursor.execute(
        f"select r.rowid, {_columns(source)} from {source.table} r {source.joins} "
        f"where r.rowid in ({', '.join(map(str, numbers)) or 'null'})"
    )
    names = [column[0] for column in found.description[3:]]
    rows = {row[0]: (row[1], served(source, names, row[1:])) for row in found.fetchall()}
    page = [rows[number] for number in numbers]
    if source.detail is not None and page:
        add_details(cursor, source.detail, [row for _, row in page])
    return page


def _columns(source: Source) -> str:
    """What `served` takes."""
    return f"{source.time}, {source.label or 'null'}, r.* exclude ({', '.join(('available_at', *source.unread))})"


def _mirrors(places: array[int], timed: int) -> bool:
    """Whether the places from the newest are those from the oldest backwards, rows without a time by themselves."""
    return places == array("q", (*range(timed, 0, -1), *range(len(places), timed, -1)))


def _merged(several: Iterable[array[int]]) -> Sequence[int]:
    found = list(several)
    return found[0] if len(found) == 1 else sorted(rank for ranks in found for rank in ranks)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _moment(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND
