"""Laboratory values as the shared conventions of the catalogue read them."""

import re
from collections import defaultdict
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from tests.second.chart import Chart, Row

LACTATE, SODIUM, POTASSIUM = 50813, 50983, 50971

_NO_SPECIMEN = re.compile(r"cancel|not sufficient|\bqns\b|specimen lost|lost specimen", re.IGNORECASE)
_CHECK_ALONE = re.compile(r"qns to verify", re.IGNORECASE)
"""Too little was left to check the result, which stands."""
_HIGHEST = {LACTATE: 40, SODIUM: 200, POTASSIUM: 30}
_LOWEST_SODIUM = 80


def series(chart: Chart, itemid: int) -> dict[datetime, Fraction]:
    """Draw time → value of one test in its own unit (mmol/L here); two results of one draw time are averaged."""
    drawn: defaultdict[datetime, list[Fraction]] = defaultdict(list)
    for row in chart.rows("hosp.labevents", {itemid}):
        if row["charttime"] is not None and _is_a_result(row):
            # as it is printed, so that 126.3 - 116.3 is ten and no float's neighbour of it
            drawn[row["charttime"]].append(as_printed(row["valuenum"]))
    return {when: sum(values, Fraction()) / len(values) for when, values in sorted(drawn.items())}


def as_printed(number: float) -> Fraction:
    """The decimal number that a float stands for."""
    return Fraction(Decimal(repr(number)))


def _is_a_result(row: Row) -> bool:
    if row["valuenum"] is None:
        return False
    remarks = [_CHECK_ALONE.sub("", row[column] or "") for column in ("value", "comments")]
    if any(_NO_SPECIMEN.search(remark) for remark in remarks):
        return False
    if row["itemid"] == SODIUM and row["valuenum"] < _LOWEST_SODIUM:
        return False
    return bool(0 < row["valuenum"] <= _HIGHEST[row["itemid"]])
