"""Scenario 7: follow-up blood cultures in S. aureus bacteraemia.

Where the catalogue's patterns and the scenario differ in what a blood culture is, it follows the scenario: the type of
specimen begins with the words, autopsies and newborns are left out, a Gram stain shows a specimen too, and the bottle
for fungi and mycobacteria counts like any other.
"""

from collections import defaultdict
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


def decide(chart: Chart, case: Case) -> str:
    """The verdict from the blood cultures of days 1 to 4 and whether the patient was there for them."""
    first, last = case.index_time + 2 * _DAY, case.index_time + 4 * _DAY
    specimens = _blood_cultures(chart)
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
    """Blood cultures by specimen, whatever grew, with at least one test that was carried out."""
    rows: defaultdict[int | None, list[Row]] = defaultdict(list)
    for row in chart.rows("hosp.microbiologyevents"):
        if _is_of_blood(row["spec_type_desc"] or "") and not _is_cancelled(row):
            rows[row["micro_specimen_id"]].append(row)
    return [_Specimen(tests[0]["charttime"], tests[0]["chartdate"]) for tests in rows.values()]


def _is_of_blood(specimen_type: str) -> bool:
    name = specimen_type.lower()
    return name.startswith("blood culture") and not any(word in name for word in ("post-mortem", "neonat"))


def _is_cancelled(row: Row) -> bool:
    return row["org_itemid"] == _CANCELLED or (row["org_name"] or "").strip().upper() == "CANCELLED"
