"""Echocardiograms: studies, and what was measured in them."""

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.errors import ToolError
from mcp_mimic.tools.arguments import Cursor, End, Limit, Names, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call
from mcp_mimic.tools.sources import SOURCES

_TABLES = {"measurements": "echo.structured_measurement", "studies": "echo.study_list"}


@read_tool
def get_echos(
    record: Annotated[
        Literal["measurements", "studies"],
        Field(
            description="measurements: what was measured or found, with units; studies: that images were taken."
        ),
    ] = "measurements",
    names: Names = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Echocardiograms: structured measurements by their time, or the studies in which images were taken.

    measurement_id says which measurements belong together, and to which study where the study names it. Not
    every study has measurements here: reports of others may be in notes only. Names are parts of a
    measurement's name or description, and count as searched even if nothing matches; studies have none.
    Example: get_echos(record="measurements", names=["ejection fraction", "lvef"]).
    """
    table = _TABLES[record]
    if names and SOURCES[table].name is None:
        raise ToolError(f"{table} has no names", "leave names out and read the rows", code="no_names")
    return read_rows(call, table, Page(start, end, order, limit, cursor), names=names)
