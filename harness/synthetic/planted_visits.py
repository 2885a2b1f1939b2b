"""Planted rows of the emergency department's cabinet, of the clinic's measurements, and ECGs."""

from datetime import timedelta
from random import Random

from harness.synthetic.events import Event
from harness.synthetic.planting import Planting
from harness.synthetic.tracings import MISSING, Beat, add_tracing


def write_dispense(planting: Planting, event: Event, offset: timedelta, shift: timedelta) -> None:
    """Write one drug taken from the cabinet; the visit is the one that the time lies in."""
    chart, time = planting.chart, planting.time(offset, shift).replace(second=0)
    visits = [row for row in chart.rows["ed.edstays"] if row["intime"] <= time <= row["outtime"]]
    if not visits:
        raise planting.refusal(
            f"{event.source} is planted {time - chart.index_time} from T, outside every emergency visit",
            'use the anchor "ed", and a time before the move to a unit',
        )
    chart.add(
        "ed.pyxis", {"stay_id": visits[0]["stay_id"], "charttime": time, "name": event.name, "gsn_rn": 1}
    )


def write_measurement(planting: Planting, event: Event, offset: timedelta, shift: timedelta) -> None:
    """Write one result of the clinic's records, which know the day alone."""
    planting.chart.add(
        "hosp.omr",
        {
            "chartdate": planting.time(offset, shift).date(),
            "result_name": event.name,
            "result_value": event.text,
        },
    )


def write_tracing(planting: Planting, event: Event, offset: timedelta, shift: timedelta) -> None:
    """Write one ECG, its record and its statements."""
    rng = planting.chart.rng(f"planted tracing {offset}")
    beat = _beat(event, rng)
    add_tracing(planting.chart, planting.time(offset, shift).replace(second=0), beat, rng)


def _beat(event: Event, rng: Random) -> Beat:
    """The event's beat, each part of it moved by up to the jitter, and the time between two by four times that."""
    most = round(event.jitter_value)
    planned = (event.rr_interval or 0, event.qrs_onset or 0, event.qrs_end or 0, event.t_end or 0)
    if not most or MISSING in planned:
        return Beat(*planned)
    between, onset, end, repolarised = planned
    begins = onset + rng.randint(-most, most)
    return Beat(
        between + rng.randint(-4 * most, 4 * most),
        begins,
        begins + (end - onset) + rng.randint(-most, most),
        begins + (repolarised - onset) + rng.randint(-most, most),
    )
