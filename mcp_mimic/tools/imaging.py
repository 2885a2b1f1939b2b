"""Chest radiographs: the images there are, and what a program read from their reports."""

from collections.abc import Sequence
from typing import Annotated, Literal

import duckdb
from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.errors import ToolError
from mcp_mimic.tools.arguments import Cursor, End, Limit, Names, Order, Start
from mcp_mimic.tools.query import Row
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call

_TABLES = {"images": "cxr.metadata", "labels": "cxr.chexpert"}
_MEANINGS = {1.0: "positive", 0.0: "negative", -1.0: "uncertain"}


@read_tool
def get_imaging(
    record: Annotated[
        Literal["images", "labels"],
        Field(description="images: procedure and view of each image; labels: findings named in the reports."),
    ] = "images",
    names: Names = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Chest radiographs (cxr.metadata) or the CheXpert labels of their reports (cxr.chexpert), by the study's time.

    A label says how the report names a finding: positive, negative or uncertain; a finding without a label was
    not mentioned, which is no negative. Labels are a program's reading of the report and can be wrong: where
    the report itself is here, read it with list_notes(kind="radiology"). Other imaging is only in those
    reports. Names are parts of the procedure or view, for record="images" only.
    Example: get_imaging(record="labels", start="2150-03-01").
    """
    if names and record != "images":
        raise ToolError(
            f"{_TABLES[record]} has no names", "leave names out and read the rows", code="no_names"
        )
    enrich = _say_labels if record == "labels" else None
    page = Page(start, end, order, limit, cursor)
    return read_rows(call, _TABLES[record], page, names=names, enrich=enrich)


def _say_labels(_: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> None:
    """Labels in words instead of 1, 0 and -1; any other number stays."""
    for row in rows:
        for name, value in row.items():
            if isinstance(value, float):
                row[name] = _MEANINGS.get(value, value)
