"""Scenario 6: Sepsis-3 septic shock in the first vasopressor day.

Of the scenario's corrections of the catalogue it follows three: two more vasopressors, a bedside lactate without a
specimen beside it, and a specimen after the start of which no value is known.
"""

from datetime import datetime, timedelta
from fractions import Fraction

from tests.second.chart import Case, Chart, Row
from tests.second.labs import LACTATE, as_printed, series

_VASOPRESSORS = {221906, 221289, 222315, 221749, 229630, 229632, 221662, 229709, 229764}
_VASOPRESSORS_ADDED = {229617, 229631}
_BEDSIDE_LACTATE = 225668
_LEAST = timedelta(minutes=60)
_HIGH, _IMPLAUSIBLE = 2, 40
"""mmol/L, to be exceeded."""


def decide(chart: Chart, case: Case) -> str:
    """The verdict from vasopressor time in the day after the start and the lactates on either side of it."""
    start, end = case.index_time, case.as_of
    if time_on_vasopressors(chart, start, end) < _LEAST:
        return "no"
    day = timedelta(hours=24)
    lactates = [*series(chart, LACTATE).items(), *_bedside_lactates(chart)]
    before = [value for when, value in lactates if start - timedelta(hours=6) <= when < start]
    after = [value for when, value in lactates if start <= when <= start + day]
    attempted = any(start <= when <= start + day for when in _lactate_specimens(chart))
    if not after and (attempted or not before):
        return "lack_of_data"
    if any(value > _HIGH for value in after):
        return "yes"
    return "medical_ambiguity" if any(value > _HIGH for value in before) else "no"


def time_on_vasopressors(chart: Chart, start: datetime, end: datetime) -> timedelta:
    """How much of [start, end] any vasopressor ran; drugs that ran together count once."""
    total, reached = timedelta(), start
    rows = chart.rows("icu.inputevents", _VASOPRESSORS | _VASOPRESSORS_ADDED)
    for row in sorted(filter(_runs, rows), key=lambda row: row["starttime"]):
        # an end that is not known yet lies after the as-of time
        begin, stop = max(row["starttime"], reached), min(row["endtime"] or end, end)
        if stop > begin:
            total, reached = total + (stop - begin), stop
    return total


def _runs(row: Row) -> bool:
    return (row["rate"] or 0) > 0 and (row["statusdescription"] or "").strip() != "Rewritten"


def _lactate_specimens(chart: Chart) -> list[datetime]:
    return [row["charttime"] for row in chart.rows("hosp.labevents", {LACTATE})]


def _bedside_lactates(chart: Chart) -> list[tuple[datetime, Fraction]]:
    """Charted lactates with no laboratory specimen, even without a value, in the hour before or after."""
    hour, specimens = timedelta(hours=1), _lactate_specimens(chart)
    return [
        (row["charttime"], as_printed(row["valuenum"]))
        for row in chart.rows("icu.chartevents", {_BEDSIDE_LACTATE})
        if row["valuenum"] is not None
        and 0 < row["valuenum"] <= _IMPLAUSIBLE
        and all(abs(row["charttime"] - when) > hour for when in specimens)
    ]
