"""Admissions, transfers, services and ICU stays."""

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.tools.arguments import Cursor, End, Limit, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call

_TABLES = {
    "admissions": "hosp.admissions",
    "transfers": "hosp.transfers",
    "services": "hosp.services",
    "icu_stays": "icu.icustays",
}


@read_tool
def list_encounters(
    kind: Annotated[
        Literal["admissions", "transfers", "services", "icu_stays"],
        Field(description="Which list: hospital admissions, unit transfers, treating services, ICU stays."),
    ] = "admissions",
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Hospital admissions, transfers between units, changes of service, or ICU stays, by their beginning.

    Ends that lie after the as-of time are not known yet and left out. An encounter that began before the
    window is not listed, even if it was still going on: open the window earlier to see it.
    Example: list_encounters(kind="icu_stays", order="oldest").
    """
    return read_rows(call, _TABLES[kind], Page(start, end, order, limit, cursor))
