"""Laboratory results: rounds of specimens in the emergency department, on wards and in the ICU."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, Row, minute, pick_provider
from harness.synthetic.dictionaries import LabItem, panel_items
from harness.synthetic.physiology import Physiology, lab_item
from harness.synthetic.stays import Segment

_SPECIMEN_TYPE = 52033
_URINE_COLOUR = 51508
_POTASSIUM = 50971
_HAEMOLYSED = "HEMOLYSIS FALSELY ELEVATES K."
_DOUBTFUL = 6.0
"""From this potassium on, many specimens are reported as haemolysed, true values and false ones alike."""
_STORED_BEFORE = 0.003
"""How often a result is stored before its draw. The open MIMIC-IV demo has none among 107,727; a few are written
so that the rule is of use which makes a result known no earlier than its draw.
"""
TUBES = {
    "chemistry": ("chemistry", "liver", "cardiac"),
    "count": ("count", "differential"),
    "coagulation": ("coagulation",),
    "gas": ("gas", "gas_extra", "lactate"),
    "urine": ("urine",),
}
"""Specimen → the panels that are run on it."""

_ACUTE_PANELS = {
    "sepsis": ("lactate", "gas"),
    "potassium": ("chemistry", "gas_extra"),
    "dialysis": ("chemistry",),
    "warfarin": ("coagulation",),
    "sodium": ("chemistry",),
    "haemorrhage": ("count",),
    "ketoacidosis": ("chemistry", "gas", "gas_extra"),
    "respiratory": ("gas",),
    "staph": ("lactate", "gas"),
}

Round = tuple[datetime, tuple[str, ...], str]
"""Draw time, panels, and where: ed, ward, pacu, icu or clinic."""


def add_labs(chart: Chart) -> None:
    """Write the background's results of every admission, and some from the clinic before."""
    rng, physiology = chart.rng("labs"), Physiology(chart, "lab values")
    rounds = [*_clinic_rounds(chart, rng), *_acute_rounds(chart, rng)]
    for admission in chart.admissions:
        for segment in admission.segments:
            rounds += _rounds(chart, segment, rng)
    for time, panels, place in sorted(rounds):
        for tube in TUBES.values():
            chosen = tuple(item for panel in panels if panel in tube for item in panel_items(panel))
            if chosen:
                _add_tube(chart, chosen, time, place, physiology, rng)


def _clinic_rounds(chart: Chart, rng: Random) -> Iterator[Round]:
    first = chart.admissions[0].arrived
    for _ in range(rng.choice((0, 0, 1, 2))):
        day = first - timedelta(days=rng.randint(12, 330))
        yield (
            (day.replace(hour=rng.randint(8, 15), minute=rng.randrange(60), second=0)),
            (
                "chemistry",
                "count",
            ),
            "clinic",
        )


def _acute_rounds(chart: Chart, rng: Random) -> Iterator[Round]:
    """Specimens sent because of the illness, around the index time."""
    panels = _ACUTE_PANELS.get(chart.person.condition)
    if panels is None:
        return
    time = minute(chart.onset + timedelta(minutes=rng.randint(2, 40)))
    for _ in range(rng.randint(1, 3)):
        if chart.admission_at(time):
            yield time, panels, "icu"
        time += timedelta(minutes=rng.randint(90, 480))


def _rounds(chart: Chart, segment: Segment, rng: Random) -> Iterator[Round]:
    if segment.kind == "ed":
        yield _ed_round(chart, segment, rng)
    elif segment.kind == "icu":
        yield from _icu_rounds(chart, segment, rng)
    else:
        yield from _ward_rounds(segment, rng)


def _some(rng: Random, **chances: float) -> tuple[str, ...]:
    return tuple(panel for panel, chance in chances.items() if rng.random() < chance)


def _ed_round(chart: Chart, segment: Segment, rng: Random) -> Round:
    panels = ("chemistry", "count", "differential")
    lactate = 0.95 if chart.person.condition == "sepsis" else 0.35
    extra = _some(rng, coagulation=0.6, liver=0.5, cardiac=0.3, lactate=lactate, urine=0.5)
    return minute(segment.start + timedelta(minutes=rng.randint(10, 38))), panels + extra, "ed"


def _ward_rounds(segment: Segment, rng: Random) -> Iterator[Round]:
    day = segment.start.replace(hour=0, minute=0, second=0)
    while day < segment.end:
        morning = day + timedelta(hours=5, minutes=rng.randint(0, 130))
        if segment.holds(morning) and rng.random() < 0.93:
            yield morning, ("chemistry", "count", *_some(rng, coagulation=0.3, liver=0.2)), "ward"
        evening = day + timedelta(hours=16, minutes=rng.randint(0, 180))
        if segment.holds(evening) and rng.random() < 0.3:
            yield evening, ("chemistry", *_some(rng, count=0.3, lactate=0.1)), "ward"
        day += timedelta(days=1)


def _icu_rounds(chart: Chart, segment: Segment, rng: Random) -> Iterator[Round]:
    ventilation, septic = chart.ventilated(segment), chart.person.condition == "sepsis"
    time = minute(segment.start + timedelta(minutes=rng.randint(8, 45)))
    number = 0
    while segment.holds(time):
        panels = ["chemistry"]
        if number % 2 == 0:
            panels += ["count", *_some(rng, coagulation=0.5, liver=0.3, differential=0.2)]
        on_ventilator = ventilation is not None and ventilation[0] <= time < ventilation[1]
        if rng.random() < (0.9 if on_ventilator else 0.3):
            panels += ["gas", *_some(rng, gas_extra=0.4, lactate=0.4)]
        if septic and "lactate" not in panels and rng.random() < 0.6:
            panels.append("lactate")
        yield time, tuple(panels), "icu"
        time = minute(time + timedelta(minutes=rng.randint(290, 420)))
        number += 1


def _add_tube(
    chart: Chart,
    items: tuple[LabItem, ...],
    time: datetime,
    place: str,
    physiology: Physiology,
    rng: Random,
) -> None:
    fate = rng.random()
    values: Mapping[int, float | None] = physiology.panel(items, time)
    comment = None
    if fate < 0.012:
        values, comment = dict.fromkeys(list(values)[:1]), "SPECIMEN CANCELLED, QUANTITY NOT SUFFICIENT."
    add_specimen(chart, values, time, place, rng, comment=comment)


def add_specimen(
    chart: Chart,
    values: Mapping[int, float | None],
    time: datetime,
    place: str,
    rng: Random,
    *,
    stored: datetime | None = None,
    comment: str | None = None,
    texts: Mapping[int, str] | None = None,
    planted: Collection[int] = (),
) -> list[Row]:
    """Write one specimen's results: itemid → value, None for a result without one; `texts` are in words.

    `planted` are the items that a plant names: they are kept as they are, and stored after the draw.
    """
    gas = any(lab_item(itemid).category == "Blood Gas" for itemid in values)
    if stored is None:
        stored = time + timedelta(minutes=rng.randint(3, 14) if gas else rng.randint(28, 95))
        if rng.random() < _STORED_BEFORE and not planted:
            stored = time - timedelta(minutes=rng.randint(1, 4))
    admission = chart.admission_at(time)
    linked = admission is not None and rng.random() > 0.14
    shared = {
        "hadm_id": admission.hadm_id if admission and linked else None,
        "specimen_id": chart.ids.next("specimen"),
        "order_provider_id": pick_provider(rng) if rng.random() < 0.3 else None,
        "charttime": time,
        "storetime": stored,
        "priority": None if gas else ("STAT" if place in ("ed", "icu") else "ROUTINE"),
    }
    rows = [
        chart.add(
            "hosp.labevents",
            {
                **shared,
                **_result(lab_item(itemid), value, chart.person.sex, comment, rng),
                "_planted": itemid in planted,
            },
        )
        for itemid, value in values.items()
    ]
    for itemid, text in {**dict(_texts(values, rng)), **(texts or {})}.items():
        row = {"itemid": itemid, "value": text, "comments": "___", "_planted": itemid in planted}
        chart.add("hosp.labevents", {**shared, **row})
    return rows


def _result(item: LabItem, value: float | None, sex: str, comment: str | None, rng: Random) -> Row:
    chance = rng.random()
    if comment is None and chance < 0.04:
        comment = "___"
    elif comment is None and value is not None and item.itemid == _POTASSIUM:
        comment = _HAEMOLYSED if chance > (0.75 if value >= _DOUBTFUL else 0.985) else None
    low, high = item.reference_range(sex)
    row: Row = {
        "itemid": item.itemid,
        "value": "___",
        "valuenum": None,
        "valueuom": item.unit,
        "ref_range_lower": low,
        "ref_range_upper": high,
        "flag": None,
        "comments": comment,
    }
    return row if value is None else row | result(item, value, sex, masked=chance < 0.004)


def result(item: LabItem, value: float, sex: str, *, masked: bool = False) -> Row:
    """The columns of a result that follow from its value and the patient's sex."""
    low, high = item.reference_range(sex)
    printed = round(value, item.digits) + 0.0  # no negative zero
    outside = (low is not None and printed < low) or (high is not None and printed > high)
    text = f"{printed:g}"
    return {
        "value": "___" if masked else text,
        "valuenum": text,
        "flag": "abnormal" if outside else None,
    }


def _texts(values: Mapping[int, float | None], rng: Random) -> Iterator[tuple[int, str]]:
    if 50820 in values and values[50820] is not None:
        yield _SPECIMEN_TYPE, rng.choice(("ART.", "ART.", "ART.", "VEN."))
    if 51498 in values and values[51498] is not None:
        yield _URINE_COLOUR, rng.choice(("Yellow", "Yellow", "Straw", "Amber"))
