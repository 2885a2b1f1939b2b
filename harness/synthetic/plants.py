"""The plants of a scenario: timed events that realise each verdict in a synthetic chart.

A scenario's `plants.toml` holds one `[[plant]]` for every variant of a case. Times are offsets from T,
the scenario's index time: `-20h`, `+4h40m`, `+12m`, `-6d`, `+1d2h`, `+0h`. The generator writes an
ordinary chart around T first, leaves out what `suppress` names, then lays the events over it.

Anchors say where T lies: `icu` is the intime of the patient's first ICU stay; `unit` lies inside an ICU
stay, away from both ends; `ward` lies inside an inpatient stay on a ward; `ed` lies in an emergency
visit that becomes an admission, before the move to a unit; `theatre` is the arrival in an ICU from the
operating room (225469 at T; 225470 before it where the patient was in the ICU before), with a urinary
catheter in; `admission` is the admittime and `discharge` the dischtime, alive, of an admission.

How many patients carry a plant follows from the scenario's mix: each verdict's share, and some to
spare, is dealt out over the plants of that verdict in proportion to their `share` (1 by default); every
plant is carried by somebody.

A plant may be carried by many patients. `jitter_minutes` moves an event (its `at`, `stored` and `ends`
together) by up to so many minutes either way, `jitter_value` its value by up to so much, drawn anew for
each patient and each row of a series; both default to 0. What is charted or infused in whole
numbers, value and jitter, stays whole. Keep them small enough that no threshold and
no window's edge is crossed. T itself falls at a different hour in every chart.

Without `suppress` the background is full: in an ICU hourly vitals and urine, a weight, labs four times
a day, eMAR rows and infusions all day; on a ward labs each morning, and eMAR rows all day; in an ED one
round of labs and a few eMAR rows. A suppression drops the background's rows of `source` with one of
`items` (or a drug, medication, specimen, order or result name that matches the regular expression `names`,
case-insensitive; with neither: every row) whose event time lies in [from, to]. Orders behind a
suppressed administration stay unless they are suppressed by themselves. A chart copy of a lab follows
its lab: suppressing the lab suppresses its copy, and a planted lab drawn in an ICU gets one.

Of an infusion or procedure `jitter_ends_minutes` moves the end alone; `jitter_rate` changes an infusion's rate by up to that share
of it; the amount follows rate and time (of blood the rate follows amount and time). Rows of one item that meet
at an offset meet wherever the jitter has moved it.

Charts are kept as the background keeps them. `on_the_hour` notes outputs at whole hours, and
now and then an hour is missed and joins the next; those and outputs with a `jitter_value` are read off
in steps of 5 ml. `jitter_draw_minutes` moves a lab's draw alone, so that a result known at a fixed
moment has no fixed turnaround. Of a suppression of labs,
`follow` keeps the background's rows from the plant's first value of their item on and gives them values
on the straight line between the plant's values (the last one holds), and `whole_specimen` drops every
row of a specimen that loses one, since no laboratory runs a panel without its commonest test.

What the background gives follows from the `use` of a drug in `reference/drugs.csv`. A drug that only plants
order and give has the use `asked`; a drug that no row names is written as it is called.

A `hosp.poe` event is an order that is no drug: `order_type` and `subtype`, and one detail. `transaction`
"Change" replaces the order of that type in force then, "D/C" ends it (of several, the one with the detail
`field_value`) and has no detail of its own; the two are tied. Orders are suppressed by the `names` that
"order_type subtype field_value" matches, and the end of an order goes with it. Suppressing a line of
`icu.procedureevents` takes its dates (insertion, removal) out of `icu.datetimeevents`, but not its urine.
A planted ventilation (225792) is the chart's only one: the background's intubation, extubation and other
ventilations are not written, and its airway, sedation, FiO2 and PEEP follow the first planted one.

A culture grows its `organism`, or nothing. `antibiotics = {"CEFTRIAXONE" = "R", "AMIKACIN" = "S"}` writes
one row for each, `{}` none; without it the organism has its usual ones. Events with one `specimen_key` are
organisms of one specimen, collected and reported when the first of them says. `date_only` leaves the time of
collection out, `cancelled` reports the specimen as cancelled. Specimens, tests, organisms and antibiotics
are those of `reference/`; rows with the share 0 in `reference/cultures.csv` are only ever planted.

`ed.pyxis` is a drug taken from the cabinet of an emergency department and must lie in a visit there.
`hosp.omr` is a measurement of the clinic, `name` its result_name and `text` its result_value ("Height
(Inches)", "65"; "Weight (Lbs)"); it has a day and no time, and suppression takes a day as its midnight.

`ecg.machine_measurements` is an ECG, its `rr_interval`, `qrs_onset`, `qrs_end` and `t_end` in milliseconds as
the module has them (29999 for what was not measured), at `at`, to the minute; its record, its P wave and its
statements are made up for it. `jitter_value` moves QRS onset, QRS width and QT each by up to so many milliseconds,
the RR interval by up to four times that. Background ECGs are suppressed by the source alone.

A planted lab brings the rest of its tube's panel (a creatinine the electrolytes, a lactate often the blood
gas), except what the plant suppresses at that time; one without a value comes alone. Items must be in the
tables under `reference/`. Without `stored`, results follow 3 to 95 minutes after the draw, infusions and
procedures are noted within 40 minutes of their start.
"""

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from harness.errors import ScenarioError
from harness.synthetic.events import Event, Strict, Suppression
from harness.synthetic.plant_parts import (
    Diagnosis,
    Earlier,
    Presence,
    Profile,
    Radiology,
    StayBounds,
    Summary,
)
from mcp_mimic.text.slips import first_slip

Verdict = Literal["yes", "no", "lack_of_data", "medical_ambiguity"]
_SEE = "docs/adding-a-scenario.md states every key"


class Plant(Strict):
    """One variant of a case and the verdict that adjudication must give it."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    verdict: Verdict
    anchor: Literal["icu", "unit", "ward", "ed", "theatre", "admission", "discharge"]
    share: int = Field(default=1, ge=1)
    profile: Profile = Profile()
    stay: StayBounds = StayBounds()
    presence: Presence = Presence()
    suppress: tuple[Suppression, ...] = ()
    event: tuple[Event, ...] = ()
    diagnosis: tuple[Diagnosis, ...] = ()
    earlier: Earlier | None = None
    summary: Summary = Summary()
    earlier_summary: Summary = Summary()
    radiology: tuple[Radiology, ...] = ()

    @model_validator(mode="after")
    def _check_admissions(self) -> "Plant":
        index, earlier = self.icd_version("index"), self.icd_version("earlier")
        if self.earlier is None and earlier is not None:
            raise ValueError("a diagnosis of an earlier admission needs [plant.earlier]")
        if self.earlier is None and "earlier_summary" in self.model_fields_set:
            raise ValueError("the summary of an earlier admission needs [plant.earlier]")
        if self.earlier is not None and self.presence.first_admission:
            raise ValueError("first_admission and [plant.earlier] exclude each other")
        if (index, earlier) == (9, 10):
            raise ValueError("codes of version 10 do not precede those of version 9")
        return self

    @model_validator(mode="after")
    def _check_anchor(self) -> "Plant":
        here, presence = self.anchor in ("icu", "unit", "theatre"), self.presence
        says = (presence.discharged, presence.died, presence.icu_from, presence.icu_until)
        if self.anchor == "discharge" and any(offset is not None for offset in says):
            raise ValueError("anchor discharge excludes discharged, died, icu_from and icu_until")
        if here and (presence.ward_only or presence.icu_from is not None):
            raise ValueError(f"anchor {self.anchor} excludes ward_only and icu_from")
        if presence.icu_until is not None and not here and presence.icu_from is None:
            raise ValueError(f"anchor {self.anchor} knows icu_until only together with icu_from")
        if self.stay.days_before is not None and self.anchor in ("ed", "admission", "discharge"):
            raise ValueError(f"anchor {self.anchor} excludes days_before")
        if self.stay.icu_hours_before is not None and self.anchor != "unit":
            raise ValueError(f"anchor {self.anchor} excludes icu_hours_before")
        if presence.icu_until is not None and here and presence.icu_until <= timedelta(0):
            raise ValueError("the ICU stay that holds T ends after T")
        return self

    def icd_version(self, admission: str) -> int | None:
        """The version of the codes that the plant gives an admission; None if it gives none."""
        versions = {code.version for code in self.diagnosis if code.admission == admission}
        if len(versions) > 1:
            raise ValueError("the codes of one admission are of one version")
        return versions.pop() if versions else None

    def drops(self, source: str, offset: timedelta, item: int | None = None, name: str | None = None) -> bool:
        """Whether any suppression leaves out that background row."""
        return self.suppression(source, offset, item, name) is not None

    def suppression(
        self, source: str, offset: timedelta, item: int | None = None, name: str | None = None
    ) -> Suppression | None:
        """The first suppression that leaves out that background row."""
        return next((rule for rule in self.suppress if rule.drops(source, offset, item, name)), None)

    def course(self, item: int, offset: timedelta) -> float | None:
        """The plant's value of a lab item at that offset from T: on the line between two planted values,
        the last one after them, None before the first.
        """
        points = sorted(
            (at, event.value)
            for event in self.event
            if event.source == "hosp.labevents" and event.item == item and event.value is not None
            for at in event.offsets()
        )
        before = [point for point in points if point[0] <= offset]
        after = [point for point in points if point[0] > offset]
        if not before or not after:
            return before[-1][1] if before else None
        (left, low), (right, high) = before[-1], after[0]
        return low + (high - low) * ((offset - left) / (right - left))


def read_plants(path: Path) -> tuple[Plant, ...]:
    """The plants of a `plants.toml`; ScenarioError names file, plant and key."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}", "add the file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path} is not TOML: {error}", "correct the syntax at that place") from error
    if foreign := sorted(set(content) - {"plant"}):
        raise ScenarioError(f"{path} has an unknown key {foreign[0]}", f"begin plants with [[plant]]; {_SEE}")
    written = content.get("plant", [])
    if not isinstance(written, list):
        raise ScenarioError(f"{path}: plant is one table", f"begin every plant with [[plant]]; {_SEE}")
    plants = tuple(_parse_plant(path, raw) for raw in written)
    repeated = {plant.id for plant in plants if [other.id for other in plants].count(plant.id) > 1}
    if not plants or repeated:
        problem = f"has more than one plant {min(repeated)}" if repeated else "has no [[plant]]"
        raise ScenarioError(f"{path} {problem}", "give every plant an id of its own")
    return plants


def _parse_plant(path: Path, raw: Any) -> Plant:
    if not isinstance(raw, dict):
        raise ScenarioError(f"{path}: plant is no list of tables", "begin every plant with [[plant]]")
    where = f"{path}, plant {raw.get('id', '?')!r}"
    try:
        return Plant.model_validate(raw)
    except ValidationError as error:
        slip = first_slip(error, Plant, raw)
        raise ScenarioError(
            f"{where}{', ' if slip.place else ': '}{slip}",
            f"{slip.remedy}{'' if slip.remedy.endswith('?') else ';'} {_SEE}",
        ) from error
    except OverflowError as error:
        raise ScenarioError(f"{where}: a time is too far from T", _SEE) from error
