"""The chart at a glance."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
from fastmcp.tools import ToolResult

from mcp_mimic.store.tables import OPTIONAL_SCHEMAS, REQUIRED_SCHEMAS
from mcp_mimic.text.counts import counted
from mcp_mimic.tools.answers import OverviewAnswer
from mcp_mimic.tools.filters import Filter
from mcp_mimic.tools.query import Paging, plain
from mcp_mimic.tools.registry import chart_tool
from mcp_mimic.tools.render import Line, Rendered, fit, shorten_texts
from mcp_mimic.tools.session import Call
from mcp_mimic.tools.sources import SOURCES
from mcp_mimic.tools.text import SEPARATOR, clean, harmless_line, joined
from mcp_mimic.tools.window import Window, iso

_MAX_ENCOUNTERS = 20
_OLDEST_RECORDED_AGE = 91

_SEALED = (
    "The summary and the codes of the admission in question stay hidden in this session, whatever the "
    "as-of time; everything else that was known by then is here."
)


@dataclass(frozen=True)
class _Overview:
    patient: dict[str, Any]
    sources: list[dict[str, Any]]
    encounters: list[Line]
    admissions: int
    stays: int


@partial(chart_tool, answer=OverviewAnswer)
def get_patient_overview(*, call: Call) -> ToolResult:
    """Sex, age, the as-of time, known encounters, and what each source holds with its first and last time.

    Start here. Nothing after the as-of time is known; modules that this store lacks are named, and
    absence in them means nothing. The call covers no table: a claim of absence cites a get_ tool's search.
    Example: get_patient_overview().
    """
    with call.reading() as cursor:
        found = _read(cursor, call)
    return call.answer(
        lambda call_id: fit(
            found.encounters, partial(_frame, call, found, call_id), call.session.grant.limits.chars, _shorten
        )
    )


def _read(cursor: duckdb.DuckDBPyConnection, call: Call) -> _Overview:
    as_of = call.session.chart.as_of
    window = Window(None, as_of, as_of)
    lines = []
    for table in ("icu.icustays", "hosp.admissions"):
        source = SOURCES[table]
        table_rows = call.session.rows(cursor, table)
        page = table_rows.page(cursor, window, Filter(), Paging(newest_first=True, limit=_MAX_ENCOUNTERS))
        lines += [(moment, harmless_line(source, moment, row)) for moment, row in page]
    lines.sort(key=lambda found: (found[0] is not None, found[0]), reverse=True)
    present = [source for source in SOURCES.values() if source.schema in call.session.chart.modules]
    sources = [_source(cursor, source.table) for source in present]
    rows = {source["source"]: source["rows"] for source in sources}
    return _Overview(
        patient=_patient(cursor, call),
        sources=sources,
        encounters=[line for _, line in lines[:_MAX_ENCOUNTERS]],
        admissions=rows["hosp.admissions"],
        stays=rows["icu.icustays"],
    )


def _patient(cursor: duckdb.DuckDBPyConnection, call: Call) -> dict[str, Any]:
    row = cursor.execute("select gender, anchor_age, anchor_year from hosp.patients").fetchone()
    if row is None:
        return {"sex": None, "age": None}
    sex, anchor_age, anchor_year = row
    if anchor_age is None or anchor_year is None:
        return {"sex": sex, "age": None}
    age = anchor_age + call.session.chart.as_of.year - anchor_year
    return {"sex": sex, "age": ">89" if anchor_age >= _OLDEST_RECORDED_AGE else str(age)}


def _source(cursor: duckdb.DuckDBPyConnection, table: str) -> dict[str, Any]:
    source = SOURCES[table]
    row = cursor.execute(
        f"select count(*), min({source.time}), max({source.time}) from {table} r {source.joins}"
    ).fetchone()
    count, first, last = row or (0, None, None)
    return {"source": table, "tool": source.tool, "rows": count, "first": plain(first), "last": plain(last)}


def _frame(call: Call, found: _Overview, call_id: str, kept: Sequence[Line]) -> Rendered:
    chart = call.session.chart
    present = [schema for schema in (*REQUIRED_SCHEMAS, *OPTIONAL_SCHEMAS) if schema in chart.modules]
    absent = [schema for schema in OPTIONAL_SCHEMAS if schema not in chart.modules]
    notes = [_SEALED] if call.session.grant.sealed_hadm_id is not None else []
    structured = {
        "call": call_id,
        "as_of": iso(chart.as_of),
        "release": chart.release,
        "patient": found.patient,
        "modules_present": present,
        "modules_absent": absent,
        "admissions": found.admissions,
        "icu_stays": found.stays,
        "encounters": [dict(line.row) for line in kept],
        "sources": found.sources,
        "notes": notes,
    }
    text = [
        f"{call_id} · patient: sex {clean(found.patient['sex'])}, age {found.patient['age'] or 'unknown'}"
        f" · as of {iso(chart.as_of)} · MIMIC-IV {clean(chart.release)}",
        f"modules here: {joined(present)}; not in this store: {joined(absent) or 'none'}",
        *notes,
        f"{counted(found.admissions, 'admission')} and {counted(found.stays, 'ICU stay')} known; the latest {len(kept)}"
        " (list_encounters has all):",
        *(line.text for line in kept),
        "sources (rows, first to last time, tool):",
        *(_source_line(source) for source in found.sources),
    ]
    return Rendered("\n".join(text), structured, eids=tuple(line.row["eid"] for line in kept))


def _source_line(source: dict[str, Any]) -> str:
    times = f"{source['first']} to {source['last']}" if source["first"] else "no times"
    return SEPARATOR.join((source["source"], counted(source["rows"], "row"), times, source["tool"]))


def _shorten(line: Line, longest: int) -> Line:
    return Line(line.text[:longest], {"eid": line.row["eid"]} | shorten_texts(dict(line.row), longest))
