"""What some neighbours have in the ICU: insulin and low glucose, red cells, a ventilator with its settings."""

from datetime import datetime, timedelta
from random import Random

from harness.synthetic.chart import Chart, minute, pick_caregiver
from harness.synthetic.dictionaries import chart_items
from harness.synthetic.fluids import add_input
from harness.synthetic.stays import Admission, Segment

_STICK, _INSULIN, _DEXTROSE, _RED_CELLS = 225664, 223258, 220952, 225168
_SET_VOLUME, _SEEN_VOLUME, _MODE, _SUPPORT, _PLATEAU = 224684, 224685, 223849, 224701, 224696
_TRIAL_STARTED, _TRIAL_DONE, _TRIAL_DEFERRED = 224715, 224717, 224833


def _unit(chart: Chart) -> tuple[Admission, Segment] | None:
    """The first ICU stay of the index admission."""
    admission = chart.index_admission
    return (admission, admission.icu[0]) if admission.icu else None


def _chart_row(
    chart: Chart, place: tuple[Admission, Segment], itemid: int, time: datetime, value: object, rng: Random
) -> None:
    admission, stay = place
    numeric = chart_items()[itemid].param_type.startswith("Numeric")
    chart.add(
        "icu.chartevents",
        {
            "hadm_id": admission.hadm_id,
            "stay_id": stay.stay_id,
            "caregiver_id": pick_caregiver(rng),
            "charttime": time,
            "storetime": time + timedelta(minutes=rng.randint(0, 40)),
            "itemid": itemid,
            "value": value,
            "valuenum": value if numeric else None,
            "valueuom": chart_items()[itemid].unit,
            "warning": 0,
        },
    )


def add_insulin_infusion(chart: Chart, rng: Random) -> None:
    """An insulin infusion with finger sticks every hour, from soon after the ICU's door."""
    place = _unit(chart)
    if place is None:
        return
    time = minute(place[1].start + timedelta(minutes=rng.randint(20, 90)))
    ends = min(time + timedelta(hours=rng.uniform(7, 20)), place[1].end)
    glucose, link = rng.uniform(340, 520), None
    while time < ends:
        hours = rng.uniform(1, 3)
        until = minute(min(time + timedelta(hours=hours), ends))
        if until <= time:
            break
        rate = round(rng.uniform(2, 9), 1)
        status = "FinishedRunning" if until >= minute(ends) else "ChangeDose/Rate"
        amount = rate * ((until - time) / timedelta(hours=1))
        order = add_input(
            chart,
            place,
            _INSULIN,
            (time, until),
            "drip",
            rng,
            amount=amount,
            rate=(rate, "units/hour"),
            status=status,
            link=link,
        )
        link = link or order
        _chart_row(chart, place, _STICK, time, round(glucose), rng)
        glucose, time = max(140.0, glucose - rng.uniform(25, 70)), until


def add_low_glucose(chart: Chart, rng: Random) -> None:
    """Finger sticks every few hours, one of them very low; the next one sooner or later."""
    place = _unit(chart)
    if place is None:
        return
    stay = place[1]
    low = stay.start + (stay.end - stay.start) * rng.uniform(0.2, 0.8)
    time = minute(stay.start + timedelta(minutes=rng.randint(30, 200)))
    while time < stay.end:
        if abs(time - low) > timedelta(hours=2):
            _chart_row(chart, place, _STICK, time, rng.randint(88, 240), rng)
        time = minute(time + timedelta(minutes=rng.randint(200, 380)))
    low = minute(low)
    _chart_row(chart, place, _STICK, low, rng.randint(36, 52), rng)
    if rng.random() < 0.8:
        given = low + timedelta(minutes=rng.randint(2, 9))
        span = (given, given + timedelta(minutes=1))
        add_input(chart, place, _DEXTROSE, span, "push", rng, amount=50.0)
    again = low + timedelta(minutes=rng.choice((16, 24, 35, 50, 85, 110)))
    if again < stay.end:
        _chart_row(chart, place, _STICK, again, rng.choice((61, 66, 84, 112, 139)), rng)


def add_bleeding(chart: Chart, rng: Random) -> None:
    """One unit of red cells or several."""
    place = _unit(chart)
    if place is None:
        return
    time = minute(place[1].start + timedelta(minutes=rng.randint(30, 600)))
    for _ in range(rng.randint(1, 4)):
        end = time + timedelta(minutes=rng.randint(40, 190))
        if end < place[1].end:
            amount = float(rng.choice((280, 300, 350, 375)))
            rate = (round(amount / ((end - time) / timedelta(hours=1)), 1), "mL/hour")
            add_input(chart, place, _RED_CELLS, (time, end), "blood", rng, amount=amount, rate=rate)
        time = minute(end + timedelta(minutes=rng.randint(10, 500)))


def add_breathing(chart: Chart, rng: Random) -> None:
    """The ventilator's settings every few hours, and trials of breathing without it before the end."""
    place = _unit(chart)
    span = chart.ventilated(place[1]) if place else None
    if place is None or span is None:
        return
    low = (50 if chart.person.sex == "M" else 45.5) + 0.91 * (chart.person.height_cm - 152.4)
    volume = 10 * round(low * rng.uniform(5.8, 9.2) / 10)
    tries = rng.random()
    time = minute(span[0] + timedelta(minutes=rng.randint(5, 40)))
    while time < span[1]:
        weaning = span[1] - time < timedelta(hours=rng.uniform(3, 9))
        _chart_row(chart, place, _MODE, time, "CPAP/PSV" if weaning else "CMV/ASSIST/AutoFlow", rng)
        _chart_row(chart, place, _SEEN_VOLUME, time, volume + rng.randint(-25, 30), rng)
        if weaning:
            _chart_row(chart, place, _SUPPORT, time, rng.choice((5, 5, 8, 10)), rng)
        else:
            _chart_row(chart, place, _SET_VOLUME, time, volume, rng)
            _chart_row(chart, place, _PLATEAU, time, rng.randint(14, 29), rng)
        time = minute(time + timedelta(minutes=rng.randint(170, 260)))
    trial = minute(span[1] - timedelta(minutes=rng.randint(70, 240)))
    if tries < 0.5 and trial > span[0]:
        _chart_row(chart, place, _TRIAL_STARTED, trial, "Yes", rng)
        _chart_row(chart, place, _TRIAL_DONE, trial + timedelta(minutes=rng.randint(30, 60)), "Yes", rng)
    elif tries < 0.7 and trial > span[0]:
        _chart_row(chart, place, _TRIAL_DEFERRED, trial, "Yes", rng)
