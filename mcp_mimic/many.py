"""The chart server of many sessions: each request's bearer token says which grant it is under."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
from fastmcp import FastMCP
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult
from mcp_types import CallToolRequestParams, ListToolsRequest

from mcp_mimic.authentication import BearerAuth, current_grant
from mcp_mimic.contract import Grant
from mcp_mimic.errors import ChartServerError, GrantError, SettingsError, StoreError, ToolError
from mcp_mimic.governance.redaction import audited_tool
from mcp_mimic.logs import Flood, event
from mcp_mimic.server import INSTRUCTIONS, SERVER_NAME, answered, granted_tools, server_version
from mcp_mimic.sessions import SessionOpener, Sessions
from mcp_mimic.tools.catalogue import all_tools
from mcp_mimic.tools.session import refusal

_FLOOD = Flood()


@dataclass(frozen=True)
class ManyServer:
    """A server of the sessions of many grants."""

    mcp: FastMCP[Any]
    sessions: Sessions
    opener: SessionOpener

    def problem(self) -> str | None:
        """Why a session could not be opened now, or None: the store is looked at, and room for an audit."""
        try:
            with duckdb.connect(":memory:") as connection:
                self.opener.opened_store().attach(connection)
                connection.execute("select 1 from store.hosp.patients limit 1").fetchone()
        except (StoreError, duckdb.Error):
            return "the store cannot be opened"
        try:
            room = os.statvfs(self.opener.audits)
        except OSError:
            return "the audit folder is gone"
        if room.f_bavail == 0 or not os.access(self.opener.audits, os.W_OK | os.X_OK):
            return "the audit folder cannot be written"
        return self.opener.writes.problem(self.opener.audits)


class BearerGate(Middleware):
    """Shows and answers what the request's own grant allows; its session is opened when a call needs it."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def on_list_tools(
        self,
        context: MiddlewareContext[ListToolsRequest],  # noqa: ARG002 the framework passes both by name
        call_next: CallNext[ListToolsRequest, Sequence[Tool]],  # noqa: ARG002
    ) -> Sequence[Tool]:
        """The tools that the grant includes."""
        return granted_tools(current_grant())

    async def on_call_tool(
        self,
        context: MiddlewareContext[CallToolRequestParams],
        call_next: CallNext[CallToolRequestParams, ToolResult],  # noqa: ARG002
    ) -> ToolResult:
        """Answer the call in its grant's session, or say why there is none."""
        grant = current_grant()
        try:
            async with self._sessions.lease(grant) as session:
                return await answered(session, context.message)
        except (ChartServerError, OSError, MemoryError, duckdb.Error) as error:
            return _unopened(grant, context.message.name, error)


def create_many_server(opener: SessionOpener, sessions: Sessions, auth: BearerAuth) -> ManyServer:
    """A server whose requests carry tokens that `auth` takes, and whose sessions `opener` opens."""
    mcp: FastMCP[Any] = FastMCP(
        SERVER_NAME,
        instructions=INSTRUCTIONS,
        version=server_version(),
        tools=list(all_tools().values()),
        middleware=[BearerGate(sessions)],
        auth=auth,
        mask_error_details=True,
    )
    return ManyServer(mcp, sessions, opener)


def _unopened(grant: Grant, tool: str, error: Exception) -> ToolResult:
    """The answer where no session can be opened; paths and the subject's number stay in the operator's log."""
    code, message, remedy = _shown(error)
    if _FLOOD.tells():
        event(
            "session_unavailable",
            # A settings or store error names files; a grant's may name the subject.
            error.message if isinstance(error, SettingsError | StoreError) else "",
            level=logging.WARNING,
            grant=grant.grant,
            tool=audited_tool(tool),
            outcome="error",
            rule=code,
            reason=error.code if isinstance(error, ChartServerError) else type(error).__name__,
        )
    return refusal(code, message, remedy)


def _shown(error: Exception) -> tuple[str, str, str]:
    if isinstance(error, ToolError):
        return error.code, error.message, error.remedy
    if isinstance(error, SettingsError) and error.code == "sealed":
        return "sealed", "the session is closed and its audit sealed", "no further call is possible"
    if isinstance(error, SettingsError):
        return (
            "audit_unavailable",
            "the audit of this session cannot be used, so nothing is answered",
            "tell the operator, whose log has the reason; nothing else helps",
        )
    if isinstance(error, GrantError):
        return "grant", "the grant of this session cannot be honoured", "ask the operator for another"
    return "chart_unavailable", "the chart cannot be opened now", "call again later, or tell the operator"
