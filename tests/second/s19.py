"""Scenario 19: QT-prolonging drug after an ECG with QTc of 500 ms.

Written from the catalogue, then amended where the scenario's SQL documents a correction of it; each is named
at its place.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.second.chart import Case, Chart, Row

_QTC_CHARTED = 224359
_QTC_LIMIT, _QRS_LIMIT = 500, 120
"""Milliseconds; reached counts."""
_WINDOW = timedelta(hours=24)
_NEAR = timedelta(hours=6)

_DRUGS = re.compile(
    "amiodarone|sotalol|dofetilide|ibutilide|procainamide|quinidine|dronedarone|haloperidol|chlorpromazine"
    "|droperidol|methadone|citalopram|escitalopram|donepezil|ondansetron|azithromycin|clarithromycin"
    "|erythromycin|levofloxacin|moxifloxacin|ciprofloxacin|fluconazole|hydroxychloroquine|pentamidine",
    re.IGNORECASE,
)
_NOT_SYSTEMIC = re.compile("ophth|otic|topical", re.IGNORECASE)
_LOCAL_ROUTE = re.compile(r"\b(eyes?|ears?|ophth\w*|otic|topical|tp|o[uds]|a[uds])\b", re.IGNORECASE)
_INFUSED = {
    221347, 228339, 229654, 230034, 221824, 229616, 225845, 225866, 225879, 225886, 225859, 225869, 227520, 222151,
}  # fmt: skip
"""Correction: with amiodarone's item 230034."""
_GIVEN = {
    "Administered",
    "Administered in Other Location",
    "Administered Bolus from IV Drip",
    "Delayed Administered",
    "Partial Administered",
    "Started",
    "Started in Other Location",
    "Delayed Started",
    "Restarted",
    "Applied",
    "Applied in Other Location",
    "Removed Existing / Applied New",
}


@dataclass(frozen=True)
class _Intervals:
    """Corrected QT by Bazett and by Fridericia, and the width of QRS, all in ms."""

    bazett: float
    fridericia: float
    qrs: float

    @property
    def prolonged(self) -> int:
        """How many of the two corrections reach the limit."""
        return sum(value >= _QTC_LIMIT for value in (self.bazett, self.fridericia))


def decide(chart: Chart, case: Case) -> str:
    """The verdict from the corrected QT at T and the doses of the day after it."""
    measured = intervals(chart, case)
    if measured is not None and not measured.prolonged:
        return "no"
    # Correction: without a dose the answer is no with any QTc, so that one nobody measured is no lack of data
    if not dosed(chart, case):
        return "no" if recording(chart, case) else "lack_of_data"
    if measured is None:
        return "lack_of_data"
    if measured.prolonged == 1 or measured.qrs >= _QRS_LIMIT:
        return "medical_ambiguity"
    return "yes"


def intervals(chart: Chart, case: Case) -> _Intervals | None:
    """Those of the index ECG, else a QTc charted within six hours, else nothing."""
    ecg = next((r for r in chart.rows("ecg.machine_measurements") if r["eid"] == case.index_eid), None)
    return (ecg and _from_ecg(ecg)) or _charted(chart, case)


def _from_ecg(row: Row) -> _Intervals | None:
    fields = [row[name] for name in ("rr_interval", "qrs_onset", "qrs_end", "t_end")]
    if any(field is None or not 0 <= field <= 5000 for field in fields):
        return None
    rr, onset, end, t_end = fields
    qt = t_end - onset
    # Correction: a QRS that ends before it begins is no measurement
    if not (300 <= rr <= 2000 and 200 <= qt <= 800 and onset < end):
        return None
    seconds = rr / 1000
    return _Intervals(bazett=qt / seconds**0.5, fridericia=qt / seconds ** (1 / 3), qrs=end - onset)


def _charted(chart: Chart, case: Case) -> _Intervals | None:
    """The charted QTc nearest to T; it states no width of QRS, which counts as narrow.

    That it must lie between 200 and 800 ms is the scenario's definition; the catalogue says it of the ECG only.
    """
    found: defaultdict[datetime, list[float]] = defaultdict(list)
    for row in chart.rows("icu.chartevents"):
        if row["itemid"] == _QTC_CHARTED and abs(row["charttime"] - case.index_time) <= _NEAR:
            value = row["valuenum"] or 0
            milliseconds = value * 1000 if value < 2 else value
            if 200 <= milliseconds <= 800:
                found[row["charttime"]].append(milliseconds)
    if not found:
        return None
    nearest = min(found, key=lambda moment: (abs(moment - case.index_time), moment))
    value = sum(found[nearest]) / len(found[nearest])
    return _Intervals(bazett=value, fridericia=value, qrs=0)


def dosed(chart: Chart, case: Case) -> bool:
    """A listed drug was given in the 24 hours after T."""
    return any(_is_dose(row, case) and _is_systemic(chart, row) for row in chart.rows("hosp.emar")) or any(
        _is_infusion(row, case) for row in chart.rows("icu.inputevents")
    )


def _is_dose(row: Row, case: Case) -> bool:
    name = (row["medication"] or "").rstrip()
    return (
        timedelta() < row["charttime"] - case.index_time <= _WINDOW
        and (row["event_txt"] or "").strip() in _GIVEN
        and _DRUGS.search(name) is not None
        and _NOT_SYSTEMIC.search(name) is None
    )


def _is_systemic(chart: Chart, dose: Row) -> bool:
    """By mouth, vein or muscle, as the scenario's definition has it; the catalogue looks at the name only.

    The route is that of the dose's own detail, else of its pharmacy order, else of its prescription.
    """
    details = [row for row in chart.rows("hosp.emar_detail") if row["eid"] == dose["eid"]]
    numbers = {row["pharmacy_id"] for row in (dose, *details)} - {None}
    sources = (
        details,
        [row for row in chart.rows("hosp.pharmacy") if row["pharmacy_id"] in numbers],
        [row for row in chart.rows("hosp.prescriptions") if row["pharmacy_id"] in numbers],
    )
    for rows in sources:
        routes = [row["route"] for row in rows if row["route"]]
        if routes:
            return not any(_LOCAL_ROUTE.search(route) for route in routes)
    return True


def _is_infusion(row: Row, case: Case) -> bool:
    if row["itemid"] not in _INFUSED or (row["statusdescription"] or "").strip() == "Rewritten":
        return False
    # Correction: one that was running at T counts although it began before
    running = row["starttime"] <= case.index_time and (
        row["endtime"] is None or row["endtime"] > case.index_time
    )
    if not running and not timedelta() < row["starttime"] - case.index_time <= _WINDOW:
        return False
    # an amount that is not known yet belongs to a dose that still runs
    quantity: float = row["rate"] or 0 if row["amount"] is None else row["amount"]
    return quantity > 0


def recording(chart: Chart, case: Case) -> bool:
    """Doses of every listed drug would have been seen: the medication record was in use.

    An ICU chart alone does not show it (the scenario's SQL names that as a correction, too), since most of the listed drugs, and tablets of any, are not charted
    among its inputs.
    """
    first, last = case.index_time, case.index_time + _WINDOW
    margin = timedelta(hours=12)
    until = min(last + margin, case.as_of)
    seen = [
        row["charttime"] for row in chart.rows("hosp.emar") if first - margin <= row["charttime"] <= until
    ]
    return len(seen) >= 3 and any(first <= moment <= last for moment in seen)
