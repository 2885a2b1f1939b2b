"""One client's SELECT over a slice, run in a process of its own that can be stopped at any moment.

The engine's own limits do not hold for every value (one huge text passes its memory limit), and a query
cannot be interrupted everywhere. A process can be: it has the operating system's bounds, no environment,
no file of the server's, and is killed when its time is over or nobody waits for it any more.
"""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from mcp_mimic.chart.served import SERVED_TABLES, served_columns
from mcp_mimic.chart.slice import Slice
from mcp_mimic.errors import ToolError
from mcp_mimic.store.tables import TABLES

MEMORY_MB = 512
"""What a query's process may use beyond what Python and the engine need to start."""

_CHILD = "import sys; sys.path.append(sys.argv.pop()); from mcp_mimic.chart.query_child import main; main()"
_COMMAND = (sys.executable, "-I", "-c", _CHILD, str(Path(__file__).parents[2]))
"""Isolated from the environment, also from a PYTHONPATH by which this package may have been found."""

_BATCH = 5_000
_BYTES_A_CHAR = 8
"""An answer of n characters is at most this many times as long on its way here, escapes and all."""
_FRAME_BYTES = 1 << 20


@dataclass(frozen=True)
class QueryLimits:
    """Rows, characters and seconds of one query."""

    rows: int
    chars: int
    seconds: int
    memory_mb: int = MEMORY_MB


@dataclass(frozen=True)
class QueryResult:
    """Names of the columns, rows in JSON's types, whether there were more, and the tables that were read."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool
    tables: tuple[str, ...]


def queryable() -> Mapping[str, Mapping[str, str]]:
    """The tables that a query may name, with their columns and types: no evidence ids, no availability."""
    return {
        table: {
            column.name: column.type
            for column in TABLES[table].columns
            if column.name in served_columns(table)
        }
        for table in SERVED_TABLES
    }


def rows_of(chart: Slice, tables: Sequence[str]) -> Iterator[str]:
    """The rows of `tables` as the query's process reads them: `schema.table<tab>[rows as JSON]` a line."""
    known = queryable()
    with chart.cursor() as cursor:
        for table in tables:
            columns = ", ".join(f'"{name}"' for name in known[table])
            cursor.execute(f"select to_json(r)::varchar from (select {columns} from {table}) r")
            while batch := cursor.fetchmany(_BATCH):
                yield f"{table}\t[{','.join(row[0] for row in batch)}]"


class ChartQuery:
    """One query; `run` it in one thread, `stop` it from any other."""

    def __init__(self, chart: Slice, sql: str, limits: QueryLimits) -> None:
        self._chart = chart
        self._sql = sql
        self._limits = limits
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._late = False

    @property
    def pid(self) -> int | None:
        """The query's process, once there is one."""
        return None if self._process is None else self._process.pid

    def run(self) -> QueryResult:
        """Run to the end; ToolError for what is refused, fails, takes too long or was stopped."""
        process = self._start()
        timer = threading.Timer(self._limits.seconds, self._run_out)
        timer.daemon = True
        timer.start()
        try:
            return self._converse(cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout))
        except (BrokenPipeError, ValueError) as error:
            raise self._ended() from error
        finally:
            timer.cancel()
            self.stop()
            process.wait()
            _close(process.stdin)
            _close(process.stdout)

    def stop(self) -> None:
        """Kill the query's process, now or before it has begun."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise self._ended()
            self._process = subprocess.Popen(  # noqa: S603 a constant command; the client's words go by pipe
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PYTHONUTF8": "1"},
                start_new_session=True,
            )
            return self._process

    def _converse(self, to: IO[bytes], back: IO[bytes]) -> QueryResult:
        limits = self._limits
        request = {
            "sql": self._sql,
            "columns": queryable(),
            "rows": limits.rows,
            "chars": limits.chars,
            # twice: the process's end must not come before the parent's word
            "seconds": 2 * limits.seconds,
            "memory_mb": limits.memory_mb,
        }
        _send(to, json.dumps(request))
        tables = tuple(self._hear(back)["tables"])
        for line in rows_of(self._chart, tables):
            _send(to, line)
        _send(to, "")
        answer = self._hear(back)
        return QueryResult(
            tuple(answer["columns"]), tuple(tuple(row) for row in answer["rows"]), answer["more"], tables
        )

    def _hear(self, back: IO[bytes]) -> dict[str, Any]:
        line = back.readline(_FRAME_BYTES + _BYTES_A_CHAR * self._limits.chars)
        if not line.endswith(b"\n"):
            raise self._ended()
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise ToolError(said["error"]["message"], said["error"]["remedy"], code=said["error"]["code"])
        return said

    def _run_out(self) -> None:
        self._late = True
        self.stop()

    def _ended(self) -> ToolError:
        """Why there is no answer."""
        if self._late:
            return ToolError(
                f"the query took longer than {self._limits.seconds} s",
                "ask for fewer rows or smaller joins",
                code="limits.seconds",
            )
        if self._stopped:
            return ToolError("nobody waits for this query any more", "send it again", code="query.departed")
        return ToolError(
            "the query ended its process: it is nested too deeply or needs too much memory",
            "ask for something smaller or plainer",
            code="limits.memory",
        )


def _send(to: IO[bytes], line: str) -> None:
    to.write(line.encode("utf-8", "surrogatepass") + b"\n")
    to.flush()


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with contextlib.suppress(BrokenPipeError):
            stream.close()
