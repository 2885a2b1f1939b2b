"""One planted row or series of rows, and what a plant leaves out of the background; every key is checked."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_OFFSET = re.compile(r"([+-])((?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?)")
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}

Source = Literal[
    "hosp.labevents",
    "hosp.microbiologyevents",
    "hosp.emar",
    "hosp.prescriptions",
    "hosp.poe",
    "hosp.omr",
    "ed.pyxis",
    "ecg.machine_measurements",
    "hosp.diagnoses_icd",
    "note.discharge",
    "note.radiology",
    "icu.chartevents",
    "icu.datetimeevents",
    "icu.outputevents",
    "icu.inputevents",
    "icu.ingredientevents",
    "icu.procedureevents",
]
_SOURCE_KEYS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    source: (frozenset(required.split()), frozenset(allowed.split()))
    for source, required, allowed in (
        ("hosp.labevents", "item", "value text unit stored comment null_value specimen jitter_draw_minutes"),
        (
            "hosp.microbiologyevents",
            "specimen",
            "test organism stored comment antibiotics date_only cancelled specimen_key",
        ),
        ("hosp.emar", "name event", "route dose unit stored order"),
        ("hosp.prescriptions", "name", "route dose text unit per_day ordered ends"),
        ("hosp.poe", "order_type", "subtype transaction field_name field_value"),
        ("hosp.omr", "name text", ""),
        ("ed.pyxis", "name", ""),
        ("ecg.machine_measurements", "rr_interval qrs_onset qrs_end t_end", ""),
        ("icu.chartevents", "item", "value text unit stored"),
        ("icu.datetimeevents", "item moment", "stored"),
        ("icu.outputevents", "item value", "stored on_the_hour"),
        (
            "icu.inputevents",
            "item",
            "value unit rate rate_unit ends stored status jitter_rate jitter_ends_minutes",
        ),
        ("icu.procedureevents", "item", "ends stored status jitter_ends_minutes"),
    )
}
_TIMING_KEYS = frozenset({"source", "at", "every", "until", "jitter_minutes", "jitter_value"})


def parse_offset(text: object) -> timedelta:
    """`"-20h"`, `"+4h40m"`, `"-6d"` → the offset from T; ValueError for anything else."""
    match = _OFFSET.fullmatch(text) if isinstance(text, str) else None
    if match is None or not match[2]:
        raise ValueError(f'{text!r} is not an offset such as "-20h", "+4h40m" or "-6d"')
    parts = {_UNITS[unit]: int(number) for number, unit in re.findall(r"(\d+)([dhms])", match[2])}
    offset = timedelta(**parts)
    return -offset if match[1] == "-" else offset


def _parse_period(text: object) -> timedelta:
    period = parse_offset(f"+{text}" if isinstance(text, str) and text[:1].isdigit() else text)
    if period <= timedelta(0):
        raise ValueError(f"{text!r} is not a positive period")
    return period


def _parse_regex(text: object) -> object:
    if isinstance(text, str):
        try:
            return re.compile(text, re.IGNORECASE)
        except re.error as error:
            raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


Offset = Annotated[timedelta, BeforeValidator(parse_offset)]
Period = Annotated[timedelta, BeforeValidator(_parse_period)]
Names = Annotated[re.Pattern[str], BeforeValidator(_parse_regex)]


class Strict(BaseModel):
    """A table of a plants.toml; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Event(Strict):
    """One planted row, or a series of rows with `every` and `until` (included).

    Which keys belong to which source is checked. `stored` is the storetime, `ends` the end or stop
    time, both offsets from T. For a lab, rows with the same `specimen` share a specimen, and `text` is a
    result in words; for a culture, `specimen` is its type. Of a prescription `text` is the dose as it is
    written, `per_day` how often it is given (0 if the order does not say), `ordered` when it was ordered. `value` is the amount of an infusion, `dose` that of an eMAR row, `moment` the
    date and time that a datetimeevents row states, an offset from T.
    """

    source: Source
    at: Offset
    every: Period | None = None
    until: Offset | None = None
    jitter_minutes: int = Field(default=0, ge=0)
    jitter_value: float = Field(default=0, ge=0)
    jitter_draw_minutes: int = Field(default=0, ge=0)
    jitter_rate: float = Field(default=0, ge=0, lt=1)
    jitter_ends_minutes: int = Field(default=0, ge=0)
    on_the_hour: bool = False
    item: int | None = None
    value: float | None = None
    text: str | None = None
    unit: str | None = None
    stored: Offset | None = None
    ends: Offset | None = None
    comment: str | None = None
    null_value: bool = False
    specimen: str | None = None
    test: str | None = None
    organism: str | None = None
    antibiotics: Mapping[str, Literal["S", "I", "R"]] | None = None
    date_only: bool = False
    cancelled: bool = False
    specimen_key: str | None = None
    name: str | None = None
    event: str | None = None
    route: str | None = None
    dose: float | None = None
    order: bool = True
    per_day: int | None = Field(default=None, ge=0)
    ordered: Offset | None = None
    order_type: str | None = None
    subtype: str | None = None
    transaction: Literal["New", "Change", "D/C"] = "New"
    field_name: str | None = None
    field_value: str | None = None
    moment: Offset | None = None
    rr_interval: int | None = Field(default=None, ge=1)
    qrs_onset: int | None = Field(default=None, ge=1)
    qrs_end: int | None = Field(default=None, ge=1)
    t_end: int | None = Field(default=None, ge=1)
    rate: float | None = None
    rate_unit: str | None = None
    status: str | None = None

    @model_validator(mode="after")
    def _check_keys(self) -> "Event":
        if self.source not in _SOURCE_KEYS:
            raise ValueError(f"rows of {self.source} can be suppressed, not planted")
        required, allowed = _SOURCE_KEYS[self.source]
        if missing := sorted(required - self.model_fields_set):
            raise ValueError(f"{self.source} needs {', '.join(missing)}")
        if foreign := sorted(self.model_fields_set - _TIMING_KEYS - required - allowed):
            raise ValueError(f"{self.source} has no {', '.join(foreign)}")
        if (self.every is None) != (self.until is None):
            raise ValueError("every and until go together")
        if self.source == "hosp.labevents":
            self._check_result()
        self._check_culture()
        if self.transaction == "D/C" and self.field_name is not None:
            raise ValueError("an order's end has no detail; field_value alone says which order it ends")
        if self.transaction != "D/C" and (self.field_name is None) != (self.field_value is None):
            raise ValueError("field_name and field_value go together")
        return self

    def _check_result(self) -> None:
        if (self.value is not None) + self.null_value + (self.text is not None) != 1:
            raise ValueError("a lab has either a value or null_value = true, or a text")
        if self.text is not None and self.specimen is None:
            raise ValueError("a result in words stands beside a number of its specimen")

    def _check_culture(self) -> None:
        if self.cancelled and (self.organism is not None or self.antibiotics is not None):
            raise ValueError("a cancelled culture has no organism and no antibiotics")
        if self.antibiotics is not None and self.organism is None:
            raise ValueError("antibiotics are those of an organism")
        if self.specimen_key is not None and self.every is not None:
            raise ValueError("the cultures of a series share no specimen_key")

    def offsets(self) -> Iterator[timedelta]:
        """The offsets from T of all rows of the event."""
        at = self.at
        yield at
        if self.every is not None and self.until is not None:
            while (at := at + self.every) <= self.until:
                yield at


class Suppression(Strict):
    """Background rows that are not written for the patient, so that the plant decides."""

    source: Source
    items: tuple[int, ...] | None = None
    names: Names | None = None
    from_: Offset = Field(alias="from")
    to: Offset
    follow: bool = False
    whole_specimen: bool = False

    @model_validator(mode="after")
    def _check_labs(self) -> "Suppression":
        if (self.follow or self.whole_specimen) and self.source != "hosp.labevents":
            raise ValueError("follow and whole_specimen are for hosp.labevents")
        return self

    def drops(self, source: str, offset: timedelta, item: int | None, name: str | None) -> bool:
        """Whether a background row of `source` at `offset` from T is left out."""
        if source != self.source or not self.from_ <= offset <= self.to:
            return False
        if self.items is not None and item not in self.items:
            return False
        return self.names is None or (name is not None and self.names.search(name) is not None)
