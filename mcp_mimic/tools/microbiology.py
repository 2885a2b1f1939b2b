"""Cultures and other microbiology."""

from typing import Annotated

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.tools.arguments import AsList, Cursor, End, Limit, Order, Start, Text
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call


@read_tool
def get_microbiology(
    specimen: Annotated[
        Annotated[list[Text], Field(max_length=200)] | None,
        AsList,
        Field(description="Parts of specimen types, e.g. 'blood culture' or 'urine'. Omit: every specimen."),
    ] = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Microbiology (hosp.microbiologyevents) by the time of the draw, or its day where no time is known.

    A culture without a result at the as-of time shows as one row with its specimen and draw time only.
    Organism and antibiotic columns are there where something grew. Specimens are parts of names and count
    as searched even if nothing matches.
    Example: get_microbiology(specimen=["blood culture"], start="2150-03-03").
    """
    page = Page(start, end, order, limit, cursor)
    return read_rows(call, "hosp.microbiologyevents", page, names=specimen)
