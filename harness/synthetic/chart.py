"""One patient's chart in the making: who, where, and the rows so far."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from harness.synthetic.dictionaries import caregivers, providers
from harness.synthetic.draws import generator
from harness.synthetic.ids import Ids
from harness.synthetic.people import Person, draw_person
from harness.synthetic.plan import Case
from harness.synthetic.stays import Admission, Segment, draw_admissions

_VENTILATION = 225792
_THEATRE = (225470, 225469)
_FROM_THE_DOOR = ("ketoacidosis", "haemorrhage", "respiratory", "sodium")
_LATER = {"warfarin": timedelta(hours=32)}
_EARLIER = {"platelets": timedelta(hours=28)}
"""Conditions that bring the patient to the ICU, those that show so long after admission, and those that begin so
long before T that they show about then.
"""
_INTUBATED_LATER = 0.05
"""Of the ventilated, how many are not so from the door: intubations in the ICU mostly are a plant's."""

Row = dict[str, Any]
"""Official columns by name; keys that begin with `_` tie rows together and are not written."""


@dataclass
class Chart:
    """A patient and the rows written about them, by qualified table name."""

    seed: int
    case: Case
    ids: Ids
    person: Person
    index_time: datetime
    admissions: list[Admission]
    rows: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))

    def rng(self, part: str) -> Random:
        """The generator of random numbers of one part of the chart; parts do not disturb each other."""
        return generator(self.seed, self.case.key, part)

    def add(self, table: str, row: Row) -> Row:
        """Write a row of the patient."""
        row["subject_id"] = self.person.subject_id
        self.rows[table].append(row)
        return row

    @property
    def onset(self) -> datetime:
        """The time around which the illness shows: mostly T."""
        admission, condition = self.index_admission, self.person.condition
        if condition in _FROM_THE_DOOR:
            return admission.icu[0].start if admission.icu else admission.arrived + timedelta(hours=1)
        if condition in _LATER:
            return admission.admitted + _LATER[condition]
        if condition in _EARLIER:
            return self.index_time - _EARLIER[condition]
        if self.case.anchor == "discharge":
            return admission.arrived + timedelta(hours=8)
        return self.index_time

    @property
    def index_admission(self) -> Admission:
        """The admission that holds T, its emergency visit included."""
        return next(a for a in self.admissions if a.arrived <= self.index_time <= a.discharged)

    def admission_at(self, time: datetime) -> Admission | None:
        """The admission that the time lies in, from admittime to dischtime."""
        return next((a for a in self.admissions if a.admitted <= time <= a.discharged), None)

    def icu_at(self, time: datetime) -> tuple[Admission, Segment] | None:
        """The ICU stay that the time lies in, with its admission."""
        return next(((a, s) for a, s in self.icu_stays() if s.start <= time <= s.end), None)

    def icu_stays(self) -> Iterator[tuple[Admission, Segment]]:
        """All ICU stays with their admissions, by time."""
        for admission in self.admissions:
            for segment in admission.icu:
                yield admission, segment

    def records_doses(self, time: datetime) -> bool:
        """Whether the administration record may be in use at that time."""
        begins, ends = self.case.presence.emar_from, self.case.presence.emar_until
        after = begins is None or time >= self.index_time + begins
        return after and (ends is None or time <= self.index_time + ends)

    def ventilated(self, stay: Segment) -> tuple[datetime, datetime] | None:
        """When the patient is on a ventilator in that stay: as the plant says, if it says anything of it."""
        if self.plants_ventilation:
            return self._planted_ventilation(stay)
        rng = self.rng(f"ventilation {stay.stay_id}")
        needed = self.case.plant is None and self.person.condition == "respiratory"
        if rng.random() > 0.4 and not needed:
            return None
        late = rng.random() < _INTUBATED_LATER and not needed
        wait = rng.randint(14 * 60, 26 * 60) if late else rng.randint(5, 110)
        start = minute(stay.start + timedelta(minutes=wait))
        end = start + timedelta(minutes=rng.randint(420, 3600) + 1500 * needed)
        latest = stay.end - timedelta(hours=2)
        return (start, min(end, minute(latest))) if start < latest else None

    @property
    def plants_ventilation(self) -> bool:
        """Whether the plant says when the patient is on a ventilator."""
        events = self.case.plant.event if self.case.plant else ()
        return any(event.item == _VENTILATION for event in events)

    def _planted_ventilation(self, stay: Segment) -> tuple[datetime, datetime] | None:
        for event in self.case.plant.event if self.case.plant else ():
            start = self.index_time + event.at
            if event.item == _VENTILATION and stay.start <= start <= stay.end:
                end = stay.end if event.ends is None else min(self.index_time + event.ends, stay.end)
                return minute(start), minute(end)
        return None

    def catheter(self, stay: Segment) -> tuple[datetime, datetime] | None:
        """When a urinary catheter is in during that stay."""
        rng = self.rng(f"catheter {stay.stay_id}")
        if self._returns_to(stay):
            begins = max(stay.start, self.index_time - timedelta(minutes=rng.randint(0, 300)))
            removed = self.index_time + timedelta(minutes=rng.randint(14 * 60, 80 * 60))
            return minute(begins), minute(stay.end if rng.random() < 0.4 else min(removed, stay.end))
        if rng.random() > 0.8:
            return None
        hours = (stay.end - stay.start) / timedelta(hours=1)
        end = stay.end if rng.random() < 0.6 else stay.start + timedelta(hours=rng.uniform(0.6, 1) * hours)
        return minute(stay.start), minute(end)

    def limited_from(self, admission: Admission) -> datetime | None:
        """When treatment is limited to less than resuscitation: for some of the old, never near T."""
        rng = self.rng(f"limits {admission.hadm_id}")
        chance = 0.12 if self.person.anchor_age >= 75 else 0.03
        time = admission.admitted + (admission.discharged - admission.admitted) * rng.uniform(0.05, 0.9)
        near = abs(time - self.index_time) < timedelta(hours=16)
        return minute(time) if rng.random() < chance and not near else None

    def _returns_to(self, stay: Segment) -> bool:
        """Whether T is the return from the operating room to that stay."""
        return self.case.anchor == "theatre" and stay.start <= self.index_time <= stay.end

    def operation(self, stay: Segment) -> tuple[datetime, datetime] | None:
        """When the patient is in the operating room during that stay.

        It is never near the index time nor while the plant's rows are written, and only where the plant has
        none of its own, unless T is the return: then the patient may have come to the ICU from the operating
        room, and the stay begins while the patient is still there.
        """
        rng = self.rng(f"operation {stay.stay_id}")
        if self._returns_to(stay):
            return max(stay.start, self.index_time - timedelta(minutes=rng.randint(90, 360))), self.index_time
        sent = minute(stay.start + timedelta(hours=rng.uniform(10, 60)))
        received = sent + timedelta(minutes=rng.randint(70, 300))
        planted = self.case.plant.event if self.case.plant else ()
        if any(event.item in _THEATRE for event in planted):
            return None
        moments = (self.index_time + offset for event in planted for offset in event.offsets())
        if any(sent < moment < received for moment in moments):
            return None
        surgical = self.person.condition in ("surgical", "trauma", "bleeding") and rng.random() < 0.4
        near = abs(sent - self.index_time) < timedelta(hours=16)
        fits = received < stay.end - timedelta(hours=4)
        return (sent, received) if surgical and fits and not near else None


def minute(time: datetime) -> datetime:
    """The time without its seconds."""
    return time.replace(second=0, microsecond=0)


def pick_caregiver(rng: Random) -> int:
    """A caregiver of the house."""
    return rng.choice(caregivers())


def pick_provider(rng: Random) -> str:
    """A provider of the house."""
    return rng.choice(providers())


def open_chart(case: Case, seed: int) -> Chart:
    """Draw the patient, the index time and the admissions of a case."""
    ids = Ids(seed, case.index)
    rng = generator(seed, case.key, "person")
    day = datetime(rng.randint(2113, 2192), 1, 1) + timedelta(days=rng.randrange(365))
    second = rng.randrange(60) if case.anchor == "icu" else 0
    index_time = day + timedelta(minutes=rng.randrange(1440), seconds=second)
    person = draw_person(case, ids.next("subject"), index_time, rng)
    stays = generator(seed, case.key, "stays")
    admissions = draw_admissions(case, person.condition, index_time, ids, stays)
    return Chart(seed, case, ids, person, index_time, admissions)
