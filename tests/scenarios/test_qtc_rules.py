"""The rules of the long QTc at their boundaries: a minute and a unit either side of each."""

from itertools import count

import pytest

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    charted,
    detail,
    given,
    infused,
    lab,
    order,
    procedure,
)

SCENARIO = "19-long-qtc-drug-exposure"

QTC, HEART_RATE, POTASSIUM = 224359, 220045, 50971
AMIODARONE, HALOPERIDOL = 230034, 221824
SENT, RECEIVED = 225470, 225469
MISSING = 29999

YES, SHORT, NOT_GIVEN = ("yes", "exposed"), ("no", "not_prolonged"), ("no", "not_given")
UNMEASURED, NOT_RECORDING = ("lack_of_data", "unmeasured"), ("lack_of_data", "not_recording")
DIFFER, WIDE = ("medical_ambiguity", "formulas_differ"), ("medical_ambiguity", "wide_qrs")

UNIT = (-20 * HOUR, 60 * HOUR)
PRN = order(-3 * HOUR, "Ondansetron")
EMAR = tuple(given(hour * HOUR, "Heparin") for hour in (-5, -1, 2))
"""Three rows of another drug: the eMAR was recording."""

_studies = count(40_000_000)


def ecg(rr: int, qt: int | None, qrs: int = 96, *, at: float = 0, onset: int = 200) -> Row:
    values = {
        "study_id": next(_studies), "ecg_time": after(at), "rr_interval": rr, "qrs_onset": onset,
        "qrs_end": onset + qrs, "t_end": MISSING if qt is None else onset + qt, "report_0": "Sinus rhythm",
    }  # fmt: skip
    return Row("ecg.machine_measurements", values)


def chart(index: Row, *rows: Row, prescribed: Row = PRN, **stay: object) -> Chart:
    return Chart(rows=(index, prescribed, *EMAR, *rows), **stay)  # type: ignore[arg-type]


def silent(index: Row, *rows: Row, **stay: object) -> Chart:
    """A chart without the three eMAR rows."""
    return Chart(rows=(index, PRN, *rows), **stay)  # type: ignore[arg-type]


def long(*rows: Row, **stay: object) -> Chart:
    """QT 470 at RR 800: 525 ms by Bazett, 506 by Fridericia."""
    return chart(ecg(800, 470), *rows, **stay)


def unit(*rows: Row) -> Chart:
    return long(*rows, icu=UNIT)


def charting(*rows: Row) -> Chart:
    """An ECG without a rate in an ICU, and a dose."""
    return chart(ecg(MISSING, 470, 150), DOSE, *rows, icu=UNIT)


def dose(at: float, name: str = "Ondansetron", event: str | None = "Administered") -> Row:
    return given(at, name, event)


def routed(name: str, route: str) -> Chart:
    return long(given(HOUR, name, pharmacy_id=7), order(-HOUR, name, route, pharmacy_id=7))


DOSE = dose(HOUR)

# fmt: off
CASES = {
    # --- the corrected QT
    "long by both formulas, and a dose": (long(DOSE), YES),
    "500 by both": (chart(ecg(1000, 500), DOSE), YES),
    "499 by both": (chart(ecg(1000, 499), DOSE), SHORT),
    "500 by Bazett alone": (chart(ecg(640, 400), DOSE), DIFFER),
    "less by Bazett, and much less by Fridericia": (chart(ecg(640, 399), DOSE), SHORT),
    "500 by Fridericia alone": (chart(ecg(1210, 540), DOSE), DIFFER),
    "a fast rate": (chart(ecg(550, 380, 90), DOSE), DIFFER),
    "a QRS of 119": (chart(ecg(800, 470, 119), DOSE), YES),
    "a QRS of 120": (chart(ecg(800, 470, 120), DOSE), WIDE),
    "a wide QRS, and long by one formula": (chart(ecg(640, 400, 150), DOSE), DIFFER),
    "a wide QRS without a dose": (chart(ecg(800, 470, 150)), NOT_GIVEN),
    "long by one formula without a dose": (chart(ecg(640, 400)), NOT_GIVEN),
    # --- what can be measured
    "an RR of 300": (chart(ecg(300, 300), DOSE), DIFFER),
    "an RR of 299": (chart(ecg(299, 300), DOSE), UNMEASURED),
    "an RR of 2000": (chart(ecg(2000, 800), DOSE), YES),
    "an RR of 2001": (chart(ecg(2001, 800), DOSE), UNMEASURED),
    "a QT of 801": (chart(ecg(2000, 801), DOSE), UNMEASURED),
    "a QT of 199": (chart(ecg(800, 199), DOSE), UNMEASURED),
    "a T wave that ends at 5000": (chart(ecg(1000, 600, onset=4400), DOSE), YES),
    "a T wave that ends at 5001": (chart(ecg(1000, 600, onset=4401), DOSE), UNMEASURED),
    "no end of the T wave": (chart(ecg(800, None), DOSE), UNMEASURED),
    "a QRS that ends where it begins": (chart(ecg(800, 470, 0), DOSE), UNMEASURED),
    "no measurement and no dose": (chart(ecg(800, None)), NOT_GIVEN),
    "no measurement, no dose and no eMAR": (silent(ecg(800, None)), UNMEASURED),
    # --- the charted QTc
    "charted six hours before": (charting(charted(QTC, -6 * HOUR, 0.52)), YES),
    "charted a minute earlier": (charting(charted(QTC, -6 * HOUR - 1, 0.52)), UNMEASURED),
    "charted six hours after": (charting(charted(QTC, 6 * HOUR, 0.52)), YES),
    "charted a minute later": (charting(charted(QTC, 6 * HOUR + 1, 0.52)), UNMEASURED),
    "charted as 0.5 seconds": (charting(charted(QTC, 30, 0.5)), YES),
    "charted as 0.499": (charting(charted(QTC, 30, 0.499)), SHORT),
    "charted in milliseconds": (charting(charted(QTC, 30, 500)), YES),
    "charted as 801 ms": (charting(charted(QTC, 30, 801)), UNMEASURED),
    "charted as 199 ms": (charting(charted(QTC, 30, 199)), UNMEASURED),
    "the nearest one": (charting(charted(QTC, 30, 0.47), charted(QTC, -31, 0.55)), SHORT),
    "of two equally near the earlier": (charting(charted(QTC, 30, 0.47), charted(QTC, -30, 0.55)), YES),
    "two of one moment that average 495": (charting(charted(QTC, 30, 480), charted(QTC, 30, 510)), SHORT),
    "two of one moment that average 500": (charting(charted(QTC, 30, 490), charted(QTC, 30, 510)), YES),
    "a usable ECG needs no charted one": (unit(DOSE, charted(QTC, 0, 0.44)), YES),
    "charted beside no dose and no eMAR": (
        silent(ecg(800, None), charted(QTC, 30, 0.52), icu=UNIT), NOT_RECORDING),
    "charted short, no dose and no eMAR": (
        silent(ecg(800, None), charted(QTC, 30, 0.46), icu=UNIT), SHORT),
    # --- the twenty-four hours
    "a dose at the ECG": (long(dose(0)), NOT_GIVEN),
    "a dose a minute later": (long(dose(1)), YES),
    "a dose after twenty-four hours": (long(dose(DAY)), YES),
    "a dose a minute after them": (long(dose(DAY + 1)), NOT_GIVEN),
    "a dose stored after as-of does not exist": (
        long(Row("hosp.emar", {**dose(23 * HOUR).values, "storetime": after(DAY + 1)})), NOT_GIVEN),
    "a dose before the ECG": (long(dose(-60), dose(-10)), NOT_GIVEN),
    # --- what was given
    "not given": (long(dose(HOUR, event="Not Given")), NOT_GIVEN),
    "held": (long(dose(HOUR, event="Hold Dose")), NOT_GIVEN),
    "no event": (long(dose(HOUR, event=None)), NOT_GIVEN),
    "a further order": (long(order(HOUR, "Haloperidol")), NOT_GIVEN),
    "escitalopram": (long(dose(HOUR, "Escitalopram Oxalate")), YES),
    "hydroxychloroquine": (long(dose(HOUR, "Hydroxychloroquine Sulfate")), YES),
    "another drug": (long(dose(HOUR, "Metoclopramide")), NOT_GIVEN),
    "eye drops": (long(dose(HOUR, "Ciprofloxacin 0.3% Ophth Soln")), NOT_GIVEN),
    "ear drops": (long(dose(HOUR, "Ciprofloxacin/Dexamethasone Otic")), NOT_GIVEN),
    "into an eye by its route": (routed("Erythromycin Ointment", "BOTH EYES"), NOT_GIVEN),
    "on the skin by its route": (routed("Erythromycin Gel", "TP"), NOT_GIVEN),
    "by mouth": (routed("Erythromycin", "PO"), YES),
    "a push of the ICU's inputs": (unit(infused(HALOPERIDOL, HOUR, 5)), YES),
    "of no amount": (unit(infused(HALOPERIDOL, HOUR, 0)), NOT_GIVEN),
    "rewritten": (unit(infused(HALOPERIDOL, HOUR, 5, statusdescription="Rewritten")), NOT_GIVEN),
    "amiodarone begun at twenty-four hours": (unit(infused(AMIODARONE, DAY, 150, rate=1)), YES),
    "running at the ECG": (unit(infused(AMIODARONE, -6 * HOUR, 360, endtime=after(1))), YES),
    "ended at the ECG": (unit(infused(AMIODARONE, -6 * HOUR, 360, endtime=after(0))), NOT_GIVEN),
    "begun at the ECG": (unit(infused(AMIODARONE, 0, 360, endtime=after(60))), YES),
    # --- whether the eMAR was recording
    "nothing recorded": (silent(ecg(800, 470)), NOT_RECORDING),
    "a dose settles it": (silent(ecg(800, 470), DOSE), YES),
    "a short QTc settles it": (silent(ecg(1000, 490)), SHORT),
    "long by one formula, and no eMAR": (silent(ecg(640, 400)), NOT_RECORDING),
    "two rows are too few": (silent(ecg(800, 470), *EMAR[1:]), NOT_RECORDING),
    "twelve hours before counts": (silent(ecg(800, 470), *EMAR[1:], given(-12 * HOUR, "Heparin")), NOT_GIVEN),
    "a minute more does not": (silent(ecg(800, 470), *EMAR[1:], given(-12 * HOUR - 1, "Heparin")), NOT_RECORDING),
    "none from the ECG on": (silent(ecg(800, 470), *(given(-at, "Heparin") for at in (1, 2, 3))), NOT_RECORDING),
    "one at the ECG": (silent(ecg(800, 470), *(given(-at, "Heparin") for at in (0, 1, 2))), NOT_GIVEN),
    "the ICU's record does not stand in": (
        silent(ecg(800, 470), *(charted(HEART_RATE, at * HOUR) for at in range(-2, 25)), icu=UNIT), NOT_RECORDING),
}

OUTSIDE = {
    "479 by Bazett": chart(ecg(1000, 479)),
    "no listed drug ordered": Chart(rows=(ecg(800, 470), order(-HOUR, "Heparin"), *EMAR)),
    "an order that ended before": chart(
        ecg(800, 470), prescribed=Row("hosp.prescriptions", {**PRN.values, "stoptime": after(-1)})),
    "an order for the next day": chart(ecg(800, 470), prescribed=order(DAY + 1, "Ondansetron")),
    "an order of eye drops": chart(ecg(800, 470), prescribed=order(-HOUR, "Ciprofloxacin 0.3% Ophth Soln")),
    "an order of ear drops": chart(ecg(800, 470), prescribed=order(-HOUR, "Ciprofloxacin", "LEFT EAR")),
    "discharge within the day": long(leaves=DAY - 1),
    "in the emergency department": long(ed=(-HOUR, 1), registered=(-HOUR, 1)),
    "before the admission": Chart(rows=(ecg(800, 470, at=-2 * DAY - 1), order(-2 * DAY, "Ondansetron"))),
    "not measured, and repeated within six hours": chart(ecg(800, None), ecg(800, 400, at=6 * HOUR)),
    "not measured, and measured six hours before": chart(ecg(800, None), ecg(800, 400, at=-6 * HOUR)),
    "a child": long(age=17),
}

INSIDE = {
    "480 by Bazett": chart(ecg(1000, 480)),
    "an order that ends at the ECG": chart(
        ecg(800, 470), prescribed=Row("hosp.prescriptions", {**PRN.values, "stoptime": after(0)})),
    "an order from the last minute on": chart(ecg(800, 470), prescribed=order(DAY, "Ondansetron")),
    "discharge after a day": long(leaves=DAY),
    "after the emergency department": long(ed=(-2 * HOUR, 0), registered=(-2 * HOUR, 0)),
    "not measured, and repeated later": chart(ecg(800, None), ecg(800, 400, at=6 * HOUR + 1)),
    "repeated without a measurement": chart(ecg(800, None), ecg(800, None, at=20)),
}

DOUBTFUL = {
    "two milliseconds from 500": (chart(ecg(1000, 502), DOSE), False),
    "three milliseconds": (chart(ecg(1000, 503), DOSE), True),
    "two milliseconds below": (chart(ecg(1000, 498), DOSE), False),
    "near 500 and nothing given": (chart(ecg(1000, 500)), True),
    "a QRS of 121": (chart(ecg(800, 470, 121), DOSE), False),
    "a QRS of 118": (chart(ecg(800, 470, 118), DOSE), True),
    "a row that lost its verb": (long(dose(HOUR, event=" in Other Location")), False),
    "one beside a dose": (long(dose(HOUR, event="Delayed "), DOSE), True),
    "one before the ECG": (long(dose(-1, event="Delayed ")), True),
    "a drip that only the eMAR confirms": (
        long(dose(-5 * HOUR, "Amiodarone", "Confirmed"), dose(HOUR, "Amiodarone", "Confirmed")), False),
    "one that was stopped before": (
        long(dose(-5 * HOUR, "Amiodarone", "Started"), dose(-1, "Amiodarone", "Stopped")), True),
    "the operating room": (unit(procedure(SENT, 5 * HOUR, 301), procedure(RECEIVED, 8 * HOUR, 481)), False),
    "the operating room, and a short QTc": (
        chart(ecg(1000, 490), procedure(RECEIVED, 8 * HOUR, 481), icu=UNIT), True),
    "the operating room, and a dose": (unit(procedure(RECEIVED, 8 * HOUR, 481), DOSE), True),
}
# fmt: on

SHOWN = {
    "context": long(lab(POTASSIUM, -HOUR, 3.3), dose(HOUR, event="Not Given")),
    "two records of one dose": unit(dose(60, "Haloperidol"), infused(HALOPERIDOL, 61, 5), detail("IV")),
}


FURTHER = SHOWN | {name: case for name, (case, _) in DOUBTFUL.items()}


class TestRules(Rules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", DOUBTFUL)
def test_a_hair_s_breadth_or_a_dose_that_may_have_been_given_takes_a_case_out(
    claim: str, judged: Judged
) -> None:
    assert judged.eligible[claim] is DOUBTFUL[claim][1]


class TestEvidence:
    """What an answer must rest on."""

    def test_exposure_rests_on_the_ecg_and_any_one_dose(self, judged: Judged) -> None:
        needs = judged.evidence["two records of one dose"]
        assert list(needs) == ["index_ecg", "dose"]
        assert len(needs["dose"].alternatives) == 2

    def test_a_short_qtc_rests_on_the_ecg_alone(self, judged: Judged) -> None:
        assert list(judged.evidence["499 by both"]) == ["index_ecg"]

    def test_a_charted_qtc_is_cited_beside_the_ecg_it_replaces(self, judged: Judged) -> None:
        assert list(judged.evidence["charted as 0.499"]) == ["index_ecg", "charted_qtc"]
        needs = judged.evidence["of two equally near the earlier"]
        assert list(needs) == ["index_ecg", "charted_qtc", "dose"]
        earlier, _ = judged.rows("of two equally near the earlier", "icu.chartevents")
        assert needs["charted_qtc"].alternatives == ((earlier,),)

    def test_no_dose_rests_on_a_search_and_on_the_emar_s_recording(self, judged: Judged) -> None:
        needs = judged.evidence["context"]
        assert list(needs) == ["index_ecg", "no_dose", "emar_recording"]
        (window,) = needs["no_dose"].search
        assert (window.source, window.end) == ("hosp.emar", after(DAY))
        assert judged.rows("context", "hosp.emar")[2] in needs["no_dose"].relevant
        assert not needs["no_dose"].qualifying

    def test_in_an_icu_its_inputs_are_searched_too(self, judged: Judged) -> None:
        sources = [window.source for window in judged.evidence["of no amount"]["no_dose"].search]
        assert sources == ["hosp.emar", "icu.inputevents"]

    def test_a_silent_emar_is_shown_by_a_search(self, judged: Judged) -> None:
        assert list(judged.evidence["nothing recorded"]) == ["index_ecg", "no_dose", "no_emar"]
        assert list(judged.evidence["two rows are too few"]) == ["index_ecg", "no_dose"]

    def test_that_nobody_charted_a_qtc_is_asked_for_in_an_icu_only(self, judged: Judged) -> None:
        assert list(judged.evidence["charted a minute later"]) == ["index_ecg", "no_charted_qtc"]
        assert list(judged.evidence["no end of the T wave"]) == ["index_ecg"]
