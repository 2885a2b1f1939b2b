"""Scenario 11: haemoglobin before the first red-cell transfusion."""

import re
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from tests.second.chart import Case, Chart, Row

_HAEMOGLOBIN = {51222, 50811}
_RED_CELLS = {225168}
"""`Packed Red Blood Cells`; those given in the operating or recovery room have items of their own."""
_MASSIVE_TRANSFUSION = 229620
_VASOPRESSORS = {221906, 221289, 222315, 221749, 229630, 229632, 221662, 229709, 229764}

_HIGHEST = 30
_RESTRICTIVE, _LIBERAL = 7, 8
"""g/dL: below the one in any patient, at or above the other in no stable patient."""
_BLEEDING_UNITS = 3
_SPOILT = re.compile(r"cancel|quantity not sufficient|\bqns\b|specimen lost|lost specimen", re.IGNORECASE)


def decide(chart: Chart, case: Case) -> str:
    """The verdict from the last haemoglobin that was known when the unit was started."""
    haemoglobin = last_haemoglobin(chart, case)
    if haemoglobin is None:
        return "lack_of_data"
    if haemoglobin < _RESTRICTIVE:
        return "yes"
    if haemoglobin < _LIBERAL:
        return "medical_ambiguity"
    return "medical_ambiguity" if bleeding(chart, case) or unstable(chart, case) else "no"


def last_haemoglobin(chart: Chart, case: Case) -> Fraction | None:
    """g/dL of the latest draw in the 24 hours before T whose result was there by T."""
    known = [
        row
        for row in chart.rows("hosp.labevents")
        if row["itemid"] in _HAEMOGLOBIN
        and row["available_at"] <= case.index_time
        and row["charttime"] >= case.index_time - timedelta(hours=24)
        and _is_a_result(row)
    ]
    if not known:
        return None
    latest = max(row["charttime"] for row in known)
    values = [Fraction(Decimal(repr(row["valuenum"]))) for row in known if row["charttime"] == latest]
    return sum(values, Fraction()) / len(values)


def _is_a_result(row: Row) -> bool:
    if row["valuenum"] is None or any(_SPOILT.search(row[name] or "") for name in ("value", "comments")):
        return False
    return 0 < row["valuenum"] <= _HIGHEST


def bleeding(chart: Chart, case: Case) -> bool:
    """Three more units begun in the six hours after T, or a massive transfusion six hours around it."""
    return len(_further_units(chart, case)) >= _BLEEDING_UNITS or _massive_transfusion(chart, case)


def _further_units(chart: Chart, case: Case) -> set[int | str]:
    """Orders of red cells other than the index unit's; one unit may be charted in several rows."""
    rows = [row for row in chart.rows("icu.inputevents") if row["itemid"] in _RED_CELLS and _was_given(row)]
    begun = {_unit(row) for row in rows if row["starttime"] <= case.index_time}
    later = {_unit(row) for row in rows if _is_after(row, case)}
    return later - begun


def _is_after(row: Row, case: Case) -> bool:
    begin: timedelta = row["starttime"] - case.index_time
    return timedelta() < begin <= timedelta(hours=6)


def _unit(row: Row) -> int | str:
    for name in ("linkorderid", "orderid"):
        if row[name] is not None:
            return int(row[name])
    return str(row["eid"])


def _was_given(row: Row) -> bool:
    if (row["statusdescription"] or "").strip() == "Rewritten":
        return False
    # an amount that is not known yet belongs to a unit that still runs
    quantity: float = row["rate"] or 0 if row["amount"] is None else row["amount"]
    return quantity > 0


def _massive_transfusion(chart: Chart, case: Case) -> bool:
    first, last = (case.index_time + timedelta(hours=hours) for hours in (-6, 6))
    return any(
        row["itemid"] == _MASSIVE_TRANSFUSION
        and row["starttime"] <= last
        and (row["endtime"] is None or row["endtime"] >= first)
        for row in chart.rows("icu.procedureevents")
    )


def unstable(chart: Chart, case: Case) -> bool:
    """A vasopressor was running at T."""
    return any(
        row["itemid"] in _VASOPRESSORS
        and (row["rate"] or 0) > 0
        and (row["statusdescription"] or "").strip() != "Rewritten"
        and row["starttime"] <= case.index_time
        and (row["endtime"] is None or case.index_time < row["endtime"])
        for row in chart.rows("icu.inputevents")
    )
