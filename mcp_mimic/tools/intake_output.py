"""Fluids in and out of the ICU patient."""

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.tools.arguments import Cursor, End, Items, Limit, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call

_TABLES = {"output": "icu.outputevents", "intake": "icu.inputevents", "ingredients": "icu.ingredientevents"}


@read_tool
def get_intake_output(
    record: Annotated[
        Literal["output", "intake", "ingredients"],
        Field(
            description="output: urine, drains …; intake: fluids and drugs given; ingredients: their parts."
        ),
    ] = "output",
    items: Items = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """ICU intake and output: measured outputs by charttime, inputs and their ingredients by starttime.

    An input that is still running at the as-of time shows its rate, its amount is not known yet. Items are
    itemids or parts of labels, and count as searched even if this patient has no such row.
    Example: get_intake_output(record="output", items=["foley"], start="2150-03-04T00:00", order="oldest").
    """
    return read_rows(call, _TABLES[record], Page(start, end, order, limit, cursor), items=items)
