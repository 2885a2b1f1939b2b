"""Scenario 7: follow-up blood cultures in S. aureus bacteraemia."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.second.chart import Case, Chart, Row

_CANCELLED = 90760
_DAY = timedelta(hours=24)


@dataclass(frozen=True)
class _Specimen:
    """A blood culture that was not cancelled; `drawn` is None where only the day is known."""

    drawn: datetime | None
    day: datetime | None
    lytic: bool


def decide(chart: Chart, case: Case) -> str:
    """The verdict from the blood cultures of days 1 to 4 and whether the patient was there for them."""
    first, last = case.index_time + 2 * _DAY, case.index_time + 4 * _DAY
    specimens = _without_lytic_beside_others(_blood_cultures(chart), first - _DAY, last)
    drawn = [specimen.drawn for specimen in specimens if specimen.drawn]
    if any(first <= when <= last for when in drawn):
        return "yes"
    if any(_may_lie_in(specimen, first, last) for specimen in specimens):
        return "lack_of_data"
    if _left_before(chart, case, last):
        return "lack_of_data"
    return "medical_ambiguity" if any(first - _DAY <= when < first for when in drawn) else "no"


def _may_lie_in(specimen: _Specimen, first: datetime, last: datetime) -> bool:
    if specimen.drawn or specimen.day is None:
        return False
    midnight = specimen.day.replace(hour=0, minute=0, second=0)
    return midnight <= last and first < midnight + _DAY


def _left_before(chart: Chart, case: Case, moment: datetime) -> bool:
    admission = next(row for row in chart.rows("hosp.admissions") if row["hadm_id"] == case.hadm_id)
    ends = [admission["dischtime"], admission["deathtime"]]
    return any(end is not None and end < moment for end in ends)


def _blood_cultures(chart: Chart) -> list[_Specimen]:
    """Blood cultures by specimen, whatever grew, with at least one test of growth that was carried out."""
    rows: defaultdict[int | None, list[Row]] = defaultdict(list)
    for row in chart.rows("hosp.microbiologyevents"):
        if "blood culture" in (row["spec_type_desc"] or "").lower() and _seeks_growth(row):
            rows[row["micro_specimen_id"]].append(row)
    return [_Specimen(r[0]["charttime"], r[0]["chartdate"], _is_lytic(r[0])) for r in rows.values()]


def _seeks_growth(row: Row) -> bool:
    if row["org_itemid"] == _CANCELLED or (row["org_name"] or "").strip().upper() == "CANCELLED":
        return False
    # a culture that is not reported yet names no test
    return row["test_name"] is None or "culture" in row["test_name"].lower()


def _is_lytic(row: Row) -> bool:
    return "myco/f lytic" in row["spec_type_desc"].lower()


def _without_lytic_beside_others(
    specimens: Iterable[_Specimen], first: datetime, last: datetime
) -> list[_Specimen]:
    """A lytic bottle is another test: it is a repeat only where no ordinary one was drawn in [first, last]."""
    ordinary = [specimen for specimen in specimens if not specimen.lytic]
    if any(specimen.drawn and first <= specimen.drawn <= last for specimen in ordinary):
        return ordinary
    return list(specimens)
