"""The rules of oral anticoagulation at discharge at their boundaries: each point, each list, each reason."""

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
    summary,
)

SCENARIO = "18-af-discharge-anticoagulation"

YES, NO = ("yes", "anticoagulated"), ("no", "not_anticoagulated")
NO_SUMMARY, NO_LIST = ("lack_of_data", "no_summary"), ("lack_of_data", "no_list")
OPTIONAL, REASON = ("medical_ambiguity", "optional"), ("medical_ambiguity", "documented_reason")
BELOW = ("medical_ambiguity", "given_below_threshold")

MIDNIGHT = -12 * HOUR
APIXABAN = "1. Apixaban 5 mg PO BID"
ASPIRIN = "1. Aspirin 81 mg PO DAILY \n2. Metoprolol Tartrate 25 mg PO BID "
HEADING = "Discharge Medications:"


def text(
    medications: str | None = ASPIRIN, course: str = "Stable.", before: str = "1. Docusate 100 mg PO BID"
) -> str:
    """A summary on the form; without a list where there are no medications."""
    parts = [
        "Allergies: \nNo Known Allergies", f"Brief Hospital Course:\n{course}",
        f"Medications on Admission:\n{before}",
    ]  # fmt: skip
    if medications is not None:
        parts.append(f"{HEADING}\n{medications}")
    return "\n \n".join(
        [*parts, "Discharge Disposition:\nHome", "Discharge Instructions:\nCall us with fever.\n"]
    )


def note(
    medications: str | None = ASPIRIN, course: str = "Stable.", *, at: float = MIDNIGHT, **more: str
) -> Row:
    return summary(at, text(medications, course, **more), hadm_id=None)


def now(*codes: str, version: int = 10) -> tuple[Row, ...]:
    return tuple(coded(code, version, hadm_id=None) for code in codes)


def chart(
    *rows: Row, codes: tuple[str, ...] = ("I10",), age: int = 66, sex: str = "M", **stay: object
) -> Chart:
    """A man of 66 with fibrillation and hypertension: two points."""
    return Chart(rows=(*now("I4891", *codes), *rows), leaves=0, age=age, sex=sex, **stay)  # type: ignore[arg-type]


def scored(*codes: str, age: int = 60, sex: str = "M", version: int = 10) -> Chart:
    """Without an anticoagulant, so that the score decides: NO from two points on, OPTIONAL at one."""
    fibrillation = "I4891" if version == 10 else "42731"
    return Chart(rows=(*now(fibrillation, *codes, version=version), note()), leaves=0, age=age, sex=sex)


def said(course: str) -> Chart:
    return chart(note(course=course))


BEFORE = (-90 * DAY, -85 * DAY)

# fmt: off
CASES = {
    # --- the list
    "an anticoagulant in the list": (chart(note(APIXABAN)), YES),
    "none in the list": (chart(note()), NO),
    "a brand name counts": (chart(note("1. Eliquis 5 mg PO BID")), YES),
    "warfarin counts": (chart(note("1. Warfarin 5 mg PO DAILY16")), YES),
    "coumadin in prose without numbers counts": (chart(note("coumadin 5mg daily\naspirin 81")), YES),
    "rivaroxaban counts": (chart(note("1. Rivaroxaban 20 mg PO DINNER")), YES),
    "dabigatran counts": (chart(note("1. Dabigatran Etexilate 150 mg PO BID")), YES),
    "edoxaban counts": (chart(note("1. edoxaban 60 mg PO DAILY")), YES),
    "enoxaparin does not": (chart(note("1. Enoxaparin Sodium 80 mg SC Q12H")), NO),
    "the list on admission does not": (chart(note(before=APIXABAN)), NO),
    "a dose in hospital does not": (chart(note(), given(-60, "Apixaban")), NO),
    "an order does not": (chart(note(), order(-60, "Apixaban", "PO")), NO),
    "a drug named after the list does not": (
        chart(summary(MIDNIGHT, text() + "Discharge Instructions:\nApixaban was not found", hadm_id=None)), NO),
    "an item on hold is a documented decision": (
        chart(note("1. HELD- Apixaban 5 mg PO BID. This medication was held. Do not restart Apixaban until seen")),
        REASON),
    "an item below a heading of what was stopped too": (
        chart(note("1. Aspirin 81 mg PO DAILY\nSTOP taking these medications:\n1. Warfarin 5 mg PO DAILY")), REASON),
    "another item on hold does not touch it": (
        chart(note("1. HELD- Lisinopril 5 mg PO DAILY. This medication was held. Do not restart Lisinopril until seen\n"
                   "2. Apixaban 5 mg PO BID")), YES),
    "an empty list is none": (chart(note("___\n")), NO_LIST),
    "a list that says none is one": (chart(note("None")), NO),
    "no list": (chart(note(None)), NO_LIST),
    "a mention of the list is no list": (chart(note(None, course="See discharge medications.")), NO_LIST),
    "a heading in capitals is one": (
        chart(summary(MIDNIGHT, text(APIXABAN).replace(HEADING, HEADING.upper()), hadm_id=None)), YES),
    "a wrapped item is one item": (chart(note("1. Metoprolol 25 mg\n   PO BID\n2. Apixaban\n   5 mg PO BID")), YES),
    "the later of two lists counts": (chart(note(APIXABAN), note(ASPIRIN, at=HOUR)), NO),
    "an addendum without a list leaves it": (chart(note(APIXABAN), note(None, at=HOUR)), YES),
    # --- the summary
    "no summary": (chart(), NO_SUMMARY),
    "doses do not stand in for it": (chart(given(-60, "Apixaban")), NO_SUMMARY),
    "a summary of another admission is none": (chart(summary(BEFORE[1], text(APIXABAN)), earlier=BEFORE), NO_SUMMARY),
    "a summary stored at as-of exists": (chart(note(APIXABAN, at=30 * DAY)), YES),
    "one stored a minute later does not": (chart(note(APIXABAN, at=30 * DAY + 1)), NO_SUMMARY),
    "an addendum stored after as-of changes nothing": (chart(note(), note(APIXABAN, at=30 * DAY + 1)), NO),
    # --- the score, for men
    "hypertension alone is one point": (scored("I10"), OPTIONAL),
    "two conditions are two": (scored("I10", "E119"), NO),
    "two codes of one condition are one": (scored("I10", "I119"), OPTIONAL),
    "heart failure counts": (scored("I10", "I5032"), NO),
    "an old infarction counts": (scored("I10", "I252"), NO),
    "coronary disease without one does not": (scored("I10", "I2510"), OPTIONAL),
    "peripheral disease counts": (scored("I10", "I739"), NO),
    "a stroke is two points": (scored("I639"), NO),
    "so is a history of one": (scored("Z8673"), NO),
    "an age of 64 is none": (scored("I10", age=64), OPTIONAL),
    "an age of 65 is one": (scored("I10", age=65), NO),
    "an age of 74 is one": (scored(age=74), OPTIONAL),
    "an age of 75 is two": (scored(age=75), NO),
    # --- for women
    "a woman's sex and one point are optional": (scored("I10", sex="F"), OPTIONAL),
    "with two points they are not": (scored("I10", "E119", sex="F"), NO),
    "an age of 74 is optional in a woman": (scored(age=74, sex="F"), OPTIONAL),
    "an age of 75 is not": (scored(age=75, sex="F"), NO),
    # --- ICD-9
    "hypertension, ICD-9": (scored("4019", version=9), OPTIONAL),
    "hypertension and heart failure, ICD-9": (scored("4019", "4280", version=9), NO),
    "a stroke, ICD-9": (scored("43491", version=9), NO),
    "an occlusion without infarction, ICD-9": (scored("43490", "4019", version=9), OPTIONAL),
    "a history of stroke, ICD-9": (scored("V1254", version=9), NO),
    "an old infarction, ICD-9": (scored("412", "4019", version=9), NO),
    "another blank after the code": (scored("4019 ", "25000 ", version=9), NO),
    "ICD-9's I10 is no hypertension": (scored("4019", "I10", version=9), OPTIONAL),
    # --- whose codes
    "a code of an admission before counts": (
        chart(coded("E119"), note(), age=60, earlier=BEFORE), NO),
    "one of an admission afterwards does not": (
        chart(coded("E119"), note(), age=60, earlier=(5 * DAY, 8 * DAY)), OPTIONAL),
    # --- a reason
    "stopped for a haemorrhage": (said("Warfarin was stopped for a subdural hemorrhage."), REASON),
    "declined": (said("Offered anticoagulation, which she declined."), REASON),
    "not a candidate": (said("Not a candidate for anticoagulation."), REASON),
    "a watchman": (said("Has a Watchman, so off apixaban."), REASON),
    "falls": (said("No anticoagulation given fall risk."), REASON),
    "the sentence may be wrapped": (said("Apixaban was held\nin view of anemia."), REASON),
    "a reason for another drug is none": (said("Lisinopril was held for AKI."), NO),
    "a reason beyond 150 characters is none": (
        said("Warfarin " + "was given and tolerated, " * 6 + "x held"), NO),
    "words in the list on admission are none": (
        chart(note(before="1. Warfarin 5 mg PO DAILY\n2. HELD- Lisinopril 5 mg PO DAILY")), NO),
    "the drug in the list comes before a reason": (
        chart(note(APIXABAN, course="Apixaban was held for a GI bleed and resumed.")), YES),
    "an optional drug comes before a reason": (
        chart(note(course="Declined anticoagulation."), age=60), OPTIONAL),
    "no list comes before a reason": (chart(note(None, course="Declined anticoagulation.")), NO_LIST),
}

TOO_CLOSE = {
    "an anticoagulant below the threshold": chart(note(APIXABAN), age=60),
    "one that waits for something": chart(note("1. Warfarin 2 mg PO DAILY hold until INR < 3")),
    "a reason in the next sentence": said("Takes warfarin for AF. Held for SDH."),
    "a reason that is denied": said("On warfarin with no signs of bleeding."),
}

OUTSIDE = {
    "no fibrillation": Chart(rows=(*now("I10", "E119"), note()), leaves=0, age=70),
    "fibrillation of the admission before alone": Chart(
        rows=(*now("I10"), coded("I4891", 9), note()), leaves=0, age=70, earlier=BEFORE),
    "no point beside the sex": scored(sex="F"),
    "a death": chart(note(), died=0),
    "a hospice": chart(note(), goes="HOSPICE"),
    "a mechanical valve": chart(*now("Z952"), note()),
    "mitral stenosis before": chart(coded("I052"), note(), earlier=BEFORE),
    "a child": chart(note(), age=17),
}

INSIDE = {
    "flutter": Chart(rows=(*now("I4892", "I10"), note()), leaves=0, age=60),
    "fibrillation, ICD-9": scored("4019", version=9),
    "flutter, ICD-9": Chart(rows=(*now("42732", "4019", version=9), note()), leaves=0, age=60),
    "a bioprosthetic valve": chart(*now("Z953"), note()),
    "a nursing facility": chart(note(), goes="SKILLED NURSING FACILITY"),
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

    def test_age_needs_no_row(self, judged: Judged) -> None:
        assert list(judged.evidence["an age of 75 is two"]) == ["fibrillation", "discharge_list"]

    def test_two_points_need_two_factors_or_a_stroke(self, judged: Judged) -> None:
        pairs = judged.evidence["two conditions are two"]["risk_factors"].alternatives
        assert [len(pair) for pair in pairs] == [2]
        stroke = judged.evidence["a stroke is two points"]["risk_factors"].alternatives
        assert [len(alone) for alone in stroke] == [1]

    def test_an_optional_drug_needs_its_point_and_a_search_for_others(self, judged: Judged) -> None:
        needs = judged.evidence["hypertension alone is one point"]
        assert list(needs) == ["fibrillation", "risk_factors", "no_other_factor", "discharge_list"]

    def test_the_later_list_is_the_one_to_cite(self, judged: Judged) -> None:
        name = "the later of two lists counts"
        assert judged.evidence[name]["discharge_list"].alternatives == (
            (judged.rows(name, "note.discharge")[1],),
        )

    def test_a_missing_summary_rests_on_a_search_of_the_stay_and_after(self, judged: Judged) -> None:
        (window,) = judged.evidence["no summary"]["no_summary"].search
        assert (window.source, window.end) == ("note.discharge", None)

    def test_a_summary_without_a_list_is_cited(self, judged: Judged) -> None:
        name = "no list"
        assert judged.evidence[name]["summary_without_list"].alternatives == (
            (judged.rows(name, "note.discharge")[0],),
        )
