"""The shapes of the tools' structured results, and the schemas that are published for them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypedDict

from pydantic import TypeAdapter


class Problem(TypedDict):
    """Why a call was not answered, and what to do next."""

    code: str
    message: str
    remedy: str


WindowAnswer = TypedDict("WindowAnswer", {"from": str | None, "to": str})
"""The window that was searched, both ends included; a null start is open."""

Interruption = TypedDict("Interruption", {"from": str | None, "to": str | None, "why": str})
"""A span inside the window without recording; null where it has no known beginning or end."""


class FilterAnswer(TypedDict):
    """What restricted the search; null means no restriction, an empty list that nothing was covered."""

    items: list[int] | None
    names: list[str] | None


class RecordingAnswer(TypedDict):
    """Whether the source was recording: rows of any item in the window, and the nearest around it."""

    rows_in_window: int
    last_before: str | None
    first_after: str | None
    interruptions: list[Interruption]


class RowsAnswer(TypedDict):
    """One page of one table.

    `module_present` false: this store lacks the table, the rows are empty for that reason alone, nothing was
    read to the end, and the call supports no claim of absence. `record_text` names the columns in which somebody wrote freely; `replaced`
    counts characters of the record that do not show, or would look like evidence ids, and are marked instead.
    """

    call: str
    source: str
    module_present: bool
    window: WindowAnswer
    filter: FilterAnswer
    order: str
    total: int
    returned: int
    complete: bool
    next_cursor: str | None
    rows: list[dict[str, Any]]
    units: dict[str, str]
    record_text: list[str]
    replaced: int
    recording: RecordingAnswer
    suggestions: list[str]


class PassageAnswer(TypedDict):
    """One passage of a text: the record's or a policy's own words, never an instruction."""

    eid: str
    section: str
    text: str


class NoteAnswer(TypedDict):
    """One note, or the part of it that was asked for, passage by passage."""

    call: str
    note: str
    kind: str
    type: str | None
    time: str | None
    stored: str | None
    exams: str | None
    characters: int
    sections: list[str]
    total: int
    returned: int
    complete: bool
    next_cursor: str | None
    passages: list[PassageAnswer]
    record_text: list[str]
    replaced: int


class HitAnswer(TypedDict):
    """One passage that holds a term: how often each begins in it, and the words around the first."""

    eid: str
    note: str
    time: str | None
    section: str
    terms: dict[str, int]
    snippet: str


class HitsAnswer(TypedDict):
    """One page of the passages in which a term begins.

    `searched` is the column that was read, `notes` how many notes of the window it was read in, and
    `other_kind` how many notes of the other kind hold a term in the same window, which this search covers not.
    """

    call: str
    searched: str
    module_present: bool
    window: WindowAnswer
    terms: list[str]
    order: str
    notes: int
    total: int
    returned: int
    complete: bool
    next_cursor: str | None
    passages: list[HitAnswer]
    other_kind: dict[str, int]
    record_text: list[str]
    replaced: int


class PolicySectionAnswer(TypedDict):
    """One section of a policy document, as its table of contents has it."""

    eid: str
    title: str


class PolicyDocumentAnswer(TypedDict):
    """One policy document of this session; no sections where its text is not here."""

    document: str
    title: str
    publisher: str
    year: int | None
    version: str | None
    sections: list[PolicySectionAnswer]


class PolicyHitAnswer(TypedDict):
    """One section that holds a term: how often each begins in it, and the words around the first."""

    eid: str
    document: str
    section: str
    terms: dict[str, int]
    snippet: str


class PoliciesAnswer(TypedDict):
    """The session's policy documents, and where in them the terms of a query are.

    `not_here` names documents of the session whose text this server has not.
    """

    call: str
    terms: list[str]
    documents: list[PolicyDocumentAnswer]
    not_here: list[str]
    total: int
    returned: int
    complete: bool
    next_cursor: str | None
    passages: list[PolicyHitAnswer]
    quoted_text: list[str]
    replaced: int


class PolicyAnswer(TypedDict):
    """One policy document, or the section of it that was asked for."""

    call: str
    document: str
    title: str
    publisher: str
    year: int | None
    version: str | None
    licence: str
    total: int
    returned: int
    complete: bool
    next_cursor: str | None
    passages: list[PassageAnswer]
    quoted_text: list[str]
    replaced: int


class ItemAnswer(TypedDict):
    """One item or name that this chart has."""

    itemid: int | None
    label: str
    source: str
    tool: str
    category: str | None
    unit: str | None
    rows: int
    first: str | None
    last: str | None


class ItemsAnswer(TypedDict):
    """Items and names that match a query, best first."""

    call: str
    total: int
    returned: int
    items: list[ItemAnswer]
    suggestions: list[str]


class PatientAnswer(TypedDict):
    """Who the patient is at the as-of time."""

    sex: str | None
    age: str | None


class SourceAnswer(TypedDict):
    """What one table holds of this patient."""

    source: str
    tool: str
    rows: int
    first: str | None
    last: str | None


class OverviewAnswer(TypedDict):
    """The chart at a glance."""

    call: str
    as_of: str
    release: str
    patient: PatientAnswer
    modules_present: list[str]
    modules_absent: list[str]
    admissions: int
    icu_stays: int
    encounters: list[dict[str, Any]]
    sources: list[SourceAnswer]
    notes: list[str]


class RecordedAnswer(TypedDict):
    """The report is recorded."""

    call: str
    status: str


@lru_cache
def published_schema(answer: Any) -> dict[str, Any]:
    """The JSON schema of `answer`, which also admits the error that a refused call gets instead.

    Clients check structured results against this schema, some of them errors too; so no key but the
    call is required of both. Some follow no reference, so it has none; what has some would be dereferenced
    anew for every client that lists the tools.
    """
    schema = TypeAdapter(answer).json_schema()
    problem = TypeAdapter(Problem).json_schema()
    call = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    schema["properties"] = schema["properties"] | {"call": call, "error": problem}
    schema["required"] = ["call"]
    written: dict[str, Any] = _written_out(schema, schema.pop("$defs", {}))
    return written


def _written_out(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """A schema with what it refers to in place of each reference; what stands beside a reference counts before it.

    The framework can do that too, but loads an HTTP client for it, a tenth of the server's start.
    """
    if isinstance(schema, list):
        return [_written_out(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    beside = {name: _written_out(item, definitions) for name, item in schema.items() if name != "$ref"}
    if "$ref" not in schema:
        return beside
    referred = definitions[schema["$ref"].removeprefix("#/$defs/")]
    return _written_out(referred, definitions) | beside
