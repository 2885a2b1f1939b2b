"""The window of a call: two local times of the record, both included, never past the as-of time."""

from dataclasses import dataclass
from datetime import datetime, time

from mcp_mimic.errors import ToolError

_EXAMPLE = "write local times such as 2150-03-04T14:00 (no time zone)"


@dataclass(frozen=True)
class Window:
    """`start` None is open. `end` equal to the as-of time leaves the end open for known future starts."""

    start: datetime | None
    end: datetime
    as_of: datetime

    @property
    def reaches_as_of(self) -> bool:
        """Whether the window goes up to what can be known at all."""
        return self.end >= self.as_of


def parse_window(start: str | None, end: str | None, as_of: datetime) -> Window:
    """The window that two arguments mean; ToolError for a time that cannot be read or an empty window."""
    first = None if start is None else _moment("start", start)
    last = as_of if end is None else min(_moment("end", end, end_of_day=True), as_of)
    if first is not None and first > as_of:
        raise ToolError(
            f"start lies after the as-of time {iso(as_of)}: nothing is known of it",
            "choose a window that begins at or before the as-of time",
            code="window",
        )
    if first is not None and first > last:
        raise ToolError("start lies after end", "exchange the two times", code="window")
    return Window(first, last, as_of)


def iso(moment: datetime) -> str:
    """ISO 8601 without a zone, to the second (to the microsecond where the record has one)."""
    return moment.isoformat()


def _moment(name: str, text: str, *, end_of_day: bool = False) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ToolError(f"{name} is not a time", _EXAMPLE, code="window") from error
    if moment.tzinfo is not None:
        raise ToolError(f"{name} has a time zone; the record's times have none", _EXAMPLE, code="window")
    if end_of_day and len(text) <= len("2150-03-04") and moment.time() == time():
        return moment.replace(hour=23, minute=59, second=59)
    return moment
