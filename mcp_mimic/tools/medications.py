"""Medications: given, running, ordered, dispensed."""

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.errors import ToolError
from mcp_mimic.tools.arguments import AsItems, Cursor, End, ItemId, Limit, Names, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call

_TABLES = {
    "administrations": "hosp.emar",
    "infusions": "icu.inputevents",
    "orders": "hosp.prescriptions",
    "dispensing": "hosp.pharmacy",
}


@read_tool
def get_medications(
    record: Annotated[
        Literal["administrations", "infusions", "orders", "dispensing"],
        Field(
            description="administrations: eMAR doses; infusions: ICU inputs; orders: prescriptions; "
            "dispensing: pharmacy."
        ),
    ] = "administrations",
    names: Names = None,
    items: Annotated[
        Annotated[list[ItemId], Field(max_length=200)] | None,
        AsItems,
        Field(description="itemids, for record='infusions' only. Omit: every item."),
    ] = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Medications by record: doses given (hosp.emar), ICU infusions, orders, or dispensing records.

    An order or a dispense is not a dose given, and an eMAR row says in event_txt whether its dose was. The
    eMAR covers wards; ICU infusions are in record="infusions", by their start: one that began before the
    window is not listed, even if it ran on into it. Orders and dispensing are by starttime, which can lie
    after the as-of time. Names are parts of drug names, for infusions of item labels, and count as
    searched even if nothing matches.
    A few eMAR rows have no drug name, only a product in their detail: a search by names leaves them out.
    Example: get_medications(record="administrations", names=["calcium gluc"], start="2150-03-04T12:00").
    """
    if items and record != "infusions":
        raise ToolError(
            f"{_TABLES[record]} has no itemids", "give names, or use record='infusions'", code="no_itemids"
        )
    page = Page(start, end, order, limit, cursor)
    return read_rows(call, _TABLES[record], page, items=items, names=names)
