"""Reading a chart through the tools: which tool serves which official table, and pages to the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastmcp import Client


MOST_FILTERS = 50
LONGEST_NAME = 80
MOST_ROWS = 1000
"""What one call may name and ask for; the tools' own bounds. A grant's limits may be lower."""


@dataclass(frozen=True)
class Route:
    """The tool that serves an official table, the arguments that select the table, and its filters."""

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    items: str | None = None
    names: str | None = None

    def filters(self, items: Sequence[int] | None, names: Sequence[str] | None) -> list[dict[str, Any]]:
        """The fewest filters that let every named item or string through, one call each.

        None and the empty list mean the whole table. A string that contains another needs no place of its
        own: names match by their parts.
        """
        values: Sequence[int | str] = ()
        if self.items and items:
            values = sorted(set(items))
        elif self.names and names:
            parts = {name[:LONGEST_NAME] for name in names}
            values = sorted(part for part in parts if not any(o != part and o in part for o in parts))
        chunks = [values[start : start + MOST_FILTERS] for start in range(0, len(values), MOST_FILTERS)]
        return [{str(self.items or self.names): list(chunk)} for chunk in chunks] or [{}]


ROUTES: dict[str, Route] = {
    "hosp.admissions": Route("list_encounters", {"kind": "admissions"}),
    "hosp.transfers": Route("list_encounters", {"kind": "transfers"}),
    "hosp.services": Route("list_encounters", {"kind": "services"}),
    "icu.icustays": Route("list_encounters", {"kind": "icu_stays"}),
    "hosp.labevents": Route("get_labs", items="items"),
    "icu.chartevents": Route("get_observations", {"record": "charted"}, items="items"),
    "icu.datetimeevents": Route("get_observations", {"record": "dates"}, items="items"),
    "hosp.omr": Route("get_observations", {"record": "outpatient"}, names="items"),
    "hosp.emar": Route("get_medications", {"record": "administrations"}, names="names"),
    "icu.inputevents": Route("get_medications", {"record": "infusions"}, items="items"),
    "hosp.prescriptions": Route("get_medications", {"record": "orders"}, names="names"),
    "hosp.pharmacy": Route("get_medications", {"record": "dispensing"}, names="names"),
    "icu.outputevents": Route("get_intake_output", {"record": "output"}, items="items"),
    "icu.ingredientevents": Route("get_intake_output", {"record": "ingredients"}, items="items"),
    "icu.procedureevents": Route("get_procedures", {"record": "bedside"}, items="items"),
    "hosp.procedures_icd": Route("get_procedures", {"record": "coded"}),
    "hosp.hcpcsevents": Route("get_procedures", {"record": "billed"}),
    "hosp.microbiologyevents": Route("get_microbiology", names="specimen"),
    "hosp.poe": Route("get_orders", names="names"),
    "hosp.diagnoses_icd": Route("get_diagnoses", {"record": "icd"}, names="names"),
    "hosp.drgcodes": Route("get_diagnoses", {"record": "drg"}, names="names"),
    "note.discharge": Route("list_notes", {"kind": "discharge"}),
    "note.radiology": Route("list_notes", {"kind": "radiology"}, names="names"),
    "ed.edstays": Route("list_ed_visits"),
    "ed.triage": Route("get_ed_records", {"record": "triage"}, names="names"),
    "ed.vitalsign": Route("get_ed_records", {"record": "vitals"}),
    "ed.pyxis": Route("get_ed_records", {"record": "dispensing"}, names="names"),
    "ed.medrecon": Route("get_ed_records", {"record": "home_medications"}, names="names"),
    "ed.diagnosis": Route("get_ed_records", {"record": "diagnoses"}, names="names"),
    "ecg.machine_measurements": Route("get_ecgs", names="names"),
    "cxr.metadata": Route("get_imaging", {"record": "images"}, names="names"),
    "cxr.chexpert": Route("get_imaging", {"record": "labels"}),
    "echo.study_list": Route("get_echos", {"record": "studies"}),
    "echo.structured_measurement": Route("get_echos", {"record": "measurements"}, names="names"),
}
"""Official table → the call that reads it."""


@dataclass(frozen=True)
class Reading:
    """One search, read over one or more pages: the call ids in order, the row ids, and how many rows match."""

    source: str
    calls: tuple[str, ...]
    eids: tuple[str, ...]
    total: int

    @property
    def last_call(self) -> str:
        """The call that served the last page: it is the one that says `complete`."""
        return self.calls[-1]


class ChartReadError(Exception):
    """A tool refused or failed a call that an instrument relies on."""


async def read_source(
    client: "Client[Any]",
    source: str,
    *,
    filters: Mapping[str, Any] | None = None,
    start: str | None = None,
    end: str | None = None,
    max_pages: int | None = None,
) -> Reading:
    """Search one official table and follow its cursor to the end, or for `max_pages` pages."""
    route = ROUTES[source]
    window = {name: value for name, value in (("start", start), ("end", end)) if value is not None}
    arguments = {**route.arguments, **(filters or {}), **window, "limit": MOST_ROWS}
    calls: list[str] = []
    eids: list[str] = []
    cursor: str | None = None
    while True:
        page = await _call(client, route.tool, arguments | ({"cursor": cursor} if cursor else {}))
        calls.append(page["call"])
        eids.extend(row["eid"] for row in page["rows"])
        cursor = page["next_cursor"]
        if not cursor or len(calls) == max_pages:
            return Reading(source, tuple(calls), tuple(dict.fromkeys(eids)), page["total"])


async def _call(client: "Client[Any]", tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool_mcp(tool, arguments)
    if result.is_error:
        told = " ".join(block.text for block in result.content if block.type == "text")
        raise ChartReadError(f"{tool}: {told}")
    page: dict[str, Any] = result.structured_content
    return page
