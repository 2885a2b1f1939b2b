"""What some neighbours have so that cases of the scenarios arise among them too: treatments, cultures, notes.

Whether a treatment comes in time, late or not at all is drawn. Patients who carry a plant have none of this:
what a plant says of its question is all that there is.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from harness.synthetic.administrations import add_administration
from harness.synthetic.chart import Chart, minute
from harness.synthetic.cultures import known_tests, open_culture
from harness.synthetic.dictionaries import Drug, drugs
from harness.synthetic.draws import pick
from harness.synthetic.drugs import add_order
from harness.synthetic.eventful_unit import (
    add_bleeding,
    add_breathing,
    add_insulin_infusion,
    add_low_glucose,
)
from harness.synthetic.plant_parts import Summary

_GIVEN: dict[str | None, int] = {
    "Administered": 86,
    "Not Given": 8,
    "Delayed Administered": 3,
    "Hold Dose": 3,
}
_NEPHROTOXINS = ("Ketorolac", "Ibuprofen", "Gentamicin")
_LONG_QT_DRUGS = ("Ondansetron", "Azithromycin")


def add_eventful(chart: Chart) -> None:
    """Write what belongs to the condition of a patient who carries no plant."""
    write = _WRITERS.get(chart.person.condition)
    if write is not None and chart.case.plant is None:
        write(chart, chart.rng("eventful"))


def usual_summary(chart: Chart) -> Summary:
    """What the summaries of such a patient say besides the background's."""
    rng, condition = chart.rng("usual summary"), chart.person.condition
    if chart.case.plant is not None or condition not in ("heart_failure", "fibrillation"):
        return Summary()
    if condition == "heart_failure":
        fraction = rng.choice((15, 20, 25, 30, 35, 40, 45, 55))
        said = rng.choice((f"TTE: LVEF {fraction}%.", f"TTE: LVEF = {fraction}-{fraction + 5}%, mild MR."))
        blockers = ("Carvedilol 6.25 mg PO BID", "Metoprolol Succinate XL 50 mg PO DAILY")
        taken = [rng.choice(blockers)] if rng.random() < 0.5 else []
        results = (said,) if rng.random() < 0.85 else ()
        return Summary(sentences={"pertinent results": results}, discharge_medications=tuple(taken))
    anticoagulants = ("Apixaban 5 mg PO BID", "Rivaroxaban 20 mg PO DAILY", "Warfarin 5 mg PO DAILY16")
    taken = [rng.choice(anticoagulants)] if rng.random() < 0.5 else []
    return Summary(discharge_medications=tuple(taken))


def _drug(name: str, *hours: int) -> Drug:
    """A drug of the formulary with its times of day; KeyError if there is none of that name."""
    found = {drug.name.strip().lower(): drug for drug in drugs()}[name.lower()]
    return replace(found, hours=hours or found.hours)


def _give(chart: Chart, drug: Drug, times: list[datetime], rng: Random) -> None:
    """Order a drug and chart its doses."""
    admission = chart.index_admission
    within = [minute(time) for time in times if admission.admitted < time < admission.discharged]
    if not within:
        return
    order = add_order(chart, admission, drug, within[0], admission.discharged, rng)
    if chart.person.emar:
        for time in within:
            if chart.records_doses(time):
                event = pick(rng, _GIVEN)
                add_administration(chart, admission, drug, time, event, rng, order=order)


def _every(begins: datetime, hours: float, doses: int, rng: Random) -> list[datetime]:
    slips = [timedelta(minutes=rng.randint(-25, 40)) for _ in range(doses)]
    return [begins + timedelta(hours=hours * place) + slip for place, slip in enumerate(slips)]


def _hours_from(chart: Chart, rng: Random, low: float, high: float) -> datetime:
    return chart.onset + timedelta(hours=rng.uniform(low, high))


def _kidney(chart: Chart, rng: Random) -> None:
    if rng.random() < 0.6:
        drug = _drug(rng.choice(_NEPHROTOXINS))
        _give(chart, drug, _every(_hours_from(chart, rng, -30, 6), 8, rng.randint(1, 9), rng), rng)
    if rng.random() < 0.6:
        dose = rng.choice((30.0, 40.0, 60.0))
        drug = replace(_drug("Enoxaparin Sodium", 9), dose=dose, per_day=rng.choice((1, 2)))
        _give(chart, drug, _every(_hours_from(chart, rng, 14, 30), 24, 4, rng), rng)


def _warfarin(chart: Chart, rng: Random) -> None:
    begins = chart.index_admission.admitted + timedelta(hours=rng.uniform(2, 12))
    _give(chart, _drug("Warfarin"), _every(begins, 24, rng.randint(2, 5), rng), rng)
    if rng.random() < 0.4:
        _give(chart, _drug("Phytonadione"), [_hours_from(chart, rng, 2, 14)], rng)


def _colitis(chart: Chart, rng: Random) -> None:
    time = minute(_hours_from(chart, rng, -14, -5))
    test = known_tests("STOOL", "C. difficile PCR")[0]
    organism = rng.choice(("CLOSTRIDIUM DIFFICILE", "CLOSTRIDIUM DIFFICILE", "POSITIVE"))
    open_culture(chart, test, time, rng, grows=True, dated=False).add(organism, "___")
    treatment = pick(rng, {"Vancomycin Oral Liquid": 6, "MetroNIDAZOLE": 3, "": 2})
    if treatment:
        drug = replace(_drug(treatment, 0, 6, 12, 18), route="PO")
        _give(chart, drug, _every(_hours_from(chart, rng, -2, 30), 6, 16, rng), rng)


def _staph(chart: Chart, rng: Random) -> None:
    test = known_tests("BLOOD CULTURE", "Blood Culture, Routine")[0]
    first = minute(chart.onset + timedelta(minutes=rng.randint(-60, 60)))
    offsets = [timedelta(0), timedelta(minutes=4)]
    offsets += [timedelta(hours=rng.uniform(20, 110)) for _ in range(rng.randint(0, 2))]
    for place, offset in enumerate(offsets):
        time = minute(first + offset)
        if time < chart.index_admission.discharged:
            grows = place < 2 or rng.random() < 0.3
            culture = open_culture(chart, test, time, rng, grows=grows, dated=rng.random() < 0.06)
            culture.add("STAPH AUREUS COAG +" if grows else None, None if grows else "NO GROWTH.  ")


def _syncope(chart: Chart, rng: Random) -> None:
    drug = _drug(rng.choice(_LONG_QT_DRUGS))
    _give(chart, drug, _every(_hours_from(chart, rng, -6, 20), 9, rng.randint(1, 5), rng), rng)


def _diabetes(chart: Chart, rng: Random) -> None:
    begins = chart.index_admission.admitted + timedelta(hours=rng.uniform(4, 20))
    _give(chart, _drug("MetFORMIN (Glucophage)"), _every(begins, 12, rng.randint(2, 8), rng), rng)


_WRITERS: dict[str, Callable[[Chart, Random], None]] = {
    "kidney": _kidney,
    "warfarin": _warfarin,
    "colitis": _colitis,
    "staph": _staph,
    "syncope": _syncope,
    "diabetes": _diabetes,
    "ketoacidosis": add_insulin_infusion,
    "hypoglycaemia": add_low_glucose,
    "haemorrhage": add_bleeding,
    "respiratory": add_breathing,
}
