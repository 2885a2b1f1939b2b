"""Whether searches together cover what a requirement wants searched.

A required entry is a set of cells, one for each required item or string; each cell has the entry's window.
A search covers a cell in its own window if it was not restricted, if it names the item, or if a part that it
asked for occurs in the string or in the item's label. A search of text names its parts by their digests; in any
other search, a part that looks like a digest is a part of a name like all others.
Windows are closed and the record's times whole seconds, so that windows join when no second lies between them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from harness.scoring.gold import Entry
from mcp_mimic.contract import SHORTEST_PART, text_term

_RESOLUTION = timedelta(seconds=1)
_OF_TEXT = ".text"
"""How a source ends that is the text of notes, not a table."""

_ORIGIN = datetime.min
_END_OF_TIME = datetime.max - _RESOLUTION


@dataclass(frozen=True)
class Search:
    """One answered call: what it covered, and whether its last row was served.

    `items` and `names` (parts of names or of labels) both None: no restriction. `start` and `end` None: open.
    """

    number: int
    source: str
    items: frozenset[int] | None
    names: tuple[str, ...] | None
    start: datetime | None
    end: datetime | None
    complete: bool

    @property
    def key(self) -> tuple[object, ...]:
        """What the search asked for, whatever the order and page."""
        return (self.source, self.items, self.names and frozenset(self.names), self.start, self.end)


Cell = tuple[int | None, str | None]


def uncovered(entry: Entry, searches: Iterable[Search]) -> str | None:
    """The first hole that the searches leave in the entry, in words; None if they cover all of it."""
    candidates = [search for search in searches if search.source == entry.source]
    for cell in _cells(entry):
        hole = _first_hole(entry, [search for search in candidates if _admits(search, entry, cell)])
        if hole is not None:
            return f"{_named(entry, cell)} not covered from {_shown(hole[0])} to {_shown(hole[1])}"
    return None


def touches(entry: Entry, search: Search) -> bool:
    """Whether the search covers some part of the entry."""
    start, end = _bounds(entry.start, entry.end)
    low, high = _bounds(search.start, search.end)
    overlap = max(start, low) <= min(end, high)
    return (
        search.source == entry.source
        and overlap
        and any(_admits(search, entry, cell) for cell in _cells(entry))
    )


def _cells(entry: Entry) -> Iterator[Cell]:
    if entry.items:
        yield from zip(entry.items, entry.labels, strict=True)
    else:
        yield from ((None, name) for name in entry.names or (None,))


def _admits(search: Search, entry: Entry, cell: Cell) -> bool:
    unrestricted = search.items is None and search.names is None
    if unrestricted or () in (entry.items, entry.names):
        return True
    item, text = cell
    by_item = item is not None and item in (search.items or ())
    return by_item or (text is not None and _occurs(search.names or (), text, entry.source))


def _occurs(parts: Iterable[str], text: str, source: str) -> bool:
    """Whether one of the parts, as a search of the source names them, occurs in the text. A blank one does not."""
    if source.endswith(_OF_TEXT):
        return not _terms_in(text).isdisjoint(parts)
    return any(part.strip() and part in text for part in parts)


@lru_cache(maxsize=256)
def _terms_in(text: str) -> frozenset[str]:
    """Every piece of a text that can be sought, as a search of text names it."""
    pieces = (text[start:end] for start in range(len(text)) for end in range(start + 1, len(text) + 1))
    return frozenset(text_term(piece) for piece in pieces if _is_term(piece))


def _is_term(piece: str) -> bool:
    """Whether a search of text takes the piece: whole words, or enough of a word."""
    least = 1 if piece.startswith(" ") and piece.endswith(" ") else SHORTEST_PART
    return len(piece.replace(" ", "")) >= least


def _first_hole(entry: Entry, searches: Iterable[Search]) -> tuple[datetime, datetime] | None:
    """The first stretch of the entry's window that no search's window covers."""
    need, end = _bounds(entry.start, entry.end)
    for low, high in sorted(_bounds(search.start, search.end) for search in searches):
        if low > need:
            return need, min(end, low - _RESOLUTION)
        if high >= need:
            need = high + _RESOLUTION
        if need > end:
            return None
    return need, end


def _bounds(start: datetime | None, end: datetime | None) -> tuple[datetime, datetime]:
    low = _ORIGIN if start is None else start
    high = _END_OF_TIME if end is None else min(end, _END_OF_TIME)
    return low, high


def _named(entry: Entry, cell: Cell) -> str:
    item, text = cell
    if text and entry.source.endswith(_OF_TEXT):
        text = _as_sought(text)
    parts = [entry.source, "" if item is None else f"item {item}", repr(text) if text else ""]
    return " ".join(part for part in parts if part)


def _as_sought(piece: str) -> str:
    """A piece of a text as a term: without the blanks around whole words, with a `*` where a word is open."""
    before, after = ("" if piece.startswith(" ") else "*"), ("" if piece.endswith(" ") else "*")
    return f"{before}{piece.strip()}{after}"


def _shown(moment: datetime) -> str:
    if moment in (_ORIGIN, _END_OF_TIME):
        return "the beginning" if moment == _ORIGIN else "the end"
    return moment.isoformat()
