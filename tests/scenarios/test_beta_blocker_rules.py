"""The rules of the beta-blocker at discharge at their boundaries: each number, each drug, each reason."""

import pytest

from tests.scenarios.rules import SampledRules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    coded,
    given,
    order,
    report,
    summary,
)

SCENARIO = "17-hfref-discharge-beta-blocker"

YES, NO = ("yes", "on_beta_blocker"), ("no", "without_beta_blocker")
NO_SUMMARY, NO_LIST = ("lack_of_data", "no_summary"), ("lack_of_data", "no_list")
NO_FRACTION = ("lack_of_data", "no_fraction")
AT_ODDS, REASON = ("medical_ambiguity", "fractions_at_odds"), ("medical_ambiguity", "documented_reason")

MIDNIGHT = -12 * HOUR
CARVEDILOL, TARTRATE = "1. Carvedilol 6.25 mg PO BID", "1. Metoprolol Tartrate 25 mg PO BID"
FUROSEMIDE = "1. Furosemide 40 mg PO DAILY \n2. Lisinopril 5 mg PO DAILY "
LOW = "TTE ___: LVEF 30%."
FAILURE = coded("I5023", hadm_id=None)
BEFORE = (-90 * DAY, -85 * DAY)


def text(
    medications: str | None = FUROSEMIDE,
    results: str = LOW,
    course: str = "Stable.",
    before: str = "1. Docusate 100 mg PO BID",
) -> str:
    """A summary on the form; without a list where there are no medications."""
    parts = [
        f"Pertinent Results:\n{results}",
        f"Brief Hospital Course:\n{course}",
        f"Medications on Admission:\n{before}",
    ]
    if medications is not None:
        parts.append(f"Discharge Medications:\n{medications}")
    return "\n \n".join(
        [*parts, "Discharge Disposition:\nHome", "Discharge Instructions:\nWeigh yourself daily.\n"]
    )


def note(
    medications: str | None = FUROSEMIDE, results: str = LOW, *, at: float = MIDNIGHT, **more: str
) -> Row:
    return summary(at, text(medications, results, **more), hadm_id=None)


def chart(*rows: Row, **stay: object) -> Chart:
    return Chart(rows=(FAILURE, *rows), **({"leaves": 0} | stay))  # type: ignore[arg-type]


def found(results: str) -> Chart:
    """With carvedilol, so that the ejection fraction decides."""
    return chart(note(CARVEDILOL, results))


def listed(medications: str) -> Chart:
    return chart(note(medications))


def said(course: str) -> Chart:
    return chart(note(course=course))


def earlier(results: str, *, at: float = BEFORE[1], stay: tuple[float, float] = BEFORE) -> Chart:
    """The number stands in an earlier summary only."""
    return chart(summary(at, text(None, results)), note(CARVEDILOL, "See OMR."), earlier=stay)


def imaged(at: float, results: str = "LVEF 30%.") -> Chart:
    return chart(report(at, results), note(CARVEDILOL, "See OMR."))


# fmt: off
CASES = {
    # --- the ejection fraction
    "40 % is reduced": (found("LVEF 40%"), YES),
    "a range is its midpoint": (found("LVEF 35-45%"), YES),
    "a range with to": (found("EF 30 to 35 %"), YES),
    "a range with two signs": (found("LVEF 35%-40%"), YES),
    "below 20": (found("LVEF <20%"), YES),
    "the words written out": (found("Left ventricular ejection fraction (LVEF) is 25 %"), YES),
    "a line may break in it": (found("Ejection\nfraction of 25%"), YES),
    "an estimate": (found("EF est. 30%"), YES),
    "words alone are no value": (found("Severely depressed EF."), NO_FRACTION),
    "a number in another sentence is none": (found("EF pending. Sat 95% RA."), NO_FRACTION),
    "EF inside another word is none": (found("relief 30%, LEF 30%"), NO_FRACTION),
    "a right ventricle's is none": (found("RV EF 30%. Right ventricular ejection fraction 30%."), NO_FRACTION),
    "a fraction without a sign is none": (found("LVEF 0.30"), NO_FRACTION),
    "values on both sides": (found("TTE: LVEF 35%. LV gram: LVEF 45%."), AT_ODDS),
    "two low values": (found("TTE: LVEF 35%. LV gram: LVEF 40%."), YES),
    "values at odds come before the list": (chart(note(FUROSEMIDE, "TTE: EF 35%. MRI: EF 45%.")), AT_ODDS),
    "at odds between summary and addendum": (
        chart(note(CARVEDILOL), note(None, "MRI: LVEF 45%.", at=HOUR)), AT_ODDS),
    # --- from elsewhere
    "an earlier summary's value": (earlier("LVEF 25%"), YES),
    "a value of 365 days before": (imaged(-365 * DAY), YES),
    "a minute earlier is too old": (imaged(-365 * DAY - 1), NO_FRACTION),
    "a report of the day of discharge": (imaged(-1), YES),
    "a report after discharge does not count": (imaged(1), NO_FRACTION),
    "the later of two notes counts": (
        chart(report(-40 * DAY, "LVEF 55%."), report(-30 * DAY, "LVEF 30%."), note(CARVEDILOL, "See OMR.")), YES),
    "the summary comes before other notes": (chart(report(-30, "LVEF 55%."), note(CARVEDILOL)), YES),
    "a summary of a later admission does not count": (
        earlier("LVEF 25%", at=8 * DAY, stay=(5 * DAY, 8 * DAY)), NO_FRACTION),
    # --- the list
    "carvedilol": (listed(CARVEDILOL), YES),
    "coreg": (listed("1. Coreg CR 20 mg PO DAILY"), YES),
    "bisoprolol": (listed("1. Bisoprolol Fumarate 5 mg PO DAILY"), YES),
    "metoprolol succinate": (listed("1. Metoprolol Succinate XL 50 mg PO DAILY"), YES),
    "toprol": (listed("1. Toprol XL 50 mg PO DAILY"), YES),
    "metoprolol XL": (listed("1. Metoprolol XL 50 mg PO DAILY"), YES),
    "metoprolol, extended release": (listed("1. metoprolol 50 mg Tablet Extended Release 24 hr"), YES),
    "metoprolol tartrate is not": (listed(TARTRATE), NO),
    "er at the end of a word is not": (listed("1. Metoprolol tartrate 25 mg after meals"), NO),
    "atenolol is not": (listed("1. Atenolol 50 mg PO DAILY"), NO),
    "nebivolol is not": (listed("1. Nebivolol 5 mg PO DAILY"), NO),
    "none": (listed(FUROSEMIDE), NO),
    "the list on admission does not count": (chart(note(before=CARVEDILOL)), NO),
    "a dose in hospital does not": (chart(note(), given(-60, "Carvedilol")), NO),
    "an order does not": (chart(note(), order(-60, "Carvedilol", "PO")), NO),
    "an item on hold is a documented decision": (
        listed("1. HELD- Carvedilol 6.25 mg PO BID. This medication was held. Do not restart Carvedilol until seen"),
        REASON),
    "no summary": (chart(), NO_SUMMARY),
    "no list": (chart(note(None)), NO_LIST),
    "no summary, and a report with a low value": (chart(report(-60, "LVEF 30%")), NO_SUMMARY),
    "no list comes before no number": (chart(note(None, "See OMR.")), NO_LIST),
    "a summary stored at as-of exists": (chart(note(CARVEDILOL, at=30 * DAY)), YES),
    "one stored a minute later does not": (chart(note(CARVEDILOL, at=30 * DAY + 1)), NO_SUMMARY),
    "an addendum stored after as-of changes nothing": (
        chart(note(CARVEDILOL), note(TARTRATE, "LVEF 60%.", at=30 * DAY + 1)), YES),
    # --- a reason
    "shock": (said("Carvedilol was stopped for cardiogenic shock."), REASON),
    "bradycardia": (said("Bradycardia to the 40s, beta-blocker not started."), REASON),
    "hypotension": (said("No beta blocker given hypotension."), REASON),
    "refused": (said("She refused metoprolol succinate."), REASON),
    "an allergy": (chart(summary(MIDNIGHT, "Allergies: \nmetoprolol\n \n" + text(), hadm_id=None)), REASON),
    "a reason for another drug": (said("Lisinopril was held for hypotension."), NO),
    "a reason beyond 120 characters": (said("Carvedilol " + "was given and tolerated, " * 5 + "x held"), NO),
    "words in the list on admission are none": (
        chart(note(before="1. Carvedilol 6.25 mg PO BID\n2. HELD- Lisinopril 5 mg PO DAILY")), NO),
    "the drug in the list comes before a reason": (
        chart(note(CARVEDILOL, course="Carvedilol was held for hypotension and restarted.")), YES),
    "no number comes before a reason": (
        chart(note(results="See OMR.", course="Carvedilol was stopped for shock.")), NO_FRACTION),
}

TOO_CLOSE = {
    "41 % alone": found("LVEF 41%"),
    "a range above": found("LVEF 40-45%"),
    "above 55": found("LVEF >55%"),
    "above 55, and no list": chart(note(None, "LVEF >55%")),
    "above 55 in a report, and no summary": chart(report(-60, "LVEF 60%")),
    "an older value on the other side": found("LVEF 30%. Previously EF 55%."),
    "one that a date follows": found("LVEF 30%, LVEF 55% in ___."),
    "an earlier note at odds with itself": earlier("TTE: LVEF 35%. MRI: LVEF 45%."),
    "an earlier note above": earlier("LVEF 60%"),
    "metoprolol without its salt": listed("1. Metoprolol 25 mg PO BID"),
    "a drug that waits for something": listed("1. Carvedilol 3.125 mg PO BID to start on ___ if SBP allows"),
    "a reason in the next sentence": said("Takes carvedilol at home. Held for SBP 80."),
    "a reason that is denied": said("Tolerated metoprolol with no hypotension."),
}

OUTSIDE = {
    "no heart failure": Chart(rows=(coded("I10", hadm_id=None), note()), leaves=0),
    "heart failure in the fourth place": Chart(
        rows=(*(coded(code, hadm_id=None) for code in ("I10", "E119", "J189", "I5023")), note()), leaves=0),
    "heart failure of the admission before": Chart(
        rows=(coded("I10", hadm_id=None), note()), leaves=0, earlier=BEFORE),
    "ICD-9's I50": Chart(rows=(coded("I5023", 9, hadm_id=None), note()), leaves=0),
    "a death": chart(note(), died=0),
    "a hospice": chart(note(), goes="HOSPICE"),
    "a child": chart(note(), age=17),
}

INSIDE = {
    "the third place": Chart(
        rows=(*(coded(code, hadm_id=None) for code in ("I10", "E119", "I5023")), note()), leaves=0),
    "ICD-9": Chart(rows=(coded("42823", 9, hadm_id=None), note()), leaves=0),
    "a blank after the code": Chart(rows=(coded("4280 ", 9, hadm_id=None), note()), leaves=0),
    "home care": chart(note(), goes="HOME HEALTH CARE"),
}
# fmt: on


FURTHER = TOO_CLOSE


class TestRules(SampledRules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", TOO_CLOSE)
def test_too_close_to_call(claim: str, judged: Judged) -> None:
    assert not judged.eligible[claim]


class TestEvidence:
    """What an answer must rest on."""

    def test_an_earlier_number_is_cited_where_it_stands(self, judged: Judged) -> None:
        name = "an earlier summary's value"
        before, own = judged.rows(name, "note.discharge")
        needs = judged.evidence[name]
        assert list(needs) == ["heart_failure", "ejection_fraction", "discharge_list"]
        assert needs["ejection_fraction"].alternatives == ((before,),)
        assert needs["discharge_list"].alternatives == ((own,),)

    def test_numbers_at_odds_in_two_notes_need_both(self, judged: Judged) -> None:
        name = "at odds between summary and addendum"
        both = tuple(sorted(judged.rows(name, "note.discharge")))
        assert judged.evidence[name]["ejection_fraction"].alternatives == (both,)

    def test_a_reason_is_asked_for_only_where_it_decides(self, judged: Judged) -> None:
        assert list(judged.evidence["shock"]) == [
            "heart_failure", "ejection_fraction", "discharge_list", "reason",
        ]  # fmt: skip
        assert "reason" not in judged.evidence["values on both sides"]

    def test_a_missing_summary_rests_on_a_search_of_the_stay_and_after(self, judged: Judged) -> None:
        (window,) = judged.evidence["no summary"]["no_summary"].search
        assert (window.source, window.end) == ("note.discharge", None)
