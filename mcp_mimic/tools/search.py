"""Finding items and names in this chart."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, Any, Literal, get_args

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.text.counts import counted
from mcp_mimic.tools.answers import ItemsAnswer
from mcp_mimic.tools.arguments import Text
from mcp_mimic.tools.registry import chart_tool
from mcp_mimic.tools.render import Line, Rendered, fit, shorten_texts
from mcp_mimic.tools.session import Call
from mcp_mimic.tools.sources import SOURCES
from mcp_mimic.tools.text import SEPARATOR, clean, joined
from mcp_mimic.tools.vocabulary import Entry, suggest
from mcp_mimic.tools.window import iso

SearchableTable = Literal[
    "hosp.labevents",
    "icu.chartevents",
    "icu.datetimeevents",
    "hosp.omr",
    "hosp.emar",
    "icu.inputevents",
    "hosp.prescriptions",
    "hosp.pharmacy",
    "icu.outputevents",
    "icu.ingredientevents",
    "icu.procedureevents",
    "hosp.procedures_icd",
    "hosp.hcpcsevents",
    "hosp.microbiologyevents",
    "hosp.poe",
    "hosp.diagnoses_icd",
    "hosp.drgcodes",
    "note.radiology",
    "ed.triage",
    "ed.pyxis",
    "ed.medrecon",
    "ed.diagnosis",
    "echo.structured_measurement",
]


@partial(chart_tool, answer=ItemsAnswer)
def search_items(
    query: Annotated[
        Text, Field(description="A label, abbreviation, drug, specimen or itemid, or part of one.")
    ],
    source: Annotated[
        SearchableTable | None, Field(description="Only this official table. Omit: every table.")
    ] = None,
    limit: Annotated[int, Field(ge=1, le=200, description="Most entries to return.")] = 40,
    *,
    call: Call,
) -> ToolResult:
    """Find the items, drug names and specimens that this patient's chart has, with how often and when.

    Best first: exact, then prefix, then part of the label, then all words in label and category. What is
    not found has no row in this chart as of now; the call covers no table, so a claim of absence cites the
    search of a get_ tool instead.
    Example: search_items(query="lactate").
    """
    tables = [source] if source else list(get_args(SearchableTable))
    with call.reading() as cursor:
        entries = [entry for table in tables for entry in call.session.vocabulary(cursor, table)]
    found = _ranked(query.lower(), entries)
    suggestions = [] if found else suggest([query], entries)
    lines = [Line(_line(entry), _row(entry)) for entry in found[:limit]]

    def frame(call_id: str, kept: Sequence[Line]) -> Rendered:
        structured = {
            "call": call_id,
            "total": len(found),
            "returned": len(kept),
            "items": [dict(line.row) for line in kept],
            "suggestions": suggestions,
        }
        matched = "item or name matches" if len(found) == 1 else "items or names match"
        parts = [f"{call_id} · {len(found)} {matched}, {len(kept)} shown"]
        parts += [f"did you mean: {joined(suggestions)}"] if suggestions else []
        return Rendered("\n".join(parts + [line.text for line in kept]), structured)

    return call.answer(
        lambda call_id: fit(lines, partial(frame, call_id), call.session.grant.limits.chars, _shorten)
    )


def _ranked(query: str, entries: Iterable[Entry]) -> list[Entry]:
    ranked = [
        (rank, -entry.rows, entry.source, entry.label, entry)
        for entry in entries
        if (rank := _rank(query, entry)) is not None
    ]
    return [entry for *_, entry in sorted(ranked, key=lambda found: found[:4])]


def _rank(query: str, entry: Entry) -> int | None:
    label = entry.label.lower()
    if query in (label, str(entry.itemid)):
        return 0
    if label.startswith(query):
        return 1
    if entry.matches(query):
        return 2
    everything = f"{entry.terms} {(entry.category or '').lower()}"
    return 3 if all(word in everything for word in query.split()) else None


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "itemid": entry.itemid,
        "label": entry.label,
        "source": entry.source,
        "tool": SOURCES[entry.source].tool,
        "category": entry.category or None,
        "unit": entry.unit,
        "rows": entry.rows,
        "first": None if entry.first is None else iso(entry.first),
        "last": None if entry.last is None else iso(entry.last),
    }


def _line(entry: Entry) -> str:
    row = _row(entry)
    cells = [
        entry.suggestion(),
        entry.source,
        entry.category or "",
        entry.unit or "",
        counted(entry.rows, "row"),
    ]
    cells += [f"{row['first'] or 'no time'} to {row['last'] or 'no time'}", row["tool"]]
    return SEPARATOR.join(clean(cell) for cell in cells if cell)


def _shorten(line: Line, longest: int) -> Line:
    return Line(line.text[:longest], shorten_texts(dict(line.row), longest))
