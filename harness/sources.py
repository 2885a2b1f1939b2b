"""What of a chart can be searched: the call that reads each source, and what narrows such a search.

A source is an official table, or the text of a table of notes (`note.discharge.text`). What a call states of its
source, its filter and its window is all that a requirement can ask for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_mimic.errors import ToolError
from mcp_mimic.text.words import MOST_TERMS, Term, parse_query

MOST_FILTERS = 50
LONGEST_NAME = 80
LONGEST_QUERY = 500
MOST_ROWS = 1000
"""What one call may name and ask for; the tools' own bounds. A grant's limits may be lower."""


@dataclass(frozen=True)
class Route:
    """The tool that serves a source, the arguments that select it, its filters, and the answer's key for its rows.

    `query`: the argument that takes the terms sought in a text, without which there is no search of it.
    """

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    items: str | None = None
    names: str | None = None
    query: str | None = None
    rows: str = "rows"

    def filters(self, items: Sequence[int] | None, names: Sequence[str] | None) -> list[dict[str, Any]]:
        """The fewest filters that let every named item or string through, one call each.

        None and the empty list mean the whole table. A string that contains another needs no place of its
        own: names match by their parts.
        """
        if self.query:
            return [{self.query: " ".join(chunk)} for chunk in _queries(names or ())]
        values: Sequence[int | str] = ()
        if self.items and items:
            values = sorted(set(items))
        elif self.names and names:
            values = _shortest({name[:LONGEST_NAME] for name in names})
        chunks = [values[start : start + MOST_FILTERS] for start in range(0, len(values), MOST_FILTERS)]
        return [{str(self.items or self.names): list(chunk)} for chunk in chunks] or [{}]


def _shortest(parts: set[str]) -> list[str]:
    """Those that contain no other."""
    return sorted(part for part in parts if not any(o != part and o in part for o in parts))


def _queries(pieces: Sequence[str]) -> Iterator[list[str]]:
    """The terms of each query: as few queries as hold them all."""
    chunk: list[str] = []
    for term in (str(Term(piece)) for piece in _shortest(set(pieces))):
        if len(chunk) == MOST_TERMS or len(" ".join([*chunk, term])) > LONGEST_QUERY:
            yield chunk
            chunk = []
        chunk.append(term)
    yield chunk


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

TEXT_ROUTES: dict[str, Route] = {
    f"note.{kind}.text": Route("search_notes", {"kind": kind}, query="query", rows="passages")
    for kind in ("discharge", "radiology")
}
"""Text of a table of notes → the call that searches it."""

NAME_COLUMNS = {
    "hosp.emar": "medication",
    "hosp.prescriptions": "drug",
    "hosp.pharmacy": "medication",
    "hosp.microbiologyevents": "spec_type_desc",
    "hosp.omr": "result_name",
    "ed.pyxis": "name",
    "hosp.poe": "concat_ws(' ', order_type, order_subtype)",
    "hosp.drgcodes": "concat_ws(' ', drg_type, drg_code, description)",
    "hosp.diagnoses_icd": (
        "concat_ws(' ', icd_code, (select d.long_title from hosp.d_icd_diagnoses d "
        "where d.icd_code = diagnoses_icd.icd_code and d.icd_version = diagnoses_icd.icd_version))"
    ),
    "ed.diagnosis": "concat_ws(' ', icd_code, icd_title)",
    "cxr.metadata": (
        "concat_ws(' ', performedprocedurestepdescription, viewposition, "
        "procedurecodesequence_codemeaning, viewcodesequence_codemeaning)"
    ),
    "echo.structured_measurement": "concat_ws(' ', measurement, measurement_description)",
}
"""Table → what of its rows a search's names are matched against. Of an order its details are left out: the
order that ends another one has none, so that a search by a detail would pass it over."""

TERM_COLUMNS = {
    **NAME_COLUMNS,
    "ecg.machine_measurements": f"concat_ws('; ', {', '.join(f'report_{number}' for number in range(18))})",
    "ed.triage": "chiefcomplaint",
    "ed.medrecon": "concat_ws(' ', name, etcdescription)",
}
"""Table → what a search's terms are sought in. Those that have no names are written by hand, a machine's sentences
included: their strings are too many, and other patients', to be listed in a gold."""


def route_of(source: str) -> Route:
    """The call that reads a source; KeyError if none does."""
    return TEXT_ROUTES.get(source) or ROUTES[source]


def table_of(source: str) -> str:
    """The official table that a source is, or whose text it is."""
    return source.removesuffix(".text") if source in TEXT_ROUTES else source


def text_piece(term: str) -> str:
    """The piece of a note's folded text that a term stands for: whole words, or open where it has a `*`.

    ValueError if it is no single term that search_notes takes.
    """
    if '"' in term:
        raise ValueError(f"term {term!r} has quotation marks: leave them out, its words are sought in a row")
    try:
        [found] = parse_query(f'"{term}"')
    except ToolError as error:
        raise ValueError(f"term {term!r}: {error.message}") from error
    return found.piece


def narrowing_problem(
    source: str, items: Sequence[int] | None, names: str | None, terms: Sequence[str] | None
) -> str | None:
    """Why a search of this source cannot be asked for with what narrows it; None if it can."""
    given = [
        key for key, value in (("items", items), ("names", names), ("terms", terms)) if value is not None
    ]
    if source not in TEXT_ROUTES and source not in ROUTES:
        return f"no tool searches {source}, so that no search of it can be asked for"
    if len(given) > 1:
        return f"{' and '.join(given)} of one search: keep one, and give the other a search of its own"
    if source in TEXT_ROUTES:
        if terms is None:
            return f"{source} needs terms, the words sought in it; to list its notes, name {table_of(source)}"
        return _first_problem(terms)
    if items is not None and ROUTES[source].items is None:
        return f"{source} has no itemids: {_instead(source)}"
    if names is not None and source not in NAME_COLUMNS:
        return f"{source} has no list of names: {_instead(source)}"
    if terms is not None and source not in TERM_COLUMNS:
        return f"{source} has nothing to seek terms in: {_instead(source)}"
    if starred := next((term for term in terms or () if "*" in term), None):
        return f"term {starred!r}: a * is for the text of notes; here any part of a name is a term"
    return None


def _first_problem(terms: Sequence[str]) -> str | None:
    for term in terms:
        try:
            text_piece(term)
        except ValueError as error:
            return str(error)
    return None


def _instead(source: str) -> str:
    """What can narrow a search of a table."""
    ways = [
        way
        for way, there in (
            ("items", ROUTES[source].items is not None),
            ("names", source in NAME_COLUMNS),
            ("terms", source in TERM_COLUMNS),
        )
        if there
    ]
    more = f", or terms of {source}.text" if f"{source}.text" in TEXT_ROUTES else ""
    return (f"narrow it by {' or '.join(ways)}" if ways else "ask for the whole table") + more
