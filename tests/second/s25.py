"""Scenario 25: urinary catheter out by the end of postoperative day 2.

Written from the catalogue, then amended where the scenario's SQL documents a correction of it; each is named
at its place.
"""

from collections.abc import Iterator
from datetime import datetime, time, timedelta

from tests.second.chart import Case, Chart, Row

_CATHETER = 229351
_FOLEY, _VOID, _CONDOM, _STRAIGHT = 226559, 226560, 226561, 226567
"""Correction: urine from a straight catheter shows, as a void does, that the other one is out."""
_REMOVAL_DATES = {227584, 229353}
"""`GU Catheter D/C Date` and `Foley Cath Removal Date`."""
_VASOPRESSORS = {221906, 221289, 229617, 222315, 221749, 229630, 229631, 229632, 221662, 229709, 229764}
_FUROSEMIDE = {221794, 228340}
_NEUROMUSCULAR_BLOCK = {221555, 222062, 229233}
_RENAL_REPLACEMENT = {225802, 225803, 225809, 225955}
_EPIDURAL_RATE = 224366
_NOT_RUNNING = {"Drug Push", "Bolus", "Non Iv Meds"}

_AT_DISCHARGE = timedelta(minutes=15)
_REPLACED_WITHIN = timedelta(hours=2)
_LAST_EMPTYING = timedelta(minutes=60)
_EPIDURAL_CHECKED = timedelta(hours=8)
LEFT_OUT = "left_out"
"""No verdict: such a case may be in no cohort."""


def decide(chart: Chart, case: Case) -> str:
    """The verdict from when the catheter came out and from what shows it in place after the cut."""
    cut = end_of_second_day(case.index_time)
    lasting, put_back = removals(chart, case, cut)
    if still_in(chart, case, cut, min(lasting, default=None)):
        return "medical_ambiguity" if lasting or put_back or needed(chart, cut) else "no"
    if lasting:
        return "yes"
    # Correction: out, in again, and nothing of the second one's stay
    return LEFT_OUT if put_back else "lack_of_data"


def end_of_second_day(surgery: datetime) -> datetime:
    """23:59:59 of the second day after the day of surgery, which is day 0."""
    return datetime.combine(surgery.date() + timedelta(days=2), time(23, 59, 59))


def removals(chart: Chart, case: Case, cut: datetime) -> tuple[list[datetime], list[datetime]]:
    """The signs of removal by the cut that hold, and those after which the catheter was put back by the cut.

    Correction: Foley output more than an hour after a sign (and by the cut, and before a new catheter's row)
    contradicts it.
    """
    output = [row["charttime"] for row in _outputs(chart, _FOLEY)]
    begun = [row["starttime"] for row in _catheters(chart)]
    lasting, put_back = [], []
    for moment in _signs(chart, case):
        if not case.index_time < moment <= cut:
            continue
        again = min((start for start in begun if moment + _REPLACED_WITHIN < start <= cut), default=None)
        contradicting = [when for when in output if moment + _LAST_EMPTYING < when <= cut]
        if again is None and not contradicting:
            lasting.append(moment)
        if again is not None and not any(when < again for when in contradicting):
            put_back.append(moment)
    return lasting, put_back


def _signs(chart: Chart, case: Case) -> Iterator[datetime]:
    yield from (row["endtime"] for row in _catheters(chart) if _ends_by_removal(chart, row))
    yield from (_end_of_date(moment) for moment in _removal_dates(chart, case))
    yield from (row["charttime"] for row in _outputs(chart, _VOID, _CONDOM, _STRAIGHT))


def _catheters(chart: Chart) -> list[Row]:
    rows = chart.rows("icu.procedureevents")
    return [row for row in rows if row["itemid"] == _CATHETER and not _is_rewritten(row)]


def _is_rewritten(row: Row) -> bool:
    """The shared definitions say it of procedures too; the catalogue only of infusions."""
    return (row["statusdescription"] or "").strip() == "Rewritten"


def _ends_by_removal(chart: Chart, row: Row) -> bool:
    """Its end is known, is not that of the ICU stay, and no other catheter takes over."""
    end = row["endtime"]
    if end is None:
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


def _removal_dates(chart: Chart, case: Case) -> list[datetime]:
    """As charted; one of the day of surgery without a time may be that of an earlier catheter and is none."""
    return [
        row["value"]
        for row in chart.rows("icu.datetimeevents")
        if row["itemid"] in _REMOVAL_DATES and row["value"] is not None and row["value"] > case.index_time
    ]


def _end_of_date(moment: datetime) -> datetime:
    """Correction: a date without a time may be any moment of its day."""
    return moment.replace(hour=23, minute=59, second=59) if moment.time() == time() else moment


def _outputs(chart: Chart, *items: int) -> list[Row]:
    rows = chart.rows("icu.outputevents")
    return [row for row in rows if row["itemid"] in items and row["value"] is not None]


def still_in(chart: Chart, case: Case, cut: datetime, out: datetime | None) -> bool:
    """Something shows the catheter in place after the cut; a missing end of its row shows nothing."""
    moments = [row["charttime"] for row in _outputs(chart, _FOLEY) if row["charttime"] > cut]
    moments += [moment for moment in _removal_dates(chart, case) if cut < moment <= case.as_of]
    moments += [
        cut
        for row in _catheters(chart)
        if row["starttime"] <= cut and row["endtime"] is not None and row["endtime"] > cut
    ]
    if out is None:
        return bool(moments)
    # Correction: a catheter put in after the cut, when the first one was out, is another one
    others = [row["starttime"] for row in _catheters(chart)]
    another = min((start for start in others if start > cut and start > out + _REPLACED_WITHIN), default=None)
    return any(another is None or moment < another for moment in moments)


def needed(chart: Chart, cut: datetime) -> bool:
    """An accepted reason to keep a catheter held at the cut.

    Correction: vecuronium and rocuronium are reasons as cisatracurium is, and an epidural is shown by the rate
    charted in the eight hours before; its placement (227713) is a moment.
    """
    inputs = (row for row in chart.rows("icu.inputevents") if _spans(row, cut))
    procedures = (row for row in chart.rows("icu.procedureevents") if _spans(row, cut))
    return (
        any(map(_is_reason_infused, inputs))
        or any(row["itemid"] in _RENAL_REPLACEMENT and not _is_rewritten(row) for row in procedures)
        or any(
            row["itemid"] == _EPIDURAL_RATE
            and (row["valuenum"] or 0) > 0
            and cut - _EPIDURAL_CHECKED <= row["charttime"] <= cut
            for row in chart.rows("icu.chartevents")
        )
    )


def _is_reason_infused(row: Row) -> bool:
    """It ran, which a push does not: with an amount, or with a rate where the amount is not known yet."""
    if _is_rewritten(row) or (row["ordercategorydescription"] or "").strip() in _NOT_RUNNING:
        return False
    quantity: float = (row["rate"] or 0) if row["amount"] is None else row["amount"]
    return row["itemid"] in _VASOPRESSORS | _FUROSEMIDE | _NEUROMUSCULAR_BLOCK and quantity > 0


def _spans(row: Row, moment: datetime) -> bool:
    begin: datetime = row["starttime"]
    return begin <= moment and (row["endtime"] is None or row["endtime"] > moment)
