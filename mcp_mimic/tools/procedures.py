"""Procedures: charted at the bedside, coded, billed."""

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.tools.arguments import Cursor, End, Items, Limit, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call

_TABLES = {"bedside": "icu.procedureevents", "coded": "hosp.procedures_icd", "billed": "hosp.hcpcsevents"}


@read_tool
def get_procedures(
    record: Annotated[
        Literal["bedside", "coded", "billed"],
        Field(description="bedside: ICU procedures; coded: ICD codes, by day; billed: HCPCS, by day."),
    ] = "bedside",
    items: Items = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Procedures: at the ICU bedside by starttime (lines, dialysis, ventilation, imaging), coded, or billed.

    Codes are known only after an admission's discharge. Items are itemids or parts of labels for
    record="bedside", parts of a code or its title otherwise, and count as searched even if nothing matches.
    Example: get_procedures(record="bedside", items=[225802, 225441], start="2150-03-01").
    """
    return read_rows(call, _TABLES[record], Page(start, end, order, limit, cursor), items=items)
