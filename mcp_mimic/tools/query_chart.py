"""One SELECT over the chart, for sessions whose grant names this tool."""

import asyncio
import contextlib
import inspect
import threading
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated, Any, TypedDict

import anyio
import anyio.to_thread
from fastmcp.server.dependencies import get_http_request
from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.chart.querying import ChartQuery, QueryLimits, QueryResult, queryable
from mcp_mimic.chart.statement import require_some
from mcp_mimic.errors import ToolError
from mcp_mimic.text.counts import counted
from mcp_mimic.text.neutral import neutralise, neutralise_values
from mcp_mimic.tools.registry import chart_tool
from mcp_mimic.tools.render import Line, Rendered, fit, shorten_texts
from mcp_mimic.tools.session import Call
from mcp_mimic.tools.text import SEPARATOR, absent_module, clean, quoted, replaced_notice

MAX_SQL = 20_000

_PROCESSES = threading.Semaphore(4)
"""Queries of all sessions that run at once in this server."""
_LOOK_SECONDS = 0.1
"""How often a waiting call looks whether it is its turn, and a running one whether its client is there."""


class QueryAnswer(TypedDict):
    """The first rows of a query; `complete` says that there were no more."""

    call: str
    columns: list[str]
    rows: list[list[Any]]
    returned: int
    complete: bool
    notes: list[str]


async def _answer_query(
    sql: Annotated[
        str,
        Field(min_length=1, max_length=MAX_SQL, description="One SELECT in DuckDB's dialect."),
    ],
    *,
    call: Call,
) -> ToolResult:
    """Answer one SELECT over this patient's chart, for counting and joining what the other tools read.

    Rows carry no evidence ids, and the call covers no table: read with a get_ tool what you want to cite, and
    cite its search for what is absent. Only SELECTs (WITH and subqueries too) over the tables below, with the
    usual functions. There is no cursor: order the rows and use LIMIT and OFFSET for more.
    Example: query_chart(sql="select date_trunc('day', charttime) as day, max(valuenum) as highest from
    hosp.labevents where itemid = 50912 group by day order by day").
    """
    try:
        require_some(sql)
        result = await _run(call, sql)
    except ToolError as error:
        raise _harmless(error) from error
    except asyncio.CancelledError:
        call.fail("refused", "query.departed", "the client gave the query up", "send it again")
        raise
    return _answered(call, result)


TABLES_HEAD = "Tables: "
"""Begins the part of the description that follows the example."""

_TABLES = "; ".join(f"{table}({', '.join(columns)})" for table, columns in queryable().items())
_answer_query.__name__ = "query_chart"
_answer_query.__doc__ = f"{inspect.getdoc(_answer_query)}\n{TABLES_HEAD}{_TABLES}."
query_chart = chart_tool(_answer_query, answer=QueryAnswer)


async def _run(call: Call, sql: str) -> QueryResult:
    """Run the query when it is its turn; it is stopped when its client goes, whichever way that shows."""
    limits = call.session.grant.limits
    query = ChartQuery(call.session.chart, sql, QueryLimits(limits.rows, limits.chars, limits.seconds))
    watch = asyncio.ensure_future(_stop_without_client(query))
    try:
        async with _turn(call.session.queries, limits.seconds), _turn(_PROCESSES, limits.seconds):
            # A limiter of its own: queries take no thread from the other tools.
            return await anyio.to_thread.run_sync(
                query.run, limiter=anyio.CapacityLimiter(1), abandon_on_cancel=True
            )
    finally:
        query.stop()
        watch.cancel()


@contextlib.asynccontextmanager
async def _turn(room: threading.Semaphore, seconds: int) -> AsyncIterator[None]:
    """Wait, without a thread, until there is room for a query."""
    until = time.monotonic() + seconds
    while not room.acquire(blocking=False):
        if time.monotonic() > until:
            raise ToolError("other queries are still running", "send one query at a time", code="query.busy")
        await asyncio.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        room.release()


async def _stop_without_client(query: ChartQuery) -> None:
    """Over HTTP the server is not told that a client went: look, and stop the query then."""
    try:
        request = get_http_request()
    except RuntimeError:
        return
    while not await request.is_disconnected():
        await asyncio.sleep(_LOOK_SECONDS)
    query.stop()


def _harmless(error: ToolError) -> ToolError:
    """The engine's message may repeat a value of the record."""
    return ToolError(clean(neutralise(error.message)[0]), error.remedy, code=error.code)


def _answered(call: Call, result: QueryResult) -> ToolResult:
    columns = [clean(neutralise(name)[0]) for name in result.columns]
    lines = [_line(row) for row in result.rows]
    modules = {table.partition(".")[0] for table in result.tables} - call.session.chart.modules
    absent = [absent_module(module) for module in sorted(modules)]

    def frame(call_id: str, kept: Sequence[Line]) -> Rendered:
        complete = len(kept) == len(lines) and not result.more
        notes = absent + replaced_notice(kept)
        structured = {
            "call": call_id,
            "columns": columns,
            "rows": [list(line.row["cells"]) for line in kept],
            "returned": len(kept),
            "complete": complete,
            "notes": notes,
        }
        more = "" if complete else ", there are more: order them and use LIMIT and OFFSET, or ask for less"
        head = [f"{call_id} · {counted(len(kept), 'row')}{more}", *notes, SEPARATOR.join(columns)]
        return Rendered("\n".join(head + [line.text for line in kept]), structured)

    return call.answer(
        lambda call_id: fit(lines, partial(frame, call_id), call.session.grant.limits.chars, _shorten)
    )


def _line(row: Sequence[Any]) -> Line:
    cells, replaced = neutralise_values(list(row))
    cells = _harmless_names(cells)
    return Line(SEPARATOR.join(map(_cell, cells)), {"cells": cells}, replaced)


def _harmless_names(value: Any) -> Any:
    """A query makes up the keys of its structures and maps too."""
    if isinstance(value, dict):
        return {neutralise(name)[0]: _harmless_names(item) for name, item in value.items()}
    return [_harmless_names(item) for item in value] if isinstance(value, list) else value


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    return clean(value) if isinstance(value, bool | int | float) else quoted(value)


def _shorten(line: Line, longest: int) -> Line:
    cells = shorten_texts(line.row["cells"], longest)
    return Line(SEPARATOR.join(map(_cell, cells)), {"cells": cells}, line.replaced)
