"""The items and names that one table of this slice really has, and what an asked name may have meant."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from mcp_mimic.store.labels import naming_of
from mcp_mimic.text.neutral import neutralise
from mcp_mimic.tools.source import Source

_MAX_SUGGESTIONS = 8


@dataclass(frozen=True)
class Entry:
    """One item or name of a table, with how often and when it occurs."""

    source: str
    itemid: int | None
    label: str
    terms: str
    category: str | None
    unit: str | None
    rows: int
    first: datetime | None
    last: datetime | None

    def matches(self, part: str) -> bool:
        """Whether `part`, in lower case, occurs in the label, abbreviation or name."""
        return part in self.terms

    def suggestion(self) -> str:
        """The entry as a suggestion shows it."""
        return self.label if self.itemid is None else f"{self.itemid} {self.label}"


def read_vocabulary(cursor: duckdb.DuckDBPyConnection, source: Source) -> tuple[Entry, ...]:
    """Every item or name of the table, most frequent first; empty for tables that have neither."""
    key = source.item or source.name
    if key is None:
        return ()
    label = source.label or key
    terms = naming_of(source.table).terms if source.item else source.name or label
    rows = cursor.execute(
        f"""
        select {source.item or "null"}, coalesce(max({label}), ''), lower(coalesce(max({terms}), '')),
               max({source.category or "null"}), max({source.unit or "null"}),
               count(*), min({source.time}), max({source.time})
        from {source.table} r {source.joins}
        where {key} is not null
        group by {key}
        order by count(*) desc, {key}
        """
    ).fetchall()
    return tuple(_entry(source, *row) for row in rows)


def _entry(source: Source, itemid: int | None, label: str, terms: str, *more: Any) -> Entry:
    """An entry whose texts, some of them typed by hand, are harmless; it is matched by them as they are."""
    category, unit, rows, first, last = more
    shown = [None if text is None else neutralise(text)[0] for text in (label, category, unit)]
    return Entry(source.table, itemid, shown[0] or "", terms, shown[1], shown[2], rows, first, last)


def suggest(asked: Sequence[str], entries: Sequence[Entry]) -> list[str]:
    """Entries whose label, or a word of it, is close to what was asked; best first, at most eight."""
    if not asked:
        return []
    found: list[str] = []
    words = sorted(
        {word for entry in entries for word in (*entry.terms.split(), entry.terms) if len(word) > 2}
    )
    for text in asked:
        parts = [text.lower(), *(word for word in text.lower().split() if len(word) > 2)]
        near = [word for part in parts for word in difflib.get_close_matches(part, words, n=4, cutoff=0.72)]
        for word in near:
            named = sorted((e for e in entries if e.matches(word)), key=lambda e: e.label.lower() != word)
            found += [entry.suggestion() for entry in named]
    return list(dict.fromkeys(found))[:_MAX_SUGGESTIONS]
