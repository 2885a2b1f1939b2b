"""Where a patient is and when: admissions as chains of segments, drawn around the index time."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from harness.synthetic.ids import Ids
from harness.synthetic.plan import Case
from harness.synthetic.plant_parts import Presence, StayBounds

_ICU_UNITS = {
    "cardiac": "Coronary Care Unit (CCU)",
    "heart_failure": "Coronary Care Unit (CCU)",
    "fibrillation": "Coronary Care Unit (CCU)",
    "surgical": "Surgical Intensive Care Unit (SICU)",
    "trauma": "Trauma SICU (TSICU)",
    "neuro": "Neuro Surgical Intensive Care Unit (Neuro SICU)",
}
_MIXED_ICUS = (
    "Medical Intensive Care Unit (MICU)",
    "Medical/Surgical Intensive Care Unit (MICU/SICU)",
)
_WARDS = ("Medicine", "Med/Surg", "Medicine/Cardiology", "Neurology", "Hematology/Oncology", "Transplant")
_ICU_AFTER_WARD = 0.35
_LONGEST_ICU = timedelta(days=9)


@dataclass(frozen=True)
class Segment:
    """A stretch in one unit; `kind` is ed, ward, pacu or icu, and `stay_id` belongs to icu only."""

    kind: str
    unit: str
    start: datetime
    end: datetime
    transfer_id: int
    stay_id: int | None = None

    def holds(self, time: datetime) -> bool:
        """Whether the time lies in the segment."""
        return self.start <= time < self.end


@dataclass(frozen=True)
class Admission:
    """An admission; an ED segment may begin before `admitted`."""

    hadm_id: int
    admitted: datetime
    discharged: datetime
    died: bool
    segments: tuple[Segment, ...]

    @property
    def arrived(self) -> datetime:
        """The first moment of the visit, in the ED or not."""
        return min(self.admitted, self.segments[0].start)

    @property
    def ed(self) -> Segment | None:
        """The emergency visit that led to the admission."""
        return self.segments[0] if self.segments[0].kind == "ed" else None

    @property
    def icu(self) -> tuple[Segment, ...]:
        """The ICU stays."""
        return tuple(segment for segment in self.segments if segment.kind == "icu")


@dataclass
class _Path:
    """Marks (kind, start) of an admission in the making, its end, and its admittime where that is T."""

    marks: list[tuple[str, datetime]]
    end: datetime
    admitted: datetime | None = None


def draw_admissions(
    case: Case, condition: str, index_time: datetime, ids: Ids, rng: Random
) -> list[Admission]:
    """All admissions of the patient by time; the index time lies in one of them as the anchor demands."""
    presence = case.presence
    path = _draw_path(case.anchor, index_time, case.bounds, presence, rng)
    dies = rng.random() < 0.05 and presence.discharged is None and case.anchor != "discharge"
    last = max((event.until or event.at for event in case.plant.event), default=None) if case.plant else None
    outlived = last is None or index_time + last < path.end
    died = presence.died is not None or (dies and outlived)
    leaving = presence.died if presence.died is not None else presence.discharged
    if leaving is not None:
        path.end = index_time + leaving
        path.marks = [mark for mark in path.marks if mark[1] < path.end]
    index = _admission(path, condition, died, ids, rng, moves_on=presence.icu_until is not None)
    returns = rng.random() < 0.3 and not presence.first_admission
    asked = case.plant.earlier if case.plant else None
    days = asked.days if asked else rng.randint(20, 300) if returns else None
    earlier = [] if days is None else [_earlier(index.arrived, days, condition, ids, rng)]
    later = [_later(index.discharged, condition, ids, rng)] if rng.random() < 0.25 and not died else []
    return [*earlier, index, *later]


def _hours(rng: Random, low: float, high: float) -> timedelta:
    return timedelta(seconds=round(rng.uniform(low, high) * 3600))


def _draw_path(
    anchor: str, index_time: datetime, bounds: StayBounds, presence: Presence, rng: Random
) -> _Path:
    if anchor in ("icu", "unit"):
        hours = max(14.0, bounds.icu_hours_before or 0)
        lead = timedelta(0) if anchor == "icu" else _hours(rng, hours, hours + 12)
        out = None if presence.icu_until is None else index_time + presence.icu_until
        path = _icu_path(index_time - lead, lead, bounds, out, rng)
    elif anchor == "theatre":
        path = _theatre_path(index_time, bounds, presence, rng)
    elif anchor == "ward":
        path = _ward_path(index_time, presence, rng)
    elif anchor == "admission":
        path = _arrival_path(index_time, presence, rng)
    elif anchor == "discharge":
        return _leaving_path(index_time, bounds, presence, rng)
    else:
        path = _ed_path(index_time, presence, rng)
    if bounds.days_before:
        _come_earlier(path, index_time - timedelta(days=bounds.days_before) - _hours(rng, 1, 20))
    shortest = path.marks[0][1] + timedelta(days=bounds.admission_days or 0)
    path.end = max(path.end, shortest + _hours(rng, 1, 20))
    return path


def _come_earlier(path: _Path, start: datetime) -> None:
    """Let the stay begin at `start` if it began later: the time until the next unit is spent on a ward."""
    marks, earlier = path.marks, path.marks[0][1] - start
    if earlier <= timedelta(0):
        return
    if marks[0][0] != "ed":
        path.marks = [("ward", start), *(marks[1:] if marks[0][0] == "ward" else marks)]
    else:
        after = marks[2:] if marks[1][0] == "ward" else marks[1:]
        path.marks = [("ed", start), ("ward", marks[1][1] - earlier), *after]


def _icu_hours(rng: Random, least: float) -> timedelta:
    drawn = min(190.0, 26 + rng.expovariate(1 / 44))
    return _hours(rng, max(drawn, least), max(drawn, least) + 8)


def _icu_path(
    start: datetime, lead: timedelta, bounds: StayBounds, until: datetime | None, rng: Random
) -> _Path:
    least = max(bounds.icu_hours or 0, lead.total_seconds() / 3600 + 20)
    drawn = _icu_hours(rng, least)
    out = until or start + drawn
    marks = [("icu", start), ("ward", out)]
    route = rng.choices(("ed", "ward", "pacu"), (5, 3, 2))[0]
    if route == "ed":
        marks.insert(0, ("ed", start - _hours(rng, 3, 10)))
    elif route == "pacu":
        marks.insert(0, ("pacu", start - _hours(rng, 2, 6)))
        marks.insert(0, ("ward", marks[0][1] - _hours(rng, 3, 30)))
    else:
        marks.insert(0, ("ward", start - _hours(rng, 14, 72)))
        if rng.random() < 0.6:
            marks.insert(0, ("ed", marks[0][1] - _hours(rng, 4, 10)))
    return _Path(marks, out + _hours(rng, 20, 96))


def _theatre_path(index_time: datetime, bounds: StayBounds, presence: Presence, rng: Random) -> _Path:
    """The ICU stay begins when the patient is expected back, or held the patient before the operation too."""
    before = rng.random() < 0.35
    start = index_time - (_hours(rng, 9, 40) if before else _hours(rng, 0, 0.4))
    drawn = _icu_hours(rng, bounds.icu_hours or 0)
    out = index_time + (drawn if presence.icu_until is None else presence.icu_until)
    marks = [("ward", start - _hours(rng, 6, 40)), ("icu", start), ("ward", out)]
    if rng.random() < 0.5:
        marks.insert(0, ("ed", marks[0][1] - _hours(rng, 4, 10)))
    return _Path(marks, out + _hours(rng, 20, 96))


def _arrival_path(index_time: datetime, presence: Presence, rng: Random) -> _Path:
    marks = [("ward", index_time)]
    if rng.random() < 0.6:
        marks = [("ed", index_time - _hours(rng, 1.5, 7)), ("ward", index_time + _hours(rng, 0.5, 4))]
        if presence.icu_from is not None and index_time + presence.icu_from <= marks[1][1]:
            marks.pop()
    later_icu = rng.random() < _ICU_AFTER_WARD
    icu = index_time + _hours(rng, 20, 50)
    end = index_time + _hours(rng, 48, 180)
    path = _with_icu(marks, icu if later_icu else None, end, index_time, presence, rng)
    path.admitted = index_time
    return path


def _leaving_path(index_time: datetime, bounds: StayBounds, presence: Presence, rng: Random) -> _Path:
    to_icu = (bounds.icu_hours is not None or rng.random() < _ICU_AFTER_WARD) and not presence.ward_only
    stay, after = _hours(rng, 26, 70), _hours(rng, 14, 70)
    stay = max(stay, timedelta(hours=bounds.icu_hours or 0))
    before = _hours(rng, 14, 40) if to_icu else _hours(rng, 40, 140)
    least = timedelta(days=bounds.admission_days or 0) + _hours(rng, 1, 20)
    length = max(before + after + (stay if to_icu else timedelta(0)), least)
    marks = [("ward", index_time - length)]
    if to_icu:
        marks += [("icu", index_time - after - stay), ("ward", index_time - after)]
    if rng.random() < 0.6:
        marks.insert(0, ("ed", marks[0][1] - _hours(rng, 4, 10)))
    return _Path(marks, index_time)


def _ward_path(index_time: datetime, presence: Presence, rng: Random) -> _Path:
    marks = [("ward", index_time - _hours(rng, 18, 44))]
    if rng.random() < 0.6:
        marks.insert(0, ("ed", marks[0][1] - _hours(rng, 4, 10)))
    later_icu = rng.random() < _ICU_AFTER_WARD
    icu = index_time + _hours(rng, 30, 60)
    end = index_time + _hours(rng, 36, 150)
    return _with_icu(marks, icu if later_icu else None, end, index_time, presence, rng)


def _ed_path(index_time: datetime, presence: Presence, rng: Random) -> _Path:
    start = index_time - _hours(rng, 0.7, 2.5)
    out = index_time + _hours(rng, 4, 9)
    to_icu = rng.random() < _ICU_AFTER_WARD
    end = out + _hours(rng, 40, 150)
    marks = [("ed", start)]
    if not to_icu or presence.ward_only or presence.icu_from is not None:
        if presence.icu_from is None or index_time + presence.icu_from > out:
            marks.append(("ward", out))
        return _with_icu(marks, None, end, index_time, presence, rng)
    return _with_icu(marks, out, end, index_time, presence, rng)


def _with_icu(
    marks: list[tuple[str, datetime]],
    icu: datetime | None,
    end: datetime,
    index_time: datetime,
    presence: Presence,
    rng: Random,
) -> _Path:
    stay, back = _icu_hours(rng, 0), _hours(rng, 20, 100)
    if presence.ward_only:
        icu = None
    elif presence.icu_from is not None:
        icu = index_time + presence.icu_from - timedelta(seconds=rng.randrange(60))
    if icu is None:
        return _Path(marks, end)
    if presence.icu_until is not None:
        stay = index_time + presence.icu_until - icu
    return _Path([*marks, ("icu", icu), ("ward", icu + stay)], icu + stay + back)


def _earlier(before: datetime, days: int, condition: str, ids: Ids, rng: Random) -> Admission:
    end = before - timedelta(days=days) - _hours(rng, 0, 20)
    start = end - _hours(rng, 40, 160)
    marks = [("ed", start), ("ward", start + _hours(rng, 4, 10))]
    return _admission(_Path(marks, end), condition, False, ids, rng)


def _later(after: datetime, condition: str, ids: Ids, rng: Random) -> Admission:
    start = after + timedelta(days=rng.randint(8, 200)) + _hours(rng, 0, 24)
    marks = [("ed", start), ("ward", start + _hours(rng, 4, 10))]
    if rng.random() < 0.3:
        marks.append(("icu", marks[1][1] + _hours(rng, 10, 40)))
        marks.append(("ward", marks[2][1] + _icu_hours(rng, 0)))
    return _admission(_Path(marks, marks[-1][1] + _hours(rng, 30, 120)), condition, False, ids, rng)


def _admission(
    path: _Path, condition: str, died: bool, ids: Ids, rng: Random, *, moves_on: bool = False
) -> Admission:
    marks = [(kind, at) for kind, at in path.marks if at < path.end]
    kinds = [kind for kind, _ in marks]
    if died and not moves_on and kinds[-2:] == ["icu", "ward"] and path.end - marks[-2][1] < _LONGEST_ICU:
        marks.pop()
    ends = [at for _, at in marks[1:]] + [path.end]
    wards, icu = rng.sample(_WARDS, 2), _ICU_UNITS.get(condition, rng.choice(_MIXED_ICUS))
    segments: list[Segment] = []
    for (kind, start), end in zip(marks, ends, strict=True):
        unit = {"ed": "Emergency Department", "pacu": "PACU", "icu": icu}.get(kind, wards[len(segments) % 2])
        stay_id = ids.next("stay") if kind == "icu" else None
        segments.append(Segment(kind, unit, start, end, ids.next("transfer"), stay_id))
    first = segments[0]
    admitted = first.start
    if first.kind == "ed":
        share = rng.uniform(0.55, 0.9)
        admitted = (first.start + (first.end - first.start) * share).replace(second=0, microsecond=0)
        segments[0] = replace(first, start=first.start.replace(second=0), end=first.end)
    admitted = path.admitted or admitted
    # the door's clock writes admission and discharge to the minute, the units' one to the second
    return Admission(
        ids.next("hadm"),
        admitted.replace(second=0, microsecond=0),
        path.end.replace(second=0, microsecond=0),
        died,
        tuple(segments),
    )
