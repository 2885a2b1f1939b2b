"""Planted rows of the ICU: observations, dates, outputs, inputs and procedures."""

from datetime import datetime, timedelta

from harness.synthetic.chart import Chart, pick_caregiver
from harness.synthetic.dictionaries import ChartItem, chart_items
from harness.synthetic.events import Event
from harness.synthetic.fluids import MISSED_HOURS, add_input, add_output, in_steps
from harness.synthetic.planting import Planting
from harness.synthetic.procedures import add_date, add_dates, add_procedure


def write_observation(planting: Planting, event: Event, offset: timedelta, shift: timedelta) -> None:
    """Write one chartevents row."""
    rng, time = planting.rng, planting.time(offset, shift)
    admission, stay = planting.stay(event, time)
    itemid = planting.known(event, chart_items(), "chart_items.csv")
    value = None if event.value is None else f"{planting.value(event, _digits(event, 1)):g}"
    planting.chart.add(
        "icu.chartevents",
        {
            "hadm_id": admission.hadm_id,
            "stay_id": stay.stay_id,
            "caregiver_id": pick_caregiver(rng),
            "charttime": time,
            "storetime": planting.end(event.stored, shift) or time + timedelta(minutes=rng.randint(0, 40)),
            "itemid": itemid,
            "value": event.text if value is None else value,
            "valuenum": value,
            "valueuom": event.unit or chart_items()[itemid].unit,
            "warning": 0,
        },
    )


def write_date(planting: Planting, event: Event, offset: timedelta, shift: timedelta) -> None:
    """Write one datetimeevents row."""
    time = planting.time(offset, shift)
    add_date(
        planting.chart,
        planting.stay(event, time),
        planting.known(event, chart_items(), "chart_items.csv"),
        time,
        planting.end(event.moment, shift) or time,
        planting.rng,
        stored=planting.end(event.stored, shift),
    )


class PlantedInputs:
    """Infusions, boluses and blood; rows of one item that the plant lets meet do meet."""

    def __init__(self, planting: Planting) -> None:
        self._planting = planting
        self._met: dict[tuple[int, timedelta], datetime] = {}

    def write(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        """Write one inputevents row, of the order that its kind of item has.

        A row that begins where one of its item ended with a change of rate belongs to the same order.
        """
        planting = self._planting
        itemid = planting.known(event, chart_items(), "chart_items.csv")
        time = self._meet(itemid, offset, planting.time(offset, shift))
        end = self._end(event, itemid, time, shift)
        amount = planting.value(event, _digits(event, 2))
        kind = _kind(chart_items()[itemid], event.rate is not None)
        rate = event.rate
        if rate is not None and event.ends is not None:
            hours = (end - time) / timedelta(hours=1)
            if kind == "blood":
                rate = _readable(amount / hours)
            else:
                rate = self._rate(event, rate)
                planned = (event.ends - offset) / timedelta(hours=1)
                amount *= (rate / (event.rate or rate)) * (hours / planned)
        add_input(
            planting.chart,
            planting.stay(event, time),
            itemid,
            (time, end),
            kind,
            planting.rng,
            amount=amount,
            rate=None if rate is None else (rate, event.rate_unit or "mL/hour"),
            stored=planting.end(event.stored, shift),
            status=event.status or "FinishedRunning",
            unit=event.unit,
            link=_continued(planting.chart, itemid, time),
        )

    def _meet(self, itemid: int, offset: timedelta, time: datetime) -> datetime:
        """The time that a row of the item with a bound at the same offset has, or this one for the next."""
        return self._met.setdefault((itemid, offset), time)

    def _end(self, event: Event, itemid: int, time: datetime, shift: timedelta) -> datetime:
        planting = self._planting
        if event.ends is None:
            return time + timedelta(minutes=1)
        return self._meet(itemid, event.ends, planting.time(event.ends, shift + planting.end_alone(event)))

    def _rate(self, event: Event, rate: float) -> float:
        if not event.jitter_rate:
            return rate
        moved = rate * (1 + self._planting.rng.uniform(-event.jitter_rate, event.jitter_rate))
        # a pump is set in round numbers; by the kilogram the flowsheet calculates them
        return moved if "/kg/" in (event.rate_unit or "") else _readable(moved)


def _readable(value: float) -> float:
    """As many digits as a pump shows."""
    return round(value, 2 if value < 5 else 1 if value < 100 else 0)


def _kind(item: ChartItem, by_rate: bool) -> str:
    if item.category == "Blood Products/Colloids":
        return "blood"
    if item.category == "Antibiotics":
        return "antibiotic"
    if not by_rate:
        return "push"
    return "fluid" if item.category == "Fluids/Intake" else "drip"


def _continued(chart: Chart, itemid: int, time: datetime) -> int | None:
    """The order of the item's row that ended at that time with a change of rate."""
    return next(
        (
            row["linkorderid"]
            for row in chart.rows["icu.inputevents"]
            if (row["itemid"], row["endtime"], row["statusdescription"]) == (itemid, time, "ChangeDose/Rate")
        ),
        None,
    )


def write_procedure(planting: Planting, event: Event, offset: timedelta, shift: timedelta) -> None:
    """Write one procedureevents row, and the insertion dates of a line."""
    rng, time = planting.rng, planting.time(offset, shift)
    itemid = planting.known(event, chart_items(), "chart_items.csv")
    place, end = planting.stay(event, time), planting.end(event.ends, shift + planting.end_alone(event))
    stored = planting.end(event.stored, shift) or time + timedelta(minutes=rng.randint(0, 30))
    status = event.status or "FinishedRunning"
    row = add_procedure(planting.chart, place, itemid, time, end, rng, stored=stored, status=status)
    add_dates(planting.chart, place, row, planting.chart.rng(f"dates {itemid} {offset}"))


class PlantedOutputs:
    """Outputs; an hour that is missed joins the next."""

    def __init__(self, planting: Planting) -> None:
        self._planting = planting
        self._unnoted = 0.0

    def write(self, event: Event, offset: timedelta, shift: timedelta) -> None:
        """Write one outputevents row."""
        planting, rng = self._planting, self._planting.rng
        time = planting.time(offset, shift)
        admission, stay = planting.stay(event, time)
        itemid = planting.known(event, chart_items(), "chart_items.csv")
        stored = planting.end(event.stored, shift)
        value = planting.value(event, 0)
        if event.on_the_hour:
            time = time.replace(minute=0, second=0)
            missed = not self._unnoted and rng.random() < MISSED_HOURS
            value, self._unnoted = value + self._unnoted, value if missed else 0.0
            if missed:
                return
        if event.on_the_hour or event.jitter_value:
            value = in_steps(value)
        add_output(planting.chart, admission, stay, itemid, time, value, rng, stored=stored)


def _digits(event: Event, most: int) -> int:
    """Digits after the point: none where the plant gives whole numbers, as a meter that shows whole ones."""
    whole = float(event.value or 0).is_integer() and float(event.jitter_value).is_integer()
    return 0 if whole else most
