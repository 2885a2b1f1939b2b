"""Scenario 15: rise of sodium in the first 24 hours of severe hyponatraemia.

It follows the scenario's correction of the catalogue: at high risk, 10 is above both limits, so that a larger rise is
a yes and needs no late value.
"""

from datetime import datetime, timedelta
from fractions import Fraction

from tests.second.chart import Case, Chart
from tests.second.labs import POTASSIUM, SODIUM, series

_US, _EUROPEAN, _HIGH_RISK = 12, 10, 8
"""Limits of the rise in 24 h, mmol/L; a rise equal to one keeps it."""


def decide(chart: Chart, case: Case) -> str:
    """The verdict from the highest sodium of the following 24 hours, if it was watched long enough."""
    sodium = series(chart, SODIUM)
    start = sodium[case.index_time]
    hours = {(when - case.index_time) / timedelta(hours=1): value for when, value in sodium.items()}
    followed = [value - start for hour, value in hours.items() if 0 < hour <= 24]
    bounds = [v - start for hour, v in hours.items() if 24 < hour <= 28 and v - start <= _HIGH_RISK]
    late = bool(bounds) or any(12 < hour <= 24 for hour in hours)
    lower, upper = _limits(chart, case.index_time, start)
    if not late and not any(rise > upper for rise in followed):
        return "lack_of_data"
    rise = max(followed or bounds)
    if rise > upper:
        return "yes"
    return "medical_ambiguity" if rise > lower else "no"


def _limits(chart: Chart, index_time: datetime, start: Fraction) -> tuple[int, int]:
    return (_HIGH_RISK, _EUROPEAN) if _at_high_risk(chart, index_time, start) else (_EUROPEAN, _US)


def _at_high_risk(chart: Chart, index_time: datetime, start: Fraction) -> bool:
    """For osmotic demyelination: sodium of 105 or less, or potassium below 3.0 in the 12 hours before."""
    potassium = series(chart, POTASSIUM)
    recent = [v for when, v in potassium.items() if index_time - timedelta(hours=12) <= when <= index_time]
    return start <= 105 or any(value < 3 for value in recent)
