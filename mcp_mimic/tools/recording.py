"""When a source was not recording: time in the operating room, and time off the intensive care unit.

"Nothing found" means "not done" only where somebody was recording. Anaesthesia records are not in the
database, so an operating-room interval is a hole in every source at the bedside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

from mcp_mimic.tools.window import Window

OR_SENT, OR_RECEIVED = 225470, 225469
"""itemids of icu.procedureevents: the patient leaves for, and comes back from, the operating room."""

_HEART_RATE = 220045

OPERATING_ROOM, OFF_UNIT = "operating room", "off the unit"


@dataclass(frozen=True)
class Interval:
    """A span in which a source did not record; None where it has no known beginning or end."""

    start: datetime | None
    end: datetime | None
    why: str

    def within(self, window: Window) -> "Interval | None":
        """The part of the interval inside the window, or None if they do not meet."""
        if self.start is not None and self.start > window.end:
            return None
        if self.end is not None and window.start is not None and self.end < window.start:
            return None
        start = window.start if self.start is None else max(self.start, window.start or self.start)
        end = self.end if window.reaches_as_of else min(self.end or window.end, window.end)
        if start is not None and start == end and window.start != window.end:
            return None
        return Interval(start, end, self.why)


@dataclass(frozen=True)
class Presence:
    """Where one patient was, as far as it is known at the as-of time."""

    operating_room: tuple[Interval, ...]
    off_unit: tuple[Interval, ...]

    def interruptions(self, window: Window, *, bedside: bool) -> list[Interval]:
        """Interruptions that meet the window, in time order; `bedside` adds time off the unit."""
        spans = (*self.operating_room, *(self.off_unit if bedside else ()))
        met = [part for span in spans if (part := span.within(window)) is not None]
        return sorted(met, key=lambda part: (part.start or datetime.min, part.end or datetime.max, part.why))


def read_presence(cursor: duckdb.DuckDBPyConnection) -> Presence:
    """Operating-room and off-unit intervals of the slice's patient."""
    stays = cursor.execute("select intime, outtime from icu.icustays order by intime, outtime").fetchall()
    moves = cursor.execute(
        "select itemid, starttime from icu.procedureevents where itemid in (?, ?) and starttime is not null "
        "order by starttime, itemid desc",
        [OR_SENT, OR_RECEIVED],
    ).fetchall()
    return Presence(_operating_room(cursor, moves, stays), _off_unit(stays))


def _operating_room(
    cursor: duckdb.DuckDBPyConnection,
    moves: Sequence[tuple[int, datetime]],
    stays: Sequence[tuple[datetime, datetime | None]],
) -> tuple[Interval, ...]:
    spans: list[Interval] = []
    sent: datetime | None = None
    for itemid, moment in moves:
        if itemid == OR_SENT:
            spans += [] if sent is None else [_unreturned(sent, moment, stays)]
            sent = moment
            continue
        start = sent or _last_seen(cursor, moment, stays)
        spans.append(Interval(start, moment, OPERATING_ROOM))
        sent = None
    if sent is not None:
        spans.append(_unreturned(sent, None, stays))
    return tuple(spans)


def _unreturned(
    sent: datetime, until: datetime | None, stays: Sequence[tuple[datetime, datetime | None]]
) -> Interval:
    """A departure without a return: it lasts to the next one, at most to the end of its ICU stay."""
    ends = [out for intime, out in stays if out is not None and intime <= sent <= out]
    end = min([*ends, *([] if until is None else [until])], default=None)
    return Interval(sent, end, f"{OPERATING_ROOM} (no return charted)")


def _last_seen(
    cursor: duckdb.DuckDBPyConnection,
    moment: datetime,
    stays: Sequence[tuple[datetime, datetime | None]],
) -> datetime:
    """Where an arrival has no departure: the last heart rate before it, not before the stay's intime."""
    begun = max((intime for intime, _ in stays if intime <= moment), default=moment)
    row = cursor.execute(
        "select max(charttime) from icu.chartevents where itemid = ? and charttime < ? and charttime >= ?",
        [_HEART_RATE, moment, begun],
    ).fetchone()
    return row[0] if row and row[0] is not None else begun


def _off_unit(stays: Sequence[tuple[datetime, datetime | None]]) -> tuple[Interval, ...]:
    if not stays:
        return (Interval(None, None, f"{OFF_UNIT} (no ICU stay known)"),)
    gaps: list[Interval] = [Interval(None, stays[0][0], OFF_UNIT)]
    reached: datetime | None = stays[0][1]
    for intime, outtime in stays[1:]:
        if reached is not None and intime > reached:
            gaps.append(Interval(reached, intime, OFF_UNIT))
        if reached is not None:
            reached = None if outtime is None else max(reached, outtime)
    if reached is not None:
        gaps.append(Interval(reached, None, OFF_UNIT))
    return tuple(gaps)
