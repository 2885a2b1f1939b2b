"""What a plant says of its patient: who it is, where it is when, and its codes and notes.

`presence.icu_until` ends the ICU stay that holds T (or that `icu_from` opens), whatever `icu_hours` says,
and the patient goes on to a ward. `emar_from` and `emar_until` take every eMAR row before and after them
out of the chart, as in a unit that has no such record; `first_admission` leaves out earlier admissions.
`profile.height_cm` is charted in centimetres (226730) and inches (226707).

`[[plant.diagnosis]]` is a code without its dot: `code`, `version`, its place `seq`, and `admission`, "index"
(the default) or "earlier". Codes must be in `reference/codes.csv`; those with the archetype `asked` are only
ever planted. The codes of an index admission are of one version, which the patient's years follow. Background
codes are suppressed in `hosp.diagnoses_icd` by the `names` that "code title" matches ("^(I1[0-5]|40[1-5])"),
at the time of discharge. `[plant.earlier]` is an admission that ended `days` before the index one, with a
summary of its own; without it some patients have one, 20 to 300 days before, unless `first_admission` is set.

`[plant.summary]` and `[plant.earlier_summary]` are the discharge summaries of the index and of the earlier
admission: `absent = true`; `allergies`, the text after "Allergies:" (of all the patient's summaries);
`admission_medications` and `discharge_medications`, items such as "Apixaban 5 mg PO BID" among those of the
background, which come from the orders of the chart (planted ones too); `without_medications`, what is taken
out of the background's items in both lists; `without_sections`, sections left out with their headings;
`sentences`, by section, woven into it; `without_text`, sentences, lines and list items of the background that
are left out of every section, copied text included. A section is named by a part of its heading ("hospital
course", "pertinent results", "history of present illness", "past medical history", "discharge medications").
The background names no ejection fraction; one home medication may stand as "HELD-" in the list. Long lines are
broken at 72 characters, in planted sentences too. `[[plant.radiology]]` is a report of an `exam` (a chest film
by default) at `at`, with `text` among its findings, and `impression` as its impression. Background summaries
(at the time of discharge) are suppressed in `note.discharge` by their window, reports in `note.radiology` by
window and by the `names` of their examinations.
"""

from collections.abc import Mapping
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from harness.synthetic.events import Names, Offset, Strict

Weight = Annotated[float, Field(ge=30, le=250)]
Height = Annotated[int, Field(ge=130, le=215)]
_MINUTE = timedelta(minutes=1)
SECTIONS = (
    "chief complaint",
    "major surgical or invasive procedure",
    "history of present illness",
    "past medical history",
    "family history",
    "physical exam",
    "pertinent results",
    "brief hospital course",
    "medications on admission",
    "discharge medications",
    "discharge disposition",
    "discharge diagnosis",
    "discharge condition",
    "discharge instructions",
    "followup instructions",
    "allergies",
)


def _check_section(name: str) -> str:
    if not any(name.lower() in section for section in SECTIONS):
        raise ValueError(f"{name!r} is no section of a discharge summary, which has {', '.join(SECTIONS)}")
    return name.lower()


SectionName = Annotated[str, BeforeValidator(_check_section)]
Condition = Literal[
    "infection",
    "sepsis",
    "cardiac",
    "surgical",
    "trauma",
    "neuro",
    "bleeding",
    "airway",
    "kidney",
    "potassium",
    "dialysis",
    "heart_failure",
    "fibrillation",
    "syncope",
    "respiratory",
    "diabetes",
]


class Profile(Strict):
    """What must be so about the patient; the rest is drawn.

    `weight_kg` and `height_cm` are ranges, lowest and highest. A height that is asked for is charted in
    every ICU stay, else in most of them; the clinic's records have it now and then. `conditions` are what
    the patient may be in hospital for, one of them.
    """

    sex: Literal["F", "M"] | None = None
    age: int | None = Field(default=None, ge=18, le=88)
    weight_kg: tuple[Weight, Weight] | None = None
    height_cm: tuple[Height, Height] | None = None
    conditions: tuple[Condition, ...] | None = Field(default=None, min_length=1)


class StayBounds(Strict):
    """Lower bounds of the first ICU stay's length, the admission's, and the days in hospital before T.

    `icu_hours_before` is how long the patient has been in the ICU at T, of the anchor `unit` only.
    """

    icu_hours: float | None = Field(default=None, gt=0)
    admission_days: float | None = Field(default=None, gt=0)
    days_before: float | None = Field(default=None, gt=0)
    icu_hours_before: float | None = Field(default=None, gt=0)


class Presence(Strict):
    """Where the patient is: offsets from T of leaving, dying, reaching the ICU and moving on from it to a
    ward; when the administration record begins and ends, or that the chart has none; no earlier admission.
    """

    discharged: Offset | None = None
    died: Offset | None = None
    icu_from: Offset | None = None
    icu_until: Offset | None = None
    ward_only: bool = False
    emar: bool = True
    emar_from: Offset | None = None
    emar_until: Offset | None = None
    first_admission: bool = False

    @model_validator(mode="after")
    def _check_that_t_is_before(self) -> "Presence":
        for key in ("discharged", "died", "icu_from"):
            offset = getattr(self, key)
            if offset is not None and offset < _MINUTE:
                raise ValueError(f"{key} must lie a minute or more after T, where the anchor has the patient")
        return self

    @model_validator(mode="after")
    def _check_consistency(self) -> "Presence":
        for one, other in (
            ("ward_only", "icu_from"),
            ("ward_only", "icu_until"),
            ("discharged", "died"),
        ):
            if self._says(one) and self._says(other):
                raise ValueError(f"{one} and {other} exclude each other")
        if not self.emar and (self._says("emar_from") or self._says("emar_until")):
            raise ValueError("a chart without eMAR has no emar_from and no emar_until")
        marks = [self.icu_from, self.icu_until, self.discharged, self.died]
        known = [mark for mark in marks if mark is not None]
        if any(later <= earlier for earlier, later in pairwise(known)):
            raise ValueError("icu_from, icu_until and leaving follow each other")
        return self

    def _says(self, key: str) -> bool:
        return getattr(self, key) not in (None, False)


class Diagnosis(Strict):
    """A code of the index admission or of the earlier one; `seq` is its place, drawn if there is none."""

    code: str = Field(pattern=r"^[A-Z0-9]{3,7}$")
    version: Literal[9, 10]
    seq: int | None = Field(default=None, ge=1)
    admission: Literal["index", "earlier"] = "index"


class Earlier(Strict):
    """An admission that ended so many days before the patient came for the index admission."""

    days: int = Field(ge=2, le=3000)


class Summary(Strict):
    """What a discharge summary says; the rest of it is the background's."""

    absent: bool = False
    allergies: str | None = None
    admission_medications: tuple[str, ...] = ()
    discharge_medications: tuple[str, ...] = ()
    without_medications: Names | None = None
    without_sections: tuple[SectionName, ...] = ()
    sentences: Mapping[SectionName, tuple[str, ...]] = {}
    without_text: Names | None = None


class Radiology(Strict):
    """A report of an examination at a time; `text` stands among its findings."""

    at: Offset
    text: str
    exam: str | None = None
    impression: str | None = None
