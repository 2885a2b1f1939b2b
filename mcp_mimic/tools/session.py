"""One session: a slice, its grant, its audit; and one call of it, from the question to the audited answer."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
from fastmcp.tools import ToolResult
from mcp_types import TextContent

from mcp_mimic.chart.slice import Slice
from mcp_mimic.contract import Grant
from mcp_mimic.errors import ToolError
from mcp_mimic.governance.audit import AuditLog
from mcp_mimic.governance.decision import UNMETERED_TOOLS, Decision, decide
from mcp_mimic.governance.limits import FLOOD_FACTOR, Usage
from mcp_mimic.logs import Flood
from mcp_mimic.policies.corpus import Corpus
from mcp_mimic.tools.cursor import CursorSigner
from mcp_mimic.tools.recording import Presence, read_presence
from mcp_mimic.tools.render import Rendered
from mcp_mimic.tools.rows import KEPT_ROWS, TableRows, table_rows
from mcp_mimic.tools.shelf import Note, read_notes
from mcp_mimic.tools.sources import SOURCES
from mcp_mimic.tools.text import problem_text
from mcp_mimic.tools.vocabulary import Entry, read_vocabulary
from mcp_mimic.tools.watch import WATCH


class Session:
    """What the calls of one grant share. Sequence numbers, limits and the audit's order are under one lock."""

    def __init__(
        self,
        chart: Slice,
        grant: Grant,
        audit: AuditLog,
        report_folder: Path | None,
        corpus: Corpus | None = None,
        *,
        cursor_key: bytes | None = None,
    ) -> None:
        self.chart = chart
        self.grant = grant
        self.audit = audit
        self.report_folder = report_folder
        self.corpus = corpus
        self.cursors = CursorSigner(cursor_key)
        self.usage = Usage(calls=audit.calls, chars=audit.chars)
        self.busy = 0
        """Calls in flight; counted by the server's event loop alone."""
        self.flood = Flood()
        self.queries = threading.Semaphore(1)
        """One query_chart of a session runs at a time; the others wait."""
        self._turn = audit.turn
        self._cache = threading.Lock()
        self._vocabularies: dict[str, tuple[Entry, ...]] = {}
        self._notes: dict[str, tuple[Note, ...]] = {}
        self._rows: dict[str, TableRows] = {}
        self._room = KEPT_ROWS

    def admit(self, tool: str, *, known: bool) -> Decision:
        """Count a call that starts and decide on it."""
        with self._turn:
            self.usage.calls += 1
            return decide(self.grant, self.usage, tool, known)

    def commit(
        self,
        call: "Call",
        outcome: str,
        rule: str | None,
        render: Callable[[str], Rendered],
        publish: Callable[[], None] = lambda: None,
    ) -> Rendered:
        """Give the call its number, build its answer, audit it; only then may the answer leave.

        `publish` does what the call leaves behind once it is audited, in the audit's order.
        """
        with self._turn:
            if self.usage.sealed:
                raise ToolError("the session is closed", "no further call is possible", code="sealed")
            answer = render(f"search:{self.audit.next_call}")
            if outcome == "ok" and call.tool not in UNMETERED_TOOLS:
                self._bound(answer)
            entry = self.audit.enter(
                tool=call.tool,
                args=call.arguments,
                outcome=outcome,
                rule=rule,
                coverage=answer.coverage,
                eids=answer.eids,
                chars=answer.chars,
                ms=round((time.monotonic() - call.started) * 1000),
                publish=publish,
            )
            self.usage.chars = self.audit.chars
        try:
            self.audit.settle(entry)
        finally:
            with self._turn:
                self.usage.chars = self.audit.chars
        return answer

    def overflows(self) -> bool:
        """Whether so many calls were refused that they are only counted, so that a flood fills no disk."""
        with self._turn:
            flooded = self.audit.calls >= FLOOD_FACTOR * self.grant.limits.calls
            self.usage.unlogged += flooded
            return flooded

    def problem(self) -> str | None:
        """Why this session could answer no call now, or None."""
        return self.audit.problem()

    def seal(self) -> dict[str, Any]:
        """Close the session and its audit."""
        with self._turn:
            self.usage.sealed = True
            unlogged = self.usage.unlogged
        return self.audit.seal(unlogged=unlogged)

    def vocabulary(self, cursor: duckdb.DuckDBPyConnection, table: str) -> tuple[Entry, ...]:
        """The items or names that `table` has in this slice, read once."""
        with self._cache:
            if table not in self._vocabularies:
                self._vocabularies[table] = read_vocabulary(cursor, SOURCES[table])
            return self._vocabularies[table]

    def rows(self, cursor: duckdb.DuckDBPyConnection, table: str) -> TableRows:
        """The rows of `table` in this slice, which are kept while the session has room for them."""
        with self._cache:
            if table not in self._rows:
                self._rows[table] = table_rows(cursor, SOURCES[table], room=self._room)
                self._room -= self._rows[table].kept
            return self._rows[table]

    def notes(self, cursor: duckdb.DuckDBPyConnection, table: str) -> tuple[Note, ...]:
        """The notes of `table` in this slice, newest first, read once."""
        with self._cache:
            if table not in self._notes:
                self._notes[table] = read_notes(cursor, table)
            return self._notes[table]

    @cached_property
    def presence(self) -> Presence:
        """Where the patient was, read once."""
        with self.chart.cursor() as cursor:
            return read_presence(cursor)

    def _bound(self, answer: Rendered) -> None:
        limits = self.grant.limits
        if answer.chars > limits.chars:
            raise ToolError(
                f"the answer does not fit into {limits.chars} characters",
                "ask for fewer items, or read the sources one by one",
                code="limits.chars",
            )
        if self.usage.chars + answer.chars > limits.total_chars:
            raise ToolError(
                f"the answer would exceed the session's {limits.total_chars} characters",
                "ask for less, or give your answer from what you have been served",
                code="limits.total_chars",
            )


@dataclass
class Call:
    """One call in progress. It is committed exactly once: as answered, refused or in error."""

    session: Session
    tool: str
    arguments: Mapping[str, Any]
    started: float = field(default_factory=time.monotonic)
    outcome: str = "error"
    rule: str | None = None
    unaudited: str = ""
    """Why it could not be audited, where that is what it was told."""

    def answer(
        self, render: Callable[[str], Rendered], publish: Callable[[], None] = lambda: None
    ) -> ToolResult:
        """Commit an answer; `render` receives the call's id, `publish` is called once it is audited."""
        answer = self.session.commit(self, "ok", None, render, publish)
        self.outcome = "ok"
        return _result(answer)

    def fail(self, outcome: str, rule: str, message: str, remedy: str) -> ToolResult:
        """Commit a refusal (`refused`) or an error (`error`); it is answered even if it cannot be audited."""
        self.outcome, self.rule = outcome, rule
        self.unaudited = message if rule == "audit_unavailable" else ""
        problem = {"code": rule, "message": message, "remedy": remedy}
        if self.session.usage.sealed or self.session.overflows():
            return _as_error(_problem(None, problem))
        try:
            return _as_error(self.session.commit(self, outcome, rule, lambda call: _problem(call, problem)))
        except ToolError as error:
            self.outcome, self.rule = "error", error.code
            self.unaudited = error.message if error.code == "audit_unavailable" else ""
            unwritten = {"code": error.code, "message": error.message, "remedy": error.remedy}
            return _as_error(_problem(None, unwritten))

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of the slice that is interrupted when the call's seconds are over."""
        seconds = self.session.grant.limits.seconds
        with self.session.chart.cursor() as cursor:
            try:
                with WATCH.over(seconds, cursor.interrupt):
                    yield cursor
            except duckdb.InterruptException as error:
                raise ToolError(
                    f"the search took longer than {seconds} s",
                    "ask for a narrower window or fewer items",
                    code="limits.seconds",
                ) from error


def refusal(code: str, message: str, remedy: str) -> ToolResult:
    """The answer to a call that no session could take, and that no audit has."""
    return _as_error(_problem(None, {"code": code, "message": message, "remedy": remedy}))


def _problem(call: str | None, problem: Mapping[str, str]) -> Rendered:
    return Rendered(problem_text(call, problem), {"error": dict(problem), "call": call})


def _as_error(answer: Rendered) -> ToolResult:
    return _result(answer, is_error=True)


def _result(answer: Rendered, *, is_error: bool = False) -> ToolResult:
    """The answer as the framework passes it on; it is JSON already, which an ordinary result is written as and read."""
    text = TextContent(type="text", text=answer.text)
    return ToolResult.model_construct(
        content=[text], structured_content=dict(answer.structured), meta=None, is_error=is_error
    )


current: ContextVar[Call] = ContextVar("call")
"""The call that is being answered; set by the server around each tool."""
