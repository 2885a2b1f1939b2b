"""Simulated measurements: a personal level, slow wandering around it, and the course of an illness.

All numbers are parameters of a simulation, not clinical claims: they keep values in the ranges that a
laboratory prints and give the eventful neighbours something to show.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from math import exp, sqrt
from random import Random

from harness.synthetic.chart import Chart
from harness.synthetic.dictionaries import LabItem, lab_items
from harness.synthetic.draws import generator

_MEMORY_HOURS = 18.0
_SODIUM, _CHLORIDE, _BICARBONATE, _GAP = 50983, 50902, 50882, 50868
_ACIDOTIC, _LOST_TO_GAP = 22, 0.8
_HAEMOGLOBIN, _HAEMATOCRIT = 51222, 51221
_OF_NEIGHBOURS = ("respiratory", "diabetes")
_IN_ILLNESS = 0.85
"""How much further than usual an illness takes a value down."""
_SERUM = {50822: 50971, 50809: 50931}
"""What a blood gas analyser measures too → the same substance in serum, which it follows."""


@dataclass(frozen=True)
class Bump:
    """A rise that begins, peaks and ends at hours from the index time; `amount` is added at the peak."""

    begins: float
    peaks: float
    ends: float
    amount: float

    def at(self, hours: float) -> float:
        """What the bump adds at that hour."""
        if self.begins <= hours < self.peaks:
            return self.amount * (hours - self.begins) / (self.peaks - self.begins)
        if self.peaks <= hours < self.ends:
            return self.amount * (self.ends - hours) / (self.ends - self.peaks)
        return 0.0


class Physiology:
    """The measurements of one patient; ask for them in the order of time."""

    def __init__(self, chart: Chart, part: str) -> None:
        self._onset = chart.onset
        self._rng = chart.rng(part)
        self._wander: dict[int, tuple[datetime, float]] = {}
        self._bumps = illness(chart)
        self._levels = _levels(chart)
        self._key = f"{chart.seed}:{chart.case.key}"
        self._offsets: dict[int, float] = {}

    def measure(self, item: LabItem, time: datetime) -> float:
        """A value of the item at that time, rounded as its laboratory reports it."""
        if item.itemid in _SERUM:
            serum = self.measure(lab_item(_SERUM[item.itemid]), time)
            return round(serum + self._rng.uniform(-0.4, 0.4) * item.sd, item.digits)
        level = self._levels.get(item.itemid, item.mean + self._offset(item))
        value, floor = min(item.high, max(item.low, level + self._step(item, time) * item.sd)), item.low
        if item.itemid in self._bumps:
            floor *= _IN_ILLNESS
            hours = (time - self._onset) / timedelta(hours=1)
            value += sum(bump.at(hours) for bump in self._bumps[item.itemid])
        return round(max(floor, value), item.digits)

    def panel(self, items: tuple[LabItem, ...], time: datetime) -> dict[int, float]:
        """One specimen's values by itemid; `agreement` calculates what follows from them once all are written."""
        values = {item.itemid: self.measure(item, time) for item in items}
        if {_SODIUM, _CHLORIDE, _BICARBONATE, _GAP} <= values.keys():
            # chloride is what sodium leaves: in an acidosis most of the lost bicarbonate is gap
            gap = values[_GAP] + _LOST_TO_GAP * max(0, _ACIDOTIC - values[_BICARBONATE])
            values[_CHLORIDE] = round(values[_SODIUM] - values[_BICARBONATE] - gap)
        if _HAEMATOCRIT in values and _HAEMOGLOBIN in values:
            values[_HAEMATOCRIT] = round(values[_HAEMOGLOBIN] * 3 + self._rng.uniform(-0.6, 0.9), 1)
        return values

    def _offset(self, item: LabItem) -> float:
        if item.itemid not in self._offsets:
            own = generator(self._key, "level", item.itemid)
            self._offsets[item.itemid] = max(-1.5, min(1.5, own.gauss(0, 0.8))) * item.sd
        return self._offsets[item.itemid]

    def _step(self, item: LabItem, time: datetime) -> float:
        before, deviation = self._wander.get(item.itemid, (time, self._rng.gauss(0, 0.7)))
        keep = exp(-abs((time - before) / timedelta(hours=1)) / _MEMORY_HOURS)
        deviation = keep * deviation + sqrt(1 - keep * keep) * self._rng.gauss(0, 0.8)
        deviation = max(-2.2, min(2.2, deviation))
        self._wander[item.itemid] = (time, deviation)
        return deviation


def _levels(chart: Chart) -> dict[int, float]:
    if chart.person.condition != "dialysis":
        return {}
    rng = chart.rng("dialysis levels")
    return {50912: rng.uniform(4.2, 8.5), 51006: rng.uniform(45, 80), 50971: rng.uniform(4.6, 5.4)}


def illness(chart: Chart) -> dict[int, tuple[Bump, ...]]:
    """The course of the patient's condition: itemid → what is added to it and when.

    Of a patient who carries a plant only the conditions that the background always had run a course.
    """
    condition = chart.person.condition
    runs = chart.case.plant is None or condition not in _OF_NEIGHBOURS
    return (_ILLNESSES.get(condition, _quiet) if runs else _quiet)(chart.rng("illness"))


def urine_factor(chart: Chart, time: datetime) -> float:
    """What the condition leaves of the usual urine flow at that time."""
    hours = (time - chart.onset) / timedelta(hours=1)
    if chart.person.condition == "dialysis":
        return 0.15
    if chart.person.condition == "kidney" and 0 <= hours < 60:
        return chart.rng("oliguria").choice((0.3, 0.45, 0.6, 1.0))
    return 1.0


@cache
def lab_item(itemid: int) -> LabItem:
    """The item; KeyError where the hospital does not have it."""
    return lab_items()[itemid]


def _quiet(rng: Random) -> dict[int, tuple[Bump, ...]]:
    del rng
    return {}


def _sepsis(rng: Random) -> dict[int, tuple[Bump, ...]]:
    begins = rng.uniform(-4, -1)
    return {
        50813: (Bump(begins, rng.uniform(0, 3), rng.uniform(10, 30), rng.uniform(1.2, 4.5)),),
        51301: (Bump(begins - 12, 6, 110, rng.uniform(4, 12)),),
        50882: (Bump(begins, 3, 40, -rng.uniform(2, 6)),),
        50912: (Bump(begins, 20, 90, rng.uniform(0, 0.8)),),
    }


def _kidney(rng: Random) -> dict[int, tuple[Bump, ...]]:
    peaks, rise = rng.uniform(24, 60), rng.choice((0.3, 0.9, 1.4, 2.2))
    return {
        50912: (Bump(rng.uniform(-6, 4), peaks, peaks + 150, rise),),
        51006: (Bump(-6, peaks + 10, peaks + 170, rise * 18),),
        50971: (Bump(0, peaks, peaks + 60, rise * 0.4),),
    }


def _potassium(rng: Random) -> dict[int, tuple[Bump, ...]]:
    bump = Bump(-rng.uniform(3, 8), rng.uniform(-0.5, 0.5), rng.uniform(5, 12), rng.uniform(1.9, 3.0))
    return {50971: (bump,), 50912: (Bump(-30, 0, 60, rng.uniform(0, 1.2)),)}


def _dialysis(rng: Random) -> dict[int, tuple[Bump, ...]]:
    return {50971: (Bump(-20, rng.uniform(-1, 1), 6, rng.uniform(0.6, 2.0)),)}


def _bleeding(rng: Random) -> dict[int, tuple[Bump, ...]]:
    return {51222: (Bump(-20, 4, 90, -rng.uniform(1, 3)),)}


def _haemorrhage(rng: Random) -> dict[int, tuple[Bump, ...]]:
    return {51222: (Bump(-20, 2, 90, -rng.uniform(2.5, 5)),)}


def _ketoacidosis(rng: Random) -> dict[int, tuple[Bump, ...]]:
    ends = rng.uniform(12, 26)
    return {
        50931: (Bump(-30, -2, ends, rng.uniform(260, 480)),),
        50882: (Bump(-30, -2, ends + 4, -rng.uniform(11, 15)),),
        50820: (Bump(-30, -2, ends, -rng.uniform(0.12, 0.26)),),
        50983: (Bump(-30, -2, ends, -rng.uniform(3, 8)),),
    }


def _sodium(rng: Random) -> dict[int, tuple[Bump, ...]]:
    lost, ends = rng.uniform(20, 28), rng.uniform(26, 80)
    return {50983: (Bump(-300, 0, ends, -lost),), 50902: (Bump(-300, 0, ends, -lost * 0.8),)}


def _warfarin(rng: Random) -> dict[int, tuple[Bump, ...]]:
    return {51237: (Bump(-60, rng.uniform(0, 8), rng.uniform(30, 90), rng.uniform(3.6, 7)),)}


def _platelets(rng: Random) -> dict[int, tuple[Bump, ...]]:
    return {51265: (Bump(0, rng.uniform(18, 40), rng.uniform(60, 220), -rng.uniform(115, 160)),)}


def _colitis(rng: Random) -> dict[int, tuple[Bump, ...]]:
    return {51301: (Bump(-40, 0, 110, rng.uniform(0, 14)),), 50912: (Bump(-40, 0, 90, rng.uniform(0, 1)),)}


def _respiratory(rng: Random) -> dict[int, tuple[Bump, ...]]:
    return {50821: (Bump(-20, 0, rng.uniform(70, 160), -rng.uniform(25, 45)),)}


def _diabetes(rng: Random) -> dict[int, tuple[Bump, ...]]:
    chronic = rng.choice((0, 0.3, 0.8, 1.7))
    return {50931: (Bump(-60, 0, 120, rng.uniform(60, 190)),), 50912: (Bump(-900, 0, 900, chronic),)}


_ILLNESSES = {
    "sepsis": _sepsis,
    "kidney": _kidney,
    "potassium": _potassium,
    "dialysis": _dialysis,
    "bleeding": _bleeding,
    "haemorrhage": _haemorrhage,
    "ketoacidosis": _ketoacidosis,
    "sodium": _sodium,
    "warfarin": _warfarin,
    "platelets": _platelets,
    "colitis": _colitis,
    "staph": _sepsis,
    "respiratory": _respiratory,
    "diabetes": _diabetes,
}
