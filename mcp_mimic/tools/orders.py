"""Orders as they were entered."""

from fastmcp.tools import ToolResult

from mcp_mimic.tools.arguments import Cursor, End, Limit, Names, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call


@read_tool
def get_orders(
    names: Names = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Orders of a provider (hosp.poe) by the time of the order, each with its details.

    An order is not an act: look for the dose, the result or the procedure itself. transaction_type is New,
    Change, D/C (discontinue) and the like; discontinue_of_poe_id is the key of the order that it ends, [ord:…].
    Who ordered, and an order's status at the end of the stay, are never served. Names are parts of type, subtype
    or a detail's value ("code status", "consult") and count as searched even if nothing matches.
    Example: get_orders(names=["code status"], start="2150-03-01").
    """
    return read_rows(call, "hosp.poe", Page(start, end, order, limit, cursor), names=names)
