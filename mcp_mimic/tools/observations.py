"""Charted observations: the ICU's chart, its date entries, and outpatient measurements."""

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.tools.arguments import Cursor, End, Items, Limit, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call

_TABLES = {"charted": "icu.chartevents", "dates": "icu.datetimeevents", "outpatient": "hosp.omr"}


@read_tool
def get_observations(
    record: Annotated[
        Literal["charted", "dates", "outpatient"],
        Field(description="charted: ICU flowsheet; dates: ICU date entries; outpatient: hosp.omr, by day."),
    ] = "charted",
    items: Items = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Vital signs, weights, scores and settings (icu.chartevents), dates (icu.datetimeevents), or hosp.omr.

    Items are itemids or parts of labels; for record="outpatient" parts of result names only. What is asked
    for counts as searched even if this patient has no such row.
    Example: get_observations(record="charted", items=[220045], start="2150-03-04T08:00").
    """
    return read_rows(call, _TABLES[record], Page(start, end, order, limit, cursor), items=items)
