"""The notes of a slice, read once a session: their times, their exams, and their text as prose."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta

import duckdb

from mcp_mimic.text.neutral import neutralise
from mcp_mimic.text.prose import Prose, note_prose
from mcp_mimic.tools.sources import SOURCES
from mcp_mimic.tools.window import Window

NOTE_MODULE = "note"
NOTE_TABLES = {"discharge": "note.discharge", "radiology": "note.radiology"}
"""The kinds of notes that there are, and the official table of each."""

_LAST_SECOND = timedelta(seconds=86_399)


@dataclass(frozen=True)
class Note:
    """One note; `eid` is `note:<id>`, `moment` its charttime, `stored` its storetime, `exams` a report's."""

    eid: str
    table: str
    note_type: str | None
    moment: datetime | None
    stored: datetime | None
    exams: str | None
    prose: Prose

    def passage_id(self, number: int) -> str:
        """The evidence id of one of its passages."""
        return f"{self.eid}#{number}"

    @property
    def dated_by_day(self) -> bool:
        """Whether the time at midnight stands for the day."""
        dated = SOURCES[self.table].day_at_midnight
        return dated and self.moment is not None and self.moment.time() == time()

    def lies_in(self, window: Window) -> bool:
        """Whether the note is of the window, as a search of its table decides it."""
        if self.moment is None:
            return window.start is None and window.reaches_as_of
        last = self.moment + _LAST_SECOND if self.dated_by_day else self.moment
        after_start = window.start is None or last >= window.start
        return after_start and (window.reaches_as_of or self.moment <= window.end)


def notes_in(notes: Sequence[Note], window: Window) -> Sequence[Note]:
    """The notes of the window."""
    if window.start is None and window.reaches_as_of:
        return notes
    return [note for note in notes if note.lies_in(window)]


def read_notes(cursor: duckdb.DuckDBPyConnection, table: str) -> tuple[Note, ...]:
    """Every note of one table, newest first; those without a time last."""
    source = SOURCES[table]
    rows: Sequence[tuple[str, str | None, datetime | None, datetime | None, str | None, str | None]]
    rows = cursor.execute(
        f"""
        select r.eid, r.note_type, {source.time}, r.storetime, {source.label}, r.text
        from {table} r {source.joins}
        order by {source.time} desc nulls last, r.eid desc
        """
    ).fetchall()
    report = table == NOTE_TABLES["radiology"]
    return tuple(
        Note(
            eid,
            table,
            _harmless(note_type),
            moment,
            stored,
            _harmless(label) if report else None,
            note_prose(text or "", report=report),
        )
        for eid, note_type, moment, stored, label, text in rows
    )


def _harmless(text: str | None) -> str | None:
    return None if text is None else neutralise(text)[0]
