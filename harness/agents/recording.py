"""A chart client that keeps the agent's own account of what it called and what it was told."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import mcp_types
from fastmcp import Client, FastMCP
from fastmcp.client.transports import FastMCPTransport


@dataclass(frozen=True)
class Call:
    """One tool call as the agent saw it. `text` is None if no answer came back."""

    at: datetime
    tool: str
    arguments: Mapping[str, Any]
    text: str | None
    is_error: bool


class RecordingClient(Client[FastMCPTransport]):
    """A client in the server's own process that makes one call at a time, so that its record and the audit agree in order."""

    def __init__(self, server: FastMCP[Any]) -> None:
        super().__init__(server)
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
                self.calls.append(Call(at, name, dict(arguments), text, result is None or result.is_error))
            return result


def _text(result: mcp_types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
