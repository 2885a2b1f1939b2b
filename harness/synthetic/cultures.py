"""Microbiology: specimens, tests, growth, susceptibilities and Gram stains."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from random import Random

from harness.synthetic.chart import Chart, Row, minute, pick_provider
from harness.synthetic.dictionaries import read_reference
from harness.synthetic.stays import Admission

CANCELLED = "CANCELLED"
_COMPARISONS = ("<=", "=>", ">=", "<", ">")
_USUAL = ((44, 90), (44, 90))
_TURNAROUND: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "Blood Culture, Routine": ((130, 150), (44, 90)),
    "URINE CULTURE": ((23, 42), (40, 110)),
    "RESPIRATORY CULTURE": ((44, 64), (48, 96)),
    "C. difficile PCR": ((5, 24), (4, 26)),
}
"""Test → hours from collection to the last report, without growth and with it."""
_BOTTLES = (("Anaerobic Bottle Gram Stain", 90204), ("Aerobic Bottle Gram Stain", 90203))


def add_cultures(chart: Chart) -> None:
    """Write the cultures of every admission: many with an infection, a few otherwise."""
    rng = chart.rng("cultures")
    infected = chart.person.condition in ("infection", "sepsis", "staph")
    for admission in chart.admissions:
        times = _blood_times(chart, admission, infected, rng)
        for time in times:
            for _ in range(rng.choice((1, 2, 2))):
                add_culture(chart, "BLOOD CULTURE", time, rng)
        if rng.random() < (0.7 if infected else 0.3):
            add_culture(chart, "URINE", _within(admission, rng), rng)
        if rng.random() < (0.4 if infected else 0.1):
            add_culture(chart, "SPUTUM", _within(admission, rng), rng)
        if rng.random() < 0.12:
            add_culture(chart, "STOOL", _within(admission, rng), rng)
        for stay in admission.icu:
            if rng.random() < 0.6:
                time = stay.start + timedelta(minutes=rng.randint(30, 300))
                add_culture(chart, "MRSA SCREEN", minute(time), rng)


def _blood_times(chart: Chart, admission: Admission, infected: bool, rng: Random) -> list[datetime]:
    if not infected:
        return [_within(admission, rng)] if rng.random() < 0.2 else []
    times = [minute(admission.arrived + timedelta(minutes=rng.randint(15, 90)))]
    if admission.arrived <= chart.onset <= admission.discharged:
        times.append(minute(chart.onset + timedelta(minutes=rng.randint(-90, 150))))
    return [time for time in times if time < admission.discharged]


def _within(admission: Admission, rng: Random) -> datetime:
    span = admission.discharged - admission.arrived
    return minute(admission.arrived + span * rng.uniform(0.02, 0.9))


def add_culture(chart: Chart, specimen: str, time: datetime, rng: Random) -> None:
    """Write a specimen of the background, whose growth and test are drawn."""
    choices = known_tests(specimen)
    found = rng.choices(choices, [int(row["share"]) for row in choices])[0]
    culture = open_culture(chart, found, time, rng, grows=bool(found["organism"]), dated=rng.random() < 0.06)
    culture.add(found["organism"] or None, found["comment"] or None)


@dataclass
class Culture:
    """One test of one specimen; `shared` are the columns that all its rows have."""

    chart: Chart
    shared: Row
    rng: Random
    isolates: Counter[str] = field(default_factory=Counter)

    def add(
        self, organism: str | None, comment: str | None, results: Mapping[str, str] | None = None
    ) -> None:
        """Write what it grew: a row an antibiotic, or one row. `results`: antibiotic → S, I or R.

        Without `results` the organism has its usual susceptibilities. KeyError for an organism or an
        antibiotic that the reference tables do not have.
        """
        if organism is None:
            self.chart.add("hosp.microbiologyevents", {**self.shared, "comments": comment})
            return
        number, stain = organisms()[organism]
        self.isolates[organism] += 1
        row = {
            **self.shared,
            "org_itemid": number,
            "org_name": organism,
            "isolate_num": self.isolates[organism],
            "comments": comment,
        }
        for tests in _usual(number) if results is None else _told(results) or [{}]:
            self.chart.add("hosp.microbiologyevents", {**row, **tests})
        if stain and self.shared["test_name"] == "Blood Culture, Routine" and len(self.isolates) == 1:
            self._add_stains(stain)

    def _add_stains(self, stain: str) -> None:
        """The bottles that turned positive are stained long before the organism has its name."""
        begins = self.shared["charttime"] or self.shared["chartdate"]
        seen = begins + (self.shared["storetime"] - begins) * self.rng.uniform(0.2, 0.5)
        bottles = self.rng.sample(_BOTTLES, self.rng.choice((1, 1, 2)))
        for place, (name, itemid) in enumerate(bottles, 2):
            stored = minute(seen + timedelta(minutes=90 * (place - 2)))
            self.chart.add(
                "hosp.microbiologyevents",
                {
                    **self.shared,
                    "test_seq": place,
                    "test_itemid": itemid,
                    "test_name": name,
                    "storedate": stored.replace(hour=0, minute=0),
                    "storetime": stored,
                    "comments": "___" if self.rng.random() < 0.6 else stain,
                },
            )


def open_culture(
    chart: Chart,
    test: Mapping[str, str],
    time: datetime,
    rng: Random,
    *,
    grows: bool,
    dated: bool,
    stored: datetime | None = None,
    name: str | None = None,
) -> Culture:
    """A specimen in the making: `test` is a row of the reference table, `dated` has a day and no time."""
    if stored is None:
        hours = rng.uniform(*_TURNAROUND.get(test["test"], _USUAL)[int(grows)])
        hours = rng.uniform(4, 11) if test["organism"] == CANCELLED else hours
        stored = minute(time + timedelta(hours=hours))
    admission = chart.admission_at(time)
    shared = {
        "hadm_id": admission.hadm_id if admission and rng.random() < 0.8 else None,
        "micro_specimen_id": chart.ids.next("micro_specimen"),
        "order_provider_id": pick_provider(rng) if rng.random() < 0.2 else None,
        "chartdate": time.replace(hour=0, minute=0, second=0),
        "charttime": None if dated else time,
        "spec_itemid": test["spec_itemid"],
        "spec_type_desc": test["specimen"],
        "test_seq": 1,
        "storedate": stored.replace(hour=0, minute=0, second=0),
        "storetime": stored,
        "test_itemid": test["test_itemid"],
        "test_name": name or test["test"],
    }
    return Culture(chart, shared, rng)


def known_tests(specimen: str, test: str | None = None) -> list[dict[str, str]]:
    """The rows of the reference table for a specimen, and for a test of it."""
    rows = [row for row in read_reference("cultures") if row["specimen"] == specimen]
    return [row for row in rows if test is None or row["test"].strip() == test.strip()]


@cache
def organisms() -> dict[str, tuple[str, str]]:
    """Organism → its number, and what a Gram stain shows of it (empty where nothing)."""
    known = {row["organism"]: (row["org_itemid"], row["stain"]) for row in read_reference("organisms")}
    grown = {row["organism"]: (row["org_itemid"], "") for row in read_reference("cultures")}
    return {name: found for name, found in (grown | known).items() if name}


@cache
def antibiotics() -> dict[str, dict[str, str]]:
    """Antibiotic → its row of the reference table: number, and the dilution for S, I and R."""
    return {row["ab_name"]: row for row in read_reference("antibiotics")}


def _usual(organism: str) -> list[dict[str, object]]:
    rows = [row for row in read_reference("susceptibilities") if row["org_itemid"] == organism]
    return [
        _susceptibility(row["ab_itemid"], row["ab_name"], row["dilution"], row["interpretation"])
        for row in rows
    ] or [{}]


def _told(results: Mapping[str, str]) -> list[dict[str, object]]:
    known = sorted((antibiotics()[name]["ab_itemid"], name, found) for name, found in results.items())
    return [_susceptibility(number, name, antibiotics()[name][found], found) for number, name, found in known]


def _susceptibility(number: str, name: str, dilution: str, interpretation: str) -> dict[str, object]:
    sign = next((sign for sign in _COMPARISONS if dilution.startswith(sign)), "=")
    return {
        "ab_itemid": number,
        "ab_name": name,
        "dilution_text": dilution or None,
        "dilution_comparison": f"{sign:<10}" if dilution else None,
        "dilution_value": dilution.lstrip("<>=") or None,
        "interpretation": interpretation,
    }
