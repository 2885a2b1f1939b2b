"""Diagnoses and billing groups, coded after an admission is over."""

from typing import Annotated, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcp_mimic.tools.arguments import Cursor, End, Limit, Names, Order, Start
from mcp_mimic.tools.reading import Page, read_rows
from mcp_mimic.tools.registry import read_tool
from mcp_mimic.tools.session import Call

_TABLES = {"icd": "hosp.diagnoses_icd", "drg": "hosp.drgcodes"}


@read_tool
def get_diagnoses(
    record: Annotated[
        Literal["icd", "drg"],
        Field(description="icd: diagnoses with ICD code and title; drg: billing groups of admissions."),
    ] = "icd",
    names: Names = None,
    start: Start = None,
    end: End = None,
    order: Order = "newest",
    limit: Limit = 100,
    cursor: Cursor = None,
    *,
    call: Call,
) -> ToolResult:
    """Diagnoses (hosp.diagnoses_icd) or billing groups (hosp.drgcodes), by the discharge of their admission.

    Codes are made after discharge: those of an admission that is not over, or is sealed in this session, are
    not here, and that they are missing says nothing of what the patient has. seq_num 1 is the main diagnosis.
    Names are parts of codes or titles and count as searched even if nothing matches.
    Example: get_diagnoses(record="icd", names=["heart failure", "I50"]).
    """
    return read_rows(call, _TABLES[record], Page(start, end, order, limit, cursor), names=names)
