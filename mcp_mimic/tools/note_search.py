"""Searching the text of this patient's notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Literal

from fastmcp.tools import ToolResult
from pydantic import Field, StringConstraints

from mcp_mimic.contract import Coverage, text_term
from mcp_mimic.text.counts import counted, matching
from mcp_mimic.text.neutral import neutralise, quote_lines
from mcp_mimic.text.ranking import Hit, find_passages, snippet
from mcp_mimic.text.words import Term, parse_query
from mcp_mimic.tools.answers import HitsAnswer
from mcp_mimic.tools.arguments import Cursor, End, Limit, Start
from mcp_mimic.tools.notes import Kind
from mcp_mimic.tools.registry import chart_tool
from mcp_mimic.tools.render import Line, Rendered, fit, shorten_texts
from mcp_mimic.tools.session import Call
from mcp_mimic.tools.shelf import NOTE_MODULE, NOTE_TABLES, Note, notes_in
from mcp_mimic.tools.text import QUOTATION, absent_module, joined, quoted, replaced_notice
from mcp_mimic.tools.window import Window, iso, parse_window

Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=500),
    Field(
        description='Words, "words in a row" in quotation marks, or parts of words with an open end: '
        "metopr*, *pril. Any of them matches; case and punctuation do not count."
    ),
]


@partial(chart_tool, answer=HitsAnswer)
def search_notes(
    query: Query,
    kind: Kind = "discharge",
    start: Start = None,
    end: End = None,
    order: Annotated[
        Literal["best", "newest", "oldest"],
        Field(
            description="best: passages with more of the terms, and rarer ones, first; or by the note's time."
        ),
    ] = "best",
    limit: Limit = 20,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Passages of discharge summaries, or of radiology reports, that hold any term of the query.

    A term is whole words: "ef" finds EF, not left, and not LVEF, which is another term; give every spelling.
    A hit is a place in a text: it may be negated, copied forward or about somebody else, so read the passage.
    The call covers the text of one kind of notes in the window: that none of the terms occurs there is cited by
    its id, once read to the end. It does not cover the other kind, nor words that were not asked for.
    Example: search_notes(query='lvef "ejection fraction"', kind="discharge").
    """
    terms = parse_query(query)
    window = parse_window(start, end, call.session.chart.as_of)
    with call.reading() as reading:
        shelves = {
            table: notes_in(call.session.notes(reading, table), window) for table in NOTE_TABLES.values()
        }
    table = NOTE_TABLES[kind]
    hits = find_passages([note.prose for note in shelves[table]], terms)
    search = _Search(call, table, window, terms, order, shelves, _ordered(hits, order))
    offset = 0 if cursor is None else call.session.cursors.offset(search.query(), cursor)
    page = search.hits[offset : offset + min(limit, call.session.grant.limits.rows)]
    lines = [search.line(hit) for hit in page]
    return call.answer(
        lambda call_id: fit(
            lines, partial(search.frame, offset, call_id), call.session.grant.limits.chars, _shorten
        )
    )


def _ordered(hits: list[Hit], order: str) -> list[Hit]:
    """Best first as they come, or by note: the notes are newest first."""
    if order == "best":
        return hits
    way = 1 if order == "newest" else -1
    return sorted(hits, key=lambda hit: (way * hit.place, hit.passage.number))


@dataclass(frozen=True)
class _Search:
    call: Call
    table: str
    window: Window
    terms: tuple[Term, ...]
    order: str
    shelves: Mapping[str, Sequence[Note]]
    hits: list[Hit]

    def query(self) -> dict[str, Any]:
        """What a cursor is bound to."""
        return {
            "grant": self.call.session.grant.grant,
            "tool": self.call.tool,
            "source": self.table,
            "from": None if self.window.start is None else iso(self.window.start),
            "to": iso(self.window.end),
            "terms": [term.piece for term in self.terms],
            "order": self.order,
        }

    @property
    def covers(self) -> bool:
        """Whether the store has notes at all."""
        return NOTE_MODULE in self.call.session.chart.modules

    def line(self, hit: Hit) -> Line:
        """One hit in both its forms."""
        note = self.shelves[self.table][hit.place]
        text, replaced = neutralise(snippet(note.prose, hit))
        row = {
            "eid": note.passage_id(hit.passage.number),
            "note": note.eid,
            "time": None if note.moment is None else iso(note.moment),
            "section": hit.passage.section,
            "terms": {str(term): count for term, count in hit.counts.items()},
            "snippet": text,
        }
        return _line(row, replaced)

    def frame(self, offset: int, call_id: str, lines: Sequence[Line]) -> Rendered:
        """The answer around some of the page's hits."""
        returned = offset + len(lines)
        complete = returned >= len(self.hits)
        cursor = None if complete else self.call.session.cursors.sign(self.query(), returned)
        window = {"from": self.query()["from"], "to": iso(self.window.end)}
        coverage = Coverage(
            source=f"{self.table}.text",
            items=None,
            names=tuple(text_term(term.piece) for term in self.terms),
            start=window["from"],
            end=window["to"],
            total=len(self.hits),
            returned=returned,
            complete=complete,
        )
        structured = {
            "call": call_id,
            "searched": coverage.source,
            "module_present": self.covers,
            "window": window,
            "terms": [str(term) for term in self.terms],
            "order": self.order,
            "notes": len(self.shelves[self.table]),
            "total": coverage.total,
            "returned": returned,
            "complete": complete and self.covers,
            "next_cursor": cursor,
            "passages": [dict(line.row) for line in lines],
            "other_kind": self._other_kind,
            "record_text": ["passages.snippet"],
            "replaced": sum(line.replaced for line in lines),
        }
        eids = tuple(line.row["eid"] for line in lines)
        return Rendered(self._text(structured, lines), structured, coverage if self.covers else None, eids)

    @cached_property
    def _other_kind(self) -> dict[str, int]:
        """How many notes of the other kind hold a term."""
        pieces = [term.piece for term in self.terms]
        return {
            table: sum(_holds_any(note.prose.folded, pieces) for note in notes)
            for table, notes in self.shelves.items()
            if table != self.table
        }

    def _text(self, told: Mapping[str, Any], lines: Sequence[Line]) -> str:
        others = [
            f"{counted(count, 'note')} of {table} {'holds' if count == 1 else 'hold'} a term"
            for table, count in told["other_kind"].items()
        ]
        parts = [
            f"{told['call']} · {told['searched']} · terms {joined(told['terms'])} · {self.order} first",
            f"window {told['window']['from'] or 'open'} to {told['window']['to']}"
            f" · {counted(told['notes'], 'note')} in it; not covered: {'; '.join(others)}",
            f"{matching(told['total'], 'passage')}, {told['returned']} served so far, "
            + ("read to the end" if told["complete"] else "not read to the end")
            if self.covers
            else absent_module(NOTE_MODULE),
            *replaced_notice(lines),
            *([QUOTATION] if lines else []),
            *(line.text for line in lines),
        ]
        if told["next_cursor"] is not None:
            parts.append(f'more passages: the same call again with cursor="{told["next_cursor"]}"')
        return "\n".join(parts)


def _holds_any(folded: str, pieces: Sequence[str]) -> bool:
    for piece in pieces:  # noqa: SIM110 a generator would take longer than the search
        if piece in folded:
            return True
    return False


def _line(row: dict[str, Any], replaced: int) -> Line:
    terms = ", ".join(f"{term} ×{count}" for term, count in row["terms"].items())
    head = f"{row['eid']} · {row['time'] or 'no time'} · section {quoted(row['section'])} · {terms}"
    return Line(f"{head}\n{quote_lines(row['snippet'])}", row, replaced)


def _shorten(line: Line, longest: int) -> Line:
    row = dict(line.row)
    return _line(row | {"snippet": shorten_texts(row["snippet"], longest)}, line.replaced)
