"""Scenario 11: haemoglobin before the first red-cell transfusion.

Written from the catalogue, then amended where the scenario's SQL documents a correction of it; each is named
at its place.
"""

import re
from datetime import timedelta
from fractions import Fraction

from tests.second.chart import Case, Chart, Row
from tests.second.labs import as_printed

_BLOOD_COUNT, _GAS_ANALYSER = 51222, 50811
_RED_CELLS = {225168}
"""`Packed Red Blood Cells`; those given in the operating or recovery room have items of their own."""
_MASSIVE_TRANSFUSION = 229620
_VASOPRESSORS = {221906, 221289, 229617, 222315, 221749, 229630, 229631, 229632, 221662, 229709, 229764}
"""Correction: with the further items of epinephrine (229617) and phenylephrine (229631)."""

_HIGHEST = 30
_RESTRICTIVE, _LIBERAL = 7, 8
"""g/dL: below the one in any patient, at or above the other in no stable patient."""
_BLEEDING_UNITS = 3
LEFT_OUT = "left_out"
"""No verdict: such a case may be in no cohort."""
_SPOILT = re.compile(r"cancel|quantity not sufficient|\bqns\b|specimen lost|lost specimen", re.IGNORECASE)
_HAEMOLYSIS_UNCHECKED = re.compile(r"qns to verify( hemolysis)?", re.IGNORECASE)
"""The value stands; the shared definitions add this to the catalogue's list of what spoils one."""
_DISEASE = re.compile(
    r"coronary\s+(artery\s+)?(disease|bypass)|\b(cad|cabg|n?stemi|chf|hfref|hfpef)\b|myocardial\s+infarct"
    r"|\bstents?\b|heart\s+failure|cardiomyopathy",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(no|not|denie[sd]|without|negative|rule[sd]?\s+out|family|mother|father|brother|sister)\b",
    re.IGNORECASE,
)


def decide(chart: Chart, case: Case) -> str:
    """The verdict from the last haemoglobin that was known when the unit was started."""
    haemoglobin = last_haemoglobin(chart, case)
    if haemoglobin is None:
        return "lack_of_data"
    if haemoglobin < _RESTRICTIVE:
        return "yes"
    if haemoglobin < _LIBERAL:
        # Correction: the higher threshold may be chosen where heart disease was known, not in everybody
        return "medical_ambiguity" if heart_disease(chart, case) else LEFT_OUT
    # Correction: no recognised threshold makes it too low in a patient who is not stable, nor is no fair
    return LEFT_OUT if bleeding(chart, case) or unstable(chart, case) else "no"


def last_haemoglobin(chart: Chart, case: Case) -> Fraction | None:
    """g/dL of the latest draw in the 24 hours before T whose result was there by T."""
    known = [
        row
        for row in chart.rows("hosp.labevents")
        if row["itemid"] in (_BLOOD_COUNT, _GAS_ANALYSER)
        and row["available_at"] <= case.index_time
        and row["charttime"] >= case.index_time - timedelta(hours=24)
        and _is_a_result(row)
    ]
    if not known:
        return None
    # of two tests of one moment the blood count's, as the scenario's definitions add to the catalogue
    latest = max((row["charttime"], row["itemid"] == _BLOOD_COUNT) for row in known)
    values = [
        as_printed(row["valuenum"])
        for row in known
        if (row["charttime"], row["itemid"] == _BLOOD_COUNT) == latest
    ]
    return sum(values, Fraction()) / len(values)


def _is_a_result(row: Row) -> bool:
    said = " ".join(_HAEMOLYSIS_UNCHECKED.sub("", row[name] or "") for name in ("value", "comments"))
    if row["valuenum"] is None or _SPOILT.search(said):
        return False
    value: float = row["valuenum"]
    return 0 < value <= _HIGHEST


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
    """A vasopressor was running at T.

    Correction: its row began in the 24 hours before, since a change of rate begins a new one; a push does not
    run.
    """
    return any(
        row["itemid"] in _VASOPRESSORS
        and _was_given(row)
        and row["ordercategorydescription"] != "Drug Push"
        and case.index_time - timedelta(hours=24) < row["starttime"] <= case.index_time
        and (row["endtime"] is None or case.index_time < row["endtime"])
        for row in chart.rows("icu.inputevents")
    )


def heart_disease(chart: Chart, case: Case) -> bool:
    """Coronary disease, heart failure or cardiomyopathy was written down by T: coded, in a summary, in a report."""
    codes = (row for row in chart.rows("hosp.diagnoses_icd") if row["available_at"] <= case.index_time)
    if any(_is_cardiac(row["icd_version"], row["icd_code"].strip()) for row in codes):
        return True
    notes = [*chart.rows("note.discharge"), *chart.rows("note.radiology")]
    texts = [row["text"] for row in notes if row["available_at"] <= case.index_time and row["text"]]
    return any(_is_stated(clause) for text in texts for clause in re.split(r"[.;]|\n\s*\n", text))


def _is_cardiac(version: int, code: str) -> bool:
    if version == 9:
        hypertensive = code[:3] in ("402", "404") and code[3:4] in ("0", "1", "9")
        failing = code[4:5] == "1" or (code[:3] == "404" and code[4:5] == "3")
        ischaemic = code[:3] in ("410", "411", "412", "413", "414", "425", "428")
        return ischaemic or code[:5] in ("V4581", "V4582") or (hypertensive and failing)
    ischaemic = code[:1] == "I" and code[1:3] in ("20", "21", "22", "23", "24", "25", "42", "50")
    return ischaemic or code[:4] in ("I110", "I130", "I132", "Z951", "Z955")


def _is_stated(clause: str) -> bool:
    """The clause names the disease and nothing before the name denies it or says that it is a relative's."""
    named = _DISEASE.search(clause)
    return named is not None and _DENIED.search(clause[: named.start()]) is None
