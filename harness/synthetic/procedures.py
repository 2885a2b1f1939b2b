"""Bedside procedures of the ICU: lines, ventilation, imaging, the operating room, dialysis; line dates."""

from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, Row, minute, pick_caregiver
from harness.synthetic.dictionaries import chart_items
from harness.synthetic.stays import Admission, Segment

_OR_SENT, _OR_RECEIVED = 225470, 225469
_HEMODIALYSIS = 225441
_FOLEY, _FOLEY_REMOVAL = 229351, 229353
_CATEGORIES = {
    "Access Lines - Peripheral": "Peripheral Lines",
    "Access Lines - Invasive": "Invasive Lines",
    "2-Ventilation": "Ventilation",
    "GI/GU": "Tubes",
    "5-Imaging": "Imaging",
    "3-Significant Events": "Significant Events",
    "1-Intubation/Extubation": "Intubation/Extubation",
    "Dialysis": "Dialysis",
}
_SITES = {
    224275: ("Right Antecubital", "Left Forearm"),
    224277: ("Left Antecubital", "Right Forearm"),
    225752: ("Right Radial", "Left Radial"),
    224263: ("Right IJ", "Left Subclavian"),
    224270: ("Right IJ", "Right Femoral"),
    229351: ("Urethral",),
}
_DATES = {224275: 225754, 225752: 224288, 224263: 224280, 229351: 229352}
"""Line item → the item that charts its insertion date."""


def add_procedures(chart: Chart) -> None:
    """Write the procedures of every ICU stay."""
    for place in chart.icu_stays():
        rng = chart.rng(f"procedures {place[1].stay_id}")
        _add_lines(chart, place, rng)
        _add_ventilation(chart, place, rng)
        _add_tasks(chart, place, rng)
        if chart.person.condition == "dialysis":
            _add_dialysis(chart, place, rng)


def add_procedure(
    chart: Chart,
    place: tuple[Admission, Segment],
    itemid: int,
    start: datetime,
    end: datetime | None,
    rng: Random,
    *,
    stored: datetime | None = None,
    status: str = "FinishedRunning",
) -> Row:
    """Write one procedureevents row; a procedure without an end is a task of one minute."""
    item, (admission, stay) = chart_items()[itemid], place
    continuous = item.unit == "min" and end is not None
    finish = end if end is not None else start + timedelta(minutes=1)
    minutes = (finish - start) // timedelta(minutes=1)
    noted = start if rng.random() < 0.5 else finish
    order = chart.ids.next("order")
    site = rng.choice(_SITES[itemid]) if itemid in _SITES else None
    invasive = item.category == "Access Lines - Invasive"
    return chart.add(
        "icu.procedureevents",
        {
            "hadm_id": admission.hadm_id,
            "stay_id": stay.stay_id,
            "caregiver_id": pick_caregiver(rng),
            "starttime": start,
            "endtime": finish,
            "storetime": stored or noted + timedelta(minutes=rng.randint(0, 40)),
            "itemid": itemid,
            "value": minutes if continuous else 1,
            "valueuom": "min" if continuous else "None",
            "location": site,
            "locationcategory": "Invasive Venous" if site and invasive else None,
            "orderid": order,
            "linkorderid": order,
            "ordercategoryname": _CATEGORIES.get(item.category, "Procedures"),
            "ordercategorydescription": "ContinuousProcess" if continuous else "Task",
            "patientweight": chart.person.weight_kg,
            "isopenbag": int(continuous),
            "continueinnextdept": 0,
            "statusdescription": status,
            "originalamount": minutes if continuous else 1,
            "originalrate": int(continuous),
        },
    )


def _add_lines(chart: Chart, place: tuple[Admission, Segment], rng: Random) -> None:
    stay = place[1]
    for itemid, chance in ((224275, 0.8), (224277, 0.5), (225752, 0.45), (224263, 0.35)):
        start = minute(stay.start + timedelta(minutes=rng.randint(10, 240)))
        end = minute(stay.end - timedelta(minutes=rng.randint(1, 300)))
        if rng.random() < chance and start < end:
            add_dates(chart, place, add_procedure(chart, place, itemid, start, end, rng), rng)
    catheter = chart.catheter(stay)
    if catheter:
        row = add_procedure(chart, place, _FOLEY, catheter[0], minute(catheter[1]), rng)
        add_dates(chart, place, row, rng)
        noted = catheter[1] + timedelta(minutes=rng.randint(1, 50))
        if noted < minute(stay.end) and rng.random() < 0.5:
            add_date(chart, place, _FOLEY_REMOVAL, noted, catheter[1], rng, line=row)


def add_dates(chart: Chart, place: tuple[Admission, Segment], line: Row, rng: Random) -> None:
    """Chart a line's insertion date every twelve hours as long as it is in; other procedures have none."""
    if line["itemid"] not in _DATES:
        return
    inserted, ends = line["starttime"], min(line["endtime"], place[1].end)
    time = inserted.replace(minute=0, second=0) + timedelta(hours=rng.randint(1, 4))
    while time < ends:
        day = inserted.replace(hour=0, minute=0, second=0)
        add_date(chart, place, _DATES[line["itemid"]], time, day, rng, line=line)
        time += timedelta(hours=12)


def add_date(
    chart: Chart,
    place: tuple[Admission, Segment],
    itemid: int,
    time: datetime,
    value: datetime,
    rng: Random,
    *,
    stored: datetime | None = None,
    line: Row | None = None,
) -> None:
    """Write one datetimeevents row; `line` is the procedure that it hangs on."""
    admission, stay = place
    chart.add(
        "icu.datetimeevents",
        {
            "hadm_id": admission.hadm_id,
            "stay_id": stay.stay_id,
            "caregiver_id": pick_caregiver(rng),
            "charttime": time,
            "storetime": stored or time + timedelta(minutes=rng.randint(0, 55)),
            "itemid": itemid,
            "value": value,
            "valueuom": chart_items()[itemid].unit,
            "warning": 0,
            "_line": line,
        },
    )


def _add_ventilation(chart: Chart, place: tuple[Admission, Segment], rng: Random) -> None:
    span = chart.ventilated(place[1])
    if span is None or chart.plants_ventilation:
        return
    start, end = span
    if rng.random() < 0.5:
        add_procedure(chart, place, 224385, start, None, rng)
    add_procedure(chart, place, 225792, start, end, rng)
    if end + timedelta(hours=2, minutes=1) < place[1].end:
        add_procedure(chart, place, 227194, end, None, rng)


def _add_tasks(chart: Chart, place: tuple[Admission, Segment], rng: Random) -> None:
    stay = place[1]
    time = minute(stay.start + timedelta(minutes=rng.randint(20, 400)))
    while time < stay.end:
        add_procedure(chart, place, rng.choice((225459, 225459, 225402, 221214)), time, None, rng)
        time = minute(time + timedelta(minutes=rng.randint(500, 1800)))
    operation = chart.operation(stay)
    if operation:
        if operation[0] > stay.start and (rng.random() < 0.7 or operation[1] == chart.index_time):
            add_procedure(chart, place, _OR_SENT, operation[0], None, rng)
        add_procedure(chart, place, _OR_RECEIVED, operation[1], None, rng)


def _add_dialysis(chart: Chart, place: tuple[Admission, Segment], rng: Random) -> None:
    stay = place[1]
    time = minute(stay.start + timedelta(minutes=rng.randint(60, 900)))
    while time + timedelta(hours=4) < stay.end:
        end = time + timedelta(minutes=rng.randint(150, 230))
        add_procedure(chart, place, _HEMODIALYSIS, time, end, rng)
        time = minute(time + timedelta(hours=rng.uniform(40, 50)))
