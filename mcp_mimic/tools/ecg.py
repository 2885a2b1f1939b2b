"""Electrocardiograms: what the machine measured and wrote."""

from collections.abc import Sequence

import duckdb
from fastmcp.tools import ToolResult

from mcp_mimic.tools.arguments import Cursor, End, Limit, Names, Order, Start
from mcp_mimic.tools.query import Row
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call

_LINES = tuple(f"report_{number}" for number in range(18))


@read_tool
def get_ecgs(
    names: Names = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Electrocardiograms (ecg.machine_measurements) by their time: intervals, axes, and the machine's report.

    Onsets and ends are in ms from the beginning of one beat, so the QRS lasts qrs_end - qrs_onset, PR is
    qrs_onset - p_onset and QT is t_end - qrs_onset; 29999 is no measurement. Axes are in degrees. `report` is
    what the machine read from the curve, no physician's reading. Names are parts of that report and count as
    searched even if nothing matches.
    Example: get_ecgs(names=["atrial fibrillation"], start="2150-03-01").
    """
    page = Page(start, end, order, limit, cursor)
    return read_rows(call, "ecg.machine_measurements", page, names=names, enrich=_gather_report)


def _gather_report(_: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> None:
    """The lines of each report as one list."""
    for row in rows:
        row["report"] = [row.pop(line) for line in _LINES if line in row]
