"""Visits to the emergency department, and what was recorded in them."""

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.errors import ToolError
from mcp_mimic.tools.arguments import Cursor, End, Limit, Names, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call
from mcp_mimic.tools.sources import SOURCES

_TABLES = {
    "triage": "ed.triage",
    "vitals": "ed.vitalsign",
    "dispensing": "ed.pyxis",
    "home_medications": "ed.medrecon",
    "diagnoses": "ed.diagnosis",
}


@read_tool
def list_ed_visits(
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Visits to the emergency department (ed.edstays) by arrival, with transport, end and disposition.

    stay_id is the visit's own and never an ICU stay; hadm_id is there if an admission followed and has begun.
    The end and the disposition are left out while they lie after the as-of time.
    Example: list_ed_visits(order="newest").
    """
    return read_rows(call, "ed.edstays", Page(start, end, order, limit, cursor))


@read_tool
def get_ed_records(
    record: Annotated[
        Literal["triage", "vitals", "dispensing", "home_medications", "diagnoses"],
        Field(
            description="triage: first vital signs, acuity, complaint; vitals: later ones; dispensing: drugs taken "
            "from the cabinet; home_medications: as told on arrival; diagnoses: coded for the visit."
        ),
    ] = "triage",
    names: Names = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """What one record of the emergency department holds, by time; stay_id says of which visit.

    Triage is at the visit's arrival, diagnoses at its end. A drug taken from the cabinet is not a dose given.
    Temperatures are in °F; acuity is 1 (most urgent) to 5. Names are parts of the complaint, the drug, or the
    code or title of a diagnosis, and count as searched even if nothing matches; vital signs have none.
    Example: get_ed_records(record="dispensing", names=["calcium"]).
    """
    table = _TABLES[record]
    if names and SOURCES[table].name is None:
        raise ToolError(f"{table} has no names", "leave names out and read the rows", code="no_names")
    return read_rows(call, table, Page(start, end, order, limit, cursor), names=names)
