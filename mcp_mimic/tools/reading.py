"""The one way in which every read tool searches: window, filter, page, liveness, answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

import duckdb
from fastmcp.tools import ToolResult

from mcp_mimic.contract import Coverage
from mcp_mimic.text.counts import counted, matching
from mcp_mimic.tools.filters import Filter, resolve_filter
from mcp_mimic.tools.query import Counts, Paging, Row
from mcp_mimic.tools.recording import Interval
from mcp_mimic.tools.render import Line, Rendered, fit, shorten_texts
from mcp_mimic.tools.session import Call
from mcp_mimic.tools.source import Source
from mcp_mimic.tools.sources import SOURCES
from mcp_mimic.tools.text import absent_module, harmless_line, joined, record_text, replaced_notice, row_line
from mcp_mimic.tools.window import Window, iso, parse_window

_MAX_INTERRUPTIONS = 20


@dataclass(frozen=True)
class Page:
    """The arguments that every read tool has."""

    start: str | None
    end: str | None
    order: Literal["newest", "oldest"]
    limit: int
    cursor: str | None


@dataclass(frozen=True)
class _Search:
    """One search, resolved and counted, with the rows of its page."""

    call: Call
    source: Source
    window: Window
    chosen: Filter
    page: Page
    offset: int
    counts: Counts
    interruptions: Sequence[Interval]

    def query(self) -> dict[str, Any]:
        return _query(self.call, self.source, self.window, self.chosen, self.page)

    @property
    def covers(self) -> bool:
        """Whether the search shows anything: where the store lacks the module, its emptiness does not."""
        return self.source.schema in self.call.session.chart.modules

    def frame(self, call_id: str, lines: Sequence[Line]) -> Rendered:
        returned = self.offset + len(lines)
        complete = returned >= self.counts.total
        cursor = None if complete else self.call.session.cursors.sign(self.query(), returned)
        coverage = Coverage(
            source=self.source.table,
            items=self.chosen.items,
            names=self.chosen.names,
            start=None if self.window.start is None else iso(self.window.start),
            end=iso(self.window.end),
            total=self.counts.total,
            returned=returned,
            complete=complete,
        )
        structured = _structured(call_id, self, coverage, lines, cursor)
        text = _text(call_id, self, coverage, lines, cursor)
        eids = tuple(line.row["eid"] for line in lines)
        return Rendered(text, structured, coverage if self.covers else None, eids)


def read_rows(
    call: Call,
    table: str,
    page: Page,
    *,
    items: Sequence[int | str] | None = None,
    names: Sequence[str] | None = None,
    enrich: Callable[[duckdb.DuckDBPyConnection, Sequence[Row]], None] | None = None,
) -> ToolResult:
    """Search one official table and answer with one page of it; ToolError says what is wrong with the call.

    `enrich` adds to the rows of the page what the table does not hold as it is.
    """
    source = SOURCES[table]
    session = call.session
    window = parse_window(page.start, page.end, session.chart.as_of)
    limit = min(page.limit, session.grant.limits.rows)
    with call.reading() as cursor:
        entries = session.vocabulary(cursor, table) if items or names else ()
        chosen = resolve_filter(source, entries, items, names)
        offset = 0
        if page.cursor is not None:
            offset = session.cursors.offset(_query(call, source, window, chosen, page), page.cursor)
        rows = session.rows(cursor, table)
        counts = rows.count(cursor, window, chosen)
        found = rows.page(cursor, window, chosen, Paging(page.order == "newest", limit, offset))
        if enrich is not None:
            enrich(cursor, [row for _, row in found])
    interruptions = session.presence.interruptions(window, bedside=source.schema == "icu")
    search = _Search(call, source, window, chosen, page, offset, counts, interruptions)
    lines = [harmless_line(source, moment, row) for moment, row in found]
    moments = {row["eid"]: moment for moment, row in found}
    shorten = partial(_shorten, source, moments)
    return call.answer(
        lambda call_id: fit(lines, partial(search.frame, call_id), session.grant.limits.chars, shorten)
    )


def _query(call: Call, source: Source, window: Window, chosen: Filter, page: Page) -> dict[str, Any]:
    """What a cursor is bound to."""
    return {
        "grant": call.session.grant.grant,
        "tool": call.tool,
        "source": source.table,
        "from": None if window.start is None else iso(window.start),
        "to": iso(window.end),
        "as_of": iso(window.as_of),
        "items": None if chosen.items is None else list(chosen.items),
        "names": None if chosen.names is None else list(chosen.names),
        "order": page.order,
    }


def _shorten(source: Source, moments: dict[str, datetime | None], line: Line, longest: int) -> Line:
    row: Row = {"eid": line.row["eid"]} | shorten_texts(
        {name: value for name, value in line.row.items() if name != "eid"}, longest
    )
    return Line(row_line(source, moments[line.row["eid"]], row), row, line.replaced)


def _structured(
    call_id: str, search: _Search, coverage: Coverage, lines: Sequence[Line], cursor: str | None
) -> dict[str, Any]:
    counts = search.counts
    return {
        "call": call_id,
        "source": coverage.source,
        "module_present": search.covers,
        "window": {"from": coverage.start, "to": coverage.end},
        "filter": {
            "items": None if coverage.items is None else list(coverage.items),
            "names": None if coverage.names is None else list(coverage.names),
        },
        "order": search.page.order,
        "total": coverage.total,
        "returned": coverage.returned,
        "complete": coverage.complete and search.covers,
        "next_cursor": cursor,
        "rows": [dict(line.row) for line in lines],
        "units": dict(search.source.known_units),
        "record_text": record_text(search.source),
        "replaced": sum(line.replaced for line in lines),
        "recording": {
            "rows_in_window": counts.in_window,
            "last_before": _iso(counts.last_before),
            "first_after": _iso(counts.first_after),
            "interruptions": [
                {"from": _iso(span.start), "to": _iso(span.end), "why": span.why}
                for span in search.interruptions[:_MAX_INTERRUPTIONS]
            ],
        },
        "suggestions": search.chosen.suggestions,
    }


def _text(
    call_id: str, search: _Search, coverage: Coverage, lines: Sequence[Line], cursor: str | None
) -> str:
    source = search.source
    parts = [
        f"{call_id} · {source.table} · {source.what}",
        f"window {coverage.start or 'open'} to {coverage.end} · filter {_filter(search.chosen)}"
        f" · {search.page.order} first",
        *(_counted(search, coverage) if search.covers else [absent_module(source.schema)]),
        *_hints(search),
        *replaced_notice(lines),
        *(line.text for line in lines),
    ]
    if cursor is not None:
        parts.append(f'more rows: the same call again with cursor="{cursor}"')
    return "\n".join(parts)


def _counted(search: _Search, coverage: Coverage) -> list[str]:
    read = "read to the end" if coverage.complete else "not read to the end"
    rows = f"{matching(coverage.total, 'row')}, {coverage.returned} served so far, {read}"
    return [rows, _recording(search)]


def _filter(chosen: Filter) -> str:
    names = None if chosen.names is None else "names " + joined(chosen.names)
    items = None if chosen.items is None else "items " + (joined(chosen.items) or "none of this chart")
    return ", ".join(part for part in (items, names) if part) or "none"


def _recording(search: _Search) -> str:
    counts = search.counts
    text = (
        f"recording: {counted(counts.in_window, 'row')} of any item in the window, last before it "
        f"{_iso(counts.last_before) or 'none'}, first after it {_iso(counts.first_after) or 'none known'}"
    )
    spans = [
        f"{span.why} {_iso(span.start) or 'start'} to {_iso(span.end) or 'open'}"
        for span in search.interruptions[:_MAX_INTERRUPTIONS]
    ]
    return text + (f"; interruptions: {'; '.join(spans)}" if spans else "")


def _hints(search: _Search) -> list[str]:
    chosen, hints = search.chosen, []
    if chosen.unresolved:
        hints.append(f"not in this chart: {joined(chosen.unresolved)}")
    if chosen.suggestions:
        hints.append(f"did you mean: {joined(chosen.suggestions)}")
    if chosen.items == ():
        hints.append("absent is what has such a label; if it may be called otherwise, search without items")
    return hints


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else iso(moment)
