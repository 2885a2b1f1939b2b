"""The process in which one client's SELECT runs, and nothing else.

It begins with an empty database and bounds on its own memory, processor time and files. It reads the SQL
and says which tables it needs; it is given their rows, without evidence ids and availability times; it
locks the database, runs the SELECT and answers. One line each way: request, tables needed, rows, result.
"""

import json
import os
import resource
import sys
import threading
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

import duckdb

from mcp_mimic.chart.lockdown import lock_down
from mcp_mimic.chart.statement import Statement, first_line, read_statement
from mcp_mimic.errors import ToolError

type Request = dict[str, Any]

_MB = 1 << 20
_ENGINE_SHARE = 2
"""The engine may use one part in this many of the process's memory; the rest is for single huge values,
which the engine does not count."""
_PLAIN = (bool, int, float, str)
_MAX_WHOLE = 2**53
_MAX_DEPTH = 8


def main() -> None:
    """Answer the one request on stdin; whatever goes wrong is an answer too."""
    request = json.loads(sys.stdin.readline())
    try:
        answer = _answer(request, sys.stdin, sys.stdout)
    except ToolError as error:
        answer = {"error": {"code": error.code, "message": error.message, "remedy": error.remedy}}
    _say(answer, sys.stdout)


def bound_process(memory_mb: int, seconds: int) -> None:
    """Bound this process for good: memory from here on, processor time, and no file may be written.

    Where the machine or the container runs out of memory all the same, the kernel ends this process first.
    """
    if sys.platform == "linux":
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        room = pages * resource.getpagesize() + memory_mb * _MB
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def load(
    connection: duckdb.DuckDBPyConnection, columns: dict[str, dict[str, str]], lines: Iterator[str]
) -> None:
    """Make the tables of `columns` (name and type each) from lines of `schema.table<tab>[rows as JSON]`."""
    for table, types in columns.items():
        connection.execute(f"create schema if not exists {table.partition('.')[0]}")
        definition = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        connection.execute(f"create table {table} ({definition})")
    for line in lines:
        table, rows = line.split("\t", 1)
        connection.execute(
            f"insert into {table} select unnest(rows) from (select unnest(from_json_strict(?::json, ?)) as rows)",
            [rows, json.dumps([columns[table]])],
        )


def run(
    connection: duckdb.DuckDBPyConnection, statement: Statement, *, rows: int, chars: int
) -> dict[str, Any]:
    """Run a SELECT and take at most `rows` rows and about `chars` characters of what it gives."""
    try:
        connection.execute("begin transaction read only")
        connection.execute(statement.sql)
        found = connection.description or []
        kept: list[list[Any]] = []
        room = chars
        while room > 0 and len(kept) <= rows and (row := connection.fetchone()) is not None:
            kept.append([_as_json(value, chars) for value in row])
            room -= len(json.dumps(kept[-1]))
    except duckdb.Error as error:
        raise _as_tool_error(error) from error
    except MemoryError as error:
        raise _out_of_memory() from error
    more = len(kept) > rows or room <= 0
    return {"columns": [column[0] for column in found], "rows": kept[:rows], "more": more}


def _answer(request: Request, lines: TextIO, out: TextIO) -> dict[str, Any]:
    connection = duckdb.connect(":memory:", config={"threads": 1, "temp_directory": ""})
    connection.execute("set enable_progress_bar = false")
    bound_process(request["memory_mb"], request["seconds"])
    columns = request["columns"]
    try:
        statement = read_statement(connection, request["sql"], columns)
    except MemoryError as error:
        raise _out_of_memory() from error
    _say({"tables": statement.tables}, out)
    load(connection, {table: columns[table] for table in statement.tables}, iter(lines.readline, "\n"))
    schemas = sorted({table.partition(".")[0] for table in statement.tables})
    connection.execute(f"set search_path = '{','.join(schemas) or 'main'}'")
    threading.Thread(target=_end_with_server, args=(lines,), daemon=True).start()
    lock_down(connection, memory_limit=f"{request['memory_mb'] // _ENGINE_SHARE}MB", threads=1)
    return run(connection, statement, rows=request["rows"], chars=request["chars"])


def _end_with_server(lines: TextIO) -> None:
    """The server keeps this process's input open; its end is the server's, killed or not."""
    lines.read()
    os._exit(1)


def _say(message: dict[str, Any], out: TextIO) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


def _as_json(value: Any, chars: int, depth: int = 0) -> Any:
    """A value in JSON's types; long texts are cut to `chars`, deep nesting to text."""
    if value is None or isinstance(value, _PLAIN):
        return _plain(value, chars)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if depth < _MAX_DEPTH and isinstance(value, list | tuple):
        return [_as_json(item, chars, depth + 1) for item in value[:chars]]
    if depth < _MAX_DEPTH and isinstance(value, dict):
        return {
            str(_plain(str(name), chars)): _as_json(item, chars, depth + 1) for name, item in value.items()
        }
    return _plain(str(value), chars)


def _plain(value: Any, chars: int) -> Any:
    if isinstance(value, str):
        return value[:chars].encode("utf-8", "replace").decode()
    if isinstance(value, int) and abs(value) > _MAX_WHOLE:
        return str(value)
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    return value


def _out_of_memory() -> ToolError:
    return ToolError(
        "the query needs more memory than it may use",
        "ask for fewer rows, smaller joins or shorter texts",
        code="limits.memory",
    )


def _as_tool_error(error: duckdb.Error) -> ToolError:
    if isinstance(error, duckdb.OutOfMemoryException):
        return _out_of_memory()
    if isinstance(error, duckdb.PermissionException | duckdb.IOException | duckdb.HTTPException):
        return ToolError(
            "the query reaches for something outside the chart",
            "name only tables of the chart",
            code="query.engine",
        )
    if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
        return ToolError(
            first_line(error), "see the tables and columns in the tool's description", code="sql.names"
        )
    return ToolError(first_line(error), "mend the SQL (DuckDB's dialect)", code="sql.values")
