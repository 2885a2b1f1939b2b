"""Scenario 25: urinary catheter out by the end of postoperative day 2."""

from collections.abc import Iterator
from datetime import datetime, time, timedelta

from tests.second.chart import Case, Chart, Row

_CATHETER = 229351
_FOLEY, _VOID, _CONDOM = 226559, 226560, 226561
_REMOVAL_DATES = {227584, 229353}
"""`GU Catheter D/C Date` and `Foley Cath Removal Date`."""
_VASOPRESSORS = {221906, 221289, 222315, 221749, 229630, 229632, 221662, 229709, 229764}
_FUROSEMIDE = {221794, 228340}
_NEUROMUSCULAR_BLOCK = 221555
_RENAL_REPLACEMENT = {225802, 225803, 225809, 225955}
_EPIDURAL = 227713

_AT_DISCHARGE = timedelta(minutes=15)
_REPLACED_WITHIN = timedelta(hours=2)


def decide(chart: Chart, case: Case) -> str:
    """The verdict from when the catheter came out and from what shows it in place after the cut."""
    cut = end_of_second_day(case.index_time)
    out_in_time = any(moment <= cut for moment in removals(chart, case))
    in_place = still_in(chart, case, cut)
    if not in_place:
        return "yes" if out_in_time else "lack_of_data"
    return "medical_ambiguity" if out_in_time or needed(chart, cut) else "no"


def end_of_second_day(surgery: datetime) -> datetime:
    """23:59:59 of the second day after the day of surgery, which is day 0."""
    return datetime.combine(surgery.date() + timedelta(days=2), time(23, 59, 59))


def removals(chart: Chart, case: Case) -> Iterator[datetime]:
    """The moments, after arrival, that each source gives for the catheter's removal."""
    yield from (row["endtime"] for row in _catheters(chart) if _is_removal(chart, case, row))
    yield from (moment for moment in _removal_dates(chart) if moment >= case.index_time)
    last_foley = max((row["charttime"] for row in _outputs(chart, _FOLEY)), default=None)
    for row in _outputs(chart, _VOID, _CONDOM):
        if row["charttime"] > case.index_time and (last_foley is None or last_foley <= row["charttime"]):
            yield row["charttime"]


def _catheters(chart: Chart) -> list[Row]:
    return [row for row in chart.rows("icu.procedureevents") if row["itemid"] == _CATHETER]


def _is_removal(chart: Chart, case: Case, row: Row) -> bool:
    """Its end is known, is not that of the ICU stay, and no other catheter takes over."""
    end = row["endtime"]
    if end is None or end <= case.index_time:
        return False
    departures = [stay["outtime"] for stay in chart.rows("icu.icustays") if stay["outtime"] is not None]
    if any(abs(end - departure) <= _AT_DISCHARGE for departure in departures):
        return False
    return not any(
        other["eid"] != row["eid"]
        and other["starttime"] <= end + _REPLACED_WITHIN
        and (other["endtime"] is None or other["endtime"] > end)
        for other in _catheters(chart)
    )


def _removal_dates(chart: Chart) -> list[datetime]:
    return [
        row["value"]
        for row in chart.rows("icu.datetimeevents")
        if row["itemid"] in _REMOVAL_DATES and row["value"] is not None
    ]


def _outputs(chart: Chart, *items: int) -> list[Row]:
    return [row for row in chart.rows("icu.outputevents") if row["itemid"] in items]


def still_in(chart: Chart, case: Case, cut: datetime) -> bool:
    """Something shows the catheter in place after the cut; a missing end of its row shows nothing."""
    return (
        any(cut < row["charttime"] <= case.as_of for row in _outputs(chart, _FOLEY))
        or any(cut < moment <= case.as_of for moment in _removal_dates(chart))
        or any(
            row["starttime"] < cut and row["endtime"] is not None and row["endtime"] > cut
            for row in _catheters(chart)
        )
    )


def needed(chart: Chart, cut: datetime) -> bool:
    """An accepted reason to keep a catheter held at the cut."""
    inputs = (row for row in chart.rows("icu.inputevents") if _spans(row, cut) and (row["rate"] or 0) > 0)
    procedures = (row for row in chart.rows("icu.procedureevents") if _spans(row, cut))
    return any(map(_is_reason_infused, inputs)) or any(
        row["itemid"] in _RENAL_REPLACEMENT or row["itemid"] == _EPIDURAL for row in procedures
    )


def _is_reason_infused(row: Row) -> bool:
    if (row["statusdescription"] or "").strip() == "Rewritten":
        return False
    if row["itemid"] in _FUROSEMIDE:
        return (row["ordercategorydescription"] or "").strip() == "Continuous Med"
    return row["itemid"] in _VASOPRESSORS or row["itemid"] == _NEUROMUSCULAR_BLOCK


def _spans(row: Row, moment: datetime) -> bool:
    begin: datetime = row["starttime"]
    return begin <= moment and (row["endtime"] is None or row["endtime"] > moment)
