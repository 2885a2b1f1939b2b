"""Scenario 6: Sepsis-3 septic shock in the first vasopressor day."""

from datetime import datetime, timedelta

from tests.second.chart import Case, Chart, Row
from tests.second.labs import LACTATE, series

_VASOPRESSORS = {221906, 221289, 222315, 221749, 229630, 229632, 221662, 229709, 229764}
_LEAST = timedelta(minutes=60)
_HIGH = 2
"""mmol/L, to be exceeded."""


def decide(chart: Chart, case: Case) -> str:
    """The verdict from vasopressor time in the day after the start and the lactates on either side of it."""
    start, end = case.index_time, case.as_of
    if time_on_vasopressors(chart, start, end) < _LEAST:
        return "no"
    lactates = series(chart, LACTATE)
    before = [v for when, v in lactates.items() if start - timedelta(hours=6) <= when < start]
    after = [v for when, v in lactates.items() if start <= when <= start + timedelta(hours=24)]
    if not before and not after:
        return "lack_of_data"
    if any(value > _HIGH for value in after):
        return "yes"
    return "medical_ambiguity" if any(value > _HIGH for value in before) else "no"


def time_on_vasopressors(chart: Chart, start: datetime, end: datetime) -> timedelta:
    """How much of [start, end] any vasopressor ran; drugs that ran together count once."""
    total, reached = timedelta(), start
    for row in sorted(
        filter(_runs, chart.rows("icu.inputevents", _VASOPRESSORS)), key=lambda row: row["starttime"]
    ):
        # an end that is not known yet lies after the as-of time
        begin, stop = max(row["starttime"], reached), min(row["endtime"] or end, end)
        if stop > begin:
            total, reached = total + (stop - begin), stop
    return total


def _runs(row: Row) -> bool:
    return (row["rate"] or 0) > 0 and (row["statusdescription"] or "").strip() != "Rewritten"
