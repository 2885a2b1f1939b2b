"""A chart client that keeps the agent's own account of what it called and what it was told."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Unpack

import mcp_types
from fastmcp import Client, FastMCP
from fastmcp.client.transports import FastMCPTransport
from fastmcp.client.transports.base import SessionKwargs, TransportOptions
from mcp import ClientSession


@dataclass(frozen=True)
class Call:
    """One tool call as the agent saw it. `text` is None if no answer came back.

    `arguments` are empty where no JSON could have carried them.
    """

    at: datetime
    tool: str
    arguments: Mapping[str, Any]
    text: str | None
    is_error: bool


class _TrustingSession(ClientSession):
    """Takes results as they are: compiling every tool's schema for each trial costs more than its calls."""

    async def validate_tool_result(self, name: str, result: mcp_types.CallToolResult) -> None:
        """The server built the result from these very schemas, in this process."""


class _InProcess(FastMCPTransport):
    """The server's own process, with sessions that do not check its results a second time."""

    @asynccontextmanager
    async def connect_session(
        self, *, transport_options: TransportOptions | None = None, **session_kwargs: Unpack[SessionKwargs]
    ) -> AsyncGenerator[ClientSession]:
        """Connect as usual."""
        options = replace(transport_options or TransportOptions(), session_class=_TrustingSession)
        async with super().connect_session(transport_options=options, **session_kwargs) as session:
            yield session


class RecordingClient(Client[FastMCPTransport]):
    """A client in the server's own process that makes one call at a time, so that its record and the audit agree in order."""

    def __init__(self, server: FastMCP[Any]) -> None:
        super().__init__(_InProcess(server))
        self.calls: list[Call] = []
        self._turn = asyncio.Lock()

    async def call_tool_mcp(
        self, name: str, arguments: dict[str, Any], *args: Any, **kwargs: Any
    ) -> mcp_types.CallToolResult:
        """Make the call and remember it, whether or not an answer comes back."""
        async with self._turn:
            at, result = datetime.now(UTC), None
            try:
                result = await super().call_tool_mcp(name, arguments, *args, **kwargs)
            finally:
                text = None if result is None else _text(result)
                is_error = result is None or result.is_error
                self.calls.append(Call(at, name, _carried(arguments), text, is_error))
            return result


def _carried(arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        text = json.dumps(arguments, allow_nan=False, ensure_ascii=False)
        carried: dict[str, Any] = json.loads(text.encode("utf-8"))
    except (TypeError, ValueError, RecursionError):
        return {}
    return carried


def _text(result: mcp_types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
