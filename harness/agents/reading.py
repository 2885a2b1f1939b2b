"""Reading a chart through the tools, page by page to the end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.sources import MOST_ROWS, route_of

if TYPE_CHECKING:
    from fastmcp import Client


@dataclass(frozen=True)
class Reading:
    """One search, read over one or more pages: the call ids in order, the row ids, and how many rows match."""

    source: str
    calls: tuple[str, ...]
    eids: tuple[str, ...]
    total: int

    @property
    def last_call(self) -> str:
        """The call that served the last page: it is the one that says `complete`."""
        return self.calls[-1]


class ChartReadError(Exception):
    """A tool refused or failed a call that an instrument relies on."""


async def read_source(
    client: "Client[Any]",
    source: str,
    *,
    filters: Mapping[str, Any] | None = None,
    start: str | None = None,
    end: str | None = None,
    max_pages: int | None = None,
) -> Reading:
    """Search one source and follow its cursor to the end, or for `max_pages` pages."""
    route = route_of(source)
    window = {name: value for name, value in (("start", start), ("end", end)) if value is not None}
    arguments = {**route.arguments, **(filters or {}), **window, "limit": MOST_ROWS}
    calls: list[str] = []
    eids: list[str] = []
    cursor: str | None = None
    while True:
        page = await _call(client, route.tool, arguments | ({"cursor": cursor} if cursor else {}))
        calls.append(page["call"])
        eids.extend(row["eid"] for row in page[route.rows])
        cursor = page["next_cursor"]
        if not cursor or len(calls) == max_pages:
            return Reading(source, tuple(calls), tuple(dict.fromkeys(eids)), page["total"])


async def _call(client: "Client[Any]", tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool_mcp(tool, arguments)
    if result.is_error:
        told = " ".join(block.text for block in result.content if block.type == "text")
        raise ChartReadError(f"{tool}: {told}")
    page: dict[str, Any] = result.structured_content
    return page
