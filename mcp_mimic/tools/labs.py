"""Laboratory results."""

from fastmcp.tools import ToolResult

from mcp_mimic.tools.arguments import Cursor, End, Items, Limit, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call


@read_tool
def get_labs(
    items: Items = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Laboratory results (hosp.labevents) by the time the specimen was drawn.

    Items are itemids or parts of labels; a label names its specimen unless that is blood ("pH, Urine"). What
    is asked for counts as searched even if this patient has no such row: the itemid, or every item whose
    label has that part. `valuenum` is the number even where `value` is `___`.
    Example: get_labs(items=["creatinine"], start="2150-03-01", end="2150-03-04T14:00", order="oldest").
    """
    return read_rows(call, "hosp.labevents", Page(start, end, order, limit, cursor), items=items)
