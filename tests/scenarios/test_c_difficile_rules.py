"""The rules of treatment after a positive C. difficile test at their boundaries: a minute and a unit either side."""

from typing import Any

from tests.scenarios.conftest import ReadAs
from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    detail,
    given,
    infused,
    lab,
    order,
)

SCENARIO = "08-c-difficile-initial-therapy"

WHITE_CELLS, CREATININE, METRONIDAZOLE_INPUT, VANCOMYCIN_INPUT = 51301, 50912, 225884, 225798
TOXIN = "C. difficile Toxin antigen assay"
ORAL = "Vancomycin Oral Liquid"

YES, NO = ("yes", "first_line"), ("no", "untreated")
SEVERE = ("no", "metronidazole_severe")
NOT_RECORDING, UNGRADED = ("lack_of_data", "not_recording"), ("lack_of_data", "severity_unknown")
NOT_SEVERE = ("medical_ambiguity", "metronidazole_not_severe")

DRAWN = -10 * HOUR


def stool(at: float = DRAWN, *, specimen: int = 1, stored: float = 0, **values: Any) -> Row:
    """A gene test of a stool specimen, positive unless it is said otherwise."""
    fixed = {
        "micro_specimen_id": specimen, "chartdate": after(at).replace(hour=0, minute=0), "charttime": after(at),
        "spec_type_desc": "STOOL", "test_name": "C. difficile PCR", "storetime": after(stored),
        "org_itemid": 80139, "org_name": "CLOSTRIDIUM DIFFICILE", "comments": "___",
    }  # fmt: skip
    return Row("hosp.microbiologyevents", fixed | values)


def negative(at: float = DRAWN, **values: Any) -> Row:
    return stool(
        at,
        **{"org_itemid": None, "org_name": None, "comments": "Negative for toxigenic C. difficile."} | values,
    )


EMAR = tuple(given(hour * HOUR, "Heparin") for hour in (-8, -1, 5))
"""Three rows of another drug: the eMAR was recording."""
MILD = (lab(WHITE_CELLS, 60, 9.8), lab(CREATININE, 61, 0.9))


def chart(*rows: Row, **stay: Any) -> Chart:
    return Chart(rows=(stool(), *EMAR, *rows), **stay)


def silent(*rows: Row, **stay: Any) -> Chart:
    """A chart without the three eMAR rows."""
    return Chart(rows=(stool(), *rows), **stay)


def routed(name: str, route: str | None, at: float = 60) -> Chart:
    return chart(given(at, name), detail(route))


METRONIDAZOLE = (given(2 * HOUR, "MetroNIDAZOLE"), detail("PO"))


def graded(*labs: Row) -> Chart:
    """Metronidazole by mouth, and these results."""
    return chart(*METRONIDAZOLE, *labs)


def white_cells(value: float, at: float = 60) -> Row:
    return lab(WHITE_CELLS, at, value)


def creatinine(value: float, at: float = 61) -> Row:
    return lab(CREATININE, at, value)


UNIT = (-30 * HOUR, 2 * DAY)

# fmt: off
CASES = {
    "nothing given while the eMAR was recording": (chart(), NO),
    # --- the window
    "a dose a day before the result counts": (chart(given(-DAY, ORAL)), YES),
    "a minute earlier does not": (chart(given(-DAY - 1, ORAL)), NO),
    "a dose a day after it counts": (chart(given(DAY, ORAL)), YES),
    "one stored after that does not exist": (
        chart(Row("hosp.emar", {**given(60, ORAL).values, "storetime": after(DAY + 1)})), NO),
    # --- given
    "not given is not a dose": (chart(given(60, ORAL, "Not Given")), NO),
    "held is not a dose": (chart(given(60, ORAL, "Hold Dose")), NO),
    "a late dose is a dose": (chart(given(60, ORAL, "Delayed Administered")), YES),
    "an order is not a dose": (chart(order(0, ORAL, "PO")), NO),
    # --- drugs and routes
    "fidaxomicin is first line": (chart(given(60, "Fidaxomicin")), YES),
    "its brand as well": (chart(given(60, "Dificid")), YES),
    "an enema is first line": (routed("Vancomycin Enema", "PR"), YES),
    "vancomycin by mouth is first line": (routed("Vancomycin", "PO"), YES),
    "by tube it is first line": (routed("Vancomycin", "NG"), YES),
    "by jejunal tube as well": (routed("Vancomycin", "J TUBE"), YES),
    "in capitals or not": (routed("vancomycin", "ORAL"), YES),
    "by vein it is not": (routed("Vancomycin", "IV"), NO),
    "without a route it is taken for intravenous": (routed("Vancomycin", None), NO),
    "the order's route decides where the eMAR has none": (
        chart(given(60, "Vancomycin", pharmacy_id=7), order(0, "Vancomycin", "PO/NG", pharmacy_id=7)), YES),
    "the same order by vein": (
        chart(given(60, "Vancomycin", pharmacy_id=7), order(0, "Vancomycin", "IV", pharmacy_id=7)), NO),
    "rifaximin is not": (routed("Rifaximin", "PO"), NO),
    "loperamide is not": (routed("LOPERamide", "PO"), NO),
    "vancomycin of the unit's inputs is not": (chart(infused(VANCOMYCIN_INPUT, 60, 1), icu=UNIT), NO),
    "vaginal metronidazole is none": (chart(given(60, "MetRONIDAZOLE Vaginal 0.75% Gel"), *MILD), NO),
    # --- metronidazole and severity
    "metronidazole in disease that is not severe can be read either way": (graded(*MILD), NOT_SEVERE),
    "white cells of 15.0 are severe": (graded(white_cells(15.0), creatinine(0.9)), SEVERE),
    "of 14.9 they are not": (graded(white_cells(14.9), creatinine(0.9)), NOT_SEVERE),
    "a creatinine of 1.6 is severe": (graded(white_cells(9.8), creatinine(1.6)), SEVERE),
    "of 1.5 it is not": (graded(white_cells(9.8), creatinine(1.5)), NOT_SEVERE),
    "severe white cells need no creatinine": (graded(white_cells(22)), SEVERE),
    "a severe creatinine needs no white cells": (graded(creatinine(2.4)), SEVERE),
    "normal white cells alone leave it open": (graded(white_cells(9.8)), UNGRADED),
    "a normal creatinine alone leaves it open": (graded(creatinine(0.9)), UNGRADED),
    "without any result it is open": (graded(), UNGRADED),
    "two days before the result counts": (graded(white_cells(9.8, -2 * DAY), creatinine(0.9)), NOT_SEVERE),
    "a minute earlier does not count": (graded(white_cells(9.8, -2 * DAY - 1), creatinine(0.9)), UNGRADED),
    "a result of the last minute counts": (graded(white_cells(9.8, DAY), creatinine(0.9)), NOT_SEVERE),
    "one that is not known by then does not": (
        graded(lab(WHITE_CELLS, 23 * HOUR, 9.8, stored=DAY + 1), creatinine(0.9)), UNGRADED),
    "a lost specimen is no result": (graded(lab(WHITE_CELLS, 60, None), creatinine(0.9)), UNGRADED),
    "the nearest result decides": (
        graded(white_cells(22, -5 * HOUR), white_cells(12, 4 * HOUR), creatinine(0.9)), NOT_SEVERE),
    "a minute nearer is nearer": (
        graded(white_cells(22, -5 * HOUR), white_cells(12, 5 * HOUR + 1), creatinine(0.9)), SEVERE),
    "of two equally near the earlier counts": (
        graded(white_cells(22, -5 * HOUR), white_cells(12, 5 * HOUR), creatinine(0.9)), SEVERE),
    "white cells of the stool are another item": (graded(lab(52407, 60, 22), creatinine(0.9)), UNGRADED),
    "metronidazole before the window is none": (
        chart(given(-DAY - 1, "MetroNIDAZOLE"), *MILD), NO),
    "metronidazole not given is none": (chart(given(60, "MetroNIDAZOLE", "Not Given"), *MILD), NO),
    "metronidazole of the unit's inputs counts": (
        chart(infused(METRONIDAZOLE_INPUT, 60, 1), *MILD, icu=UNIT), NOT_SEVERE),
    "of no amount it does not": (chart(infused(METRONIDAZOLE_INPUT, 60, 0), *MILD, icu=UNIT), NO),
    "first-line therapy beside metronidazole decides": (graded(given(3 * HOUR, ORAL), *MILD), YES),
    "intravenous vancomycin and metronidazole in severe disease": (
        chart(given(2 * HOUR, "Vancomycin"), detail("IV"), given(3 * HOUR, "MetroNIDAZOLE"), detail("IV"),
              white_cells(22)), SEVERE),
    # --- whether the eMAR was recording
    "two eMAR rows are too few": (silent(*EMAR[1:]), NOT_RECORDING),
    "twelve hours before counts": (silent(*EMAR[1:], given(-12 * HOUR, "Heparin")), NO),
    "a minute more does not": (silent(*EMAR[1:], given(-12 * HOUR - 1, "Heparin")), NOT_RECORDING),
    "none of the rows after the result is too little": (
        silent(*(given(-hour * HOUR, "Heparin") for hour in (1, 2, 3))), NOT_RECORDING),
    "one at the result is enough": (
        silent(*(given(-hour * HOUR, "Heparin") for hour in (0, 2, 3))), NO),
    "one at the end is enough": (
        silent(*(given(hour * HOUR, "Heparin") for hour in (-2, -3, 24))), NO),
    "one after it does not exist": (
        silent(*(given(at, "Heparin") for at in (-120, -180, DAY + 1))), NOT_RECORDING),
    "a dose found needs no more rows": (silent(given(60, ORAL)), YES),
    "metronidazole without a recording eMAR is lack of data": (silent(*METRONIDAZOLE, *MILD), NOT_RECORDING),
    "an ICU's inputs do not show the gut": (
        silent(infused(METRONIDAZOLE_INPUT, 60, 1), *MILD, icu=UNIT), NOT_RECORDING),
}

OUTSIDE = {
    "a negative test": Chart(rows=(negative(), *EMAR)),
    "a cancelled test": Chart(rows=(stool(org_itemid=90760, org_name="CANCELLED", comments=None), *EMAR)),
    "another test of the stool": Chart(rows=(stool(test_name="FECAL CULTURE"), *EMAR)),
    "a positive test 56 days before": Chart(
        rows=(stool(), stool(DRAWN - 56 * DAY, specimen=2, stored=-56 * DAY), *EMAR)),
    "a negative toxin assay of the specimen": chart(
        negative(test_name=TOXIN, comments="NEGATIVE. (Reference Range-Negative).", stored=5 * HOUR)),
    "a toxin assay that says so by its organism": chart(
        stool(test_name=TOXIN, org_itemid=90856, org_name="NEGATIVE", stored=5 * HOUR)),
    "leaving within the day": chart(leaves=DAY - 1),
    "death within the day": chart(leaves=DAY - 1, died=DAY - 1),
    "a result after the patient left": Chart(rows=(stool(stored=4 * DAY), *EMAR)),
    "a child": chart(age=17),
}

INSIDE = {
    "positive in words": Chart(
        rows=(stool(org_itemid=None, org_name=None, comments="POSITIVE FOR C. DIFFICILE TOXIN A B."), *EMAR)),
    "positive as an organism": Chart(rows=(stool(org_itemid=90855, org_name="POSITIVE"), *EMAR)),
    "the older name of the test": Chart(
        rows=(stool(test_name="CLOSTRIDIUM DIFFICILE TOXIN A & B TEST", org_itemid=None, org_name=None,
                    comments="FECES POSITIVE FOR C. DIFFICILE TOXIN BY EIA."), *EMAR)),
    "a positive test more than 56 days before": Chart(
        rows=(stool(), stool(DRAWN - 56 * DAY - 1, specimen=2, stored=-56 * DAY), *EMAR)),
    "a negative test before": chart(negative(-9 * DAY, specimen=2, stored=-8 * DAY)),
    "a positive toxin assay of the specimen": chart(stool(test_name=TOXIN, org_name="POSITIVE", stored=5 * HOUR)),
    "a negative toxin assay of another specimen": chart(
        negative(-9 * DAY, specimen=2, test_name=TOXIN, stored=-8 * DAY)),
    "a test with a date alone": Chart(rows=(stool(charttime=None), *EMAR)),
    "leaving when the day is over": chart(leaves=DAY),
}

VERBLESS = {
    "a first-line row that lost its verb": chart(given(60, ORAL, " in Other Location")),
    "one beside a dose": chart(given(60, ORAL, "Delayed "), given(90, ORAL)),
    "a metronidazole row that lost its verb": chart(given(60, "MetroNIDAZOLE", "Delayed"), *MILD),
    "one beside a dose of it": graded(given(90, "MetroNIDAZOLE", "Delayed"), *MILD),
    "one outside the window": chart(given(-DAY - 1, ORAL, "Delayed")),
}
# fmt: on


BY_VEIN = {
    "by vein": chart(given(60, "MetroNIDAZOLE"), detail("IV"), *MILD),
    "of the unit": chart(infused(METRONIDAZOLE_INPUT, 60, 1), *MILD, icu=UNIT),
    "by mouth": graded(*MILD),
}

FURTHER = VERBLESS | BY_VEIN


class TestRules(Rules):
    """As every scenario's."""


def test_a_row_that_lost_its_verb_takes_a_case_out_only_if_the_verdict_would_turn_on_it(
    judged: Judged,
) -> None:
    assert [judged.eligible[name] for name in VERBLESS] == [False, True, False, True, True]


class TestEvidence:
    """What an answer must rest on."""

    def test_a_yes_rests_on_the_test_and_any_first_line_dose(self, judged: Judged) -> None:
        name = "first-line therapy beside metronidazole decides"
        needs = judged.evidence[name]
        assert list(needs) == ["positive_test", "first_line_dose"]
        assert needs["first_line_dose"].alternatives == ((judged.rows(name, "hosp.emar")[3],),)

    def test_untreated_asks_for_a_search_of_all_three_drugs(self, judged: Judged) -> None:
        needs = judged.evidence["nothing given while the eMAR was recording"]
        assert list(needs) == ["positive_test", "no_therapy"]
        (window,) = needs["no_therapy"].search
        assert (window.source, window.start, window.end) == ("hosp.emar", after(-DAY), after(DAY))

    def test_in_an_icu_its_inputs_are_searched_as_well(self, judged: Judged) -> None:
        needs = judged.evidence["vancomycin of the unit's inputs is not"]
        assert [window.source for window in needs["no_therapy"].search] == ["hosp.emar", "icu.inputevents"]

    def test_severe_disease_rests_on_any_value_that_makes_it_so(self, judged: Judged) -> None:
        name = "a creatinine of 1.6 is severe"
        needs = judged.evidence[name]
        assert list(needs) == ["positive_test", "no_first_line", "metronidazole_dose", "severity"]
        assert needs["severity"].alternatives == ((judged.rows(name, "hosp.labevents")[1],),)

    def test_ambiguity_rests_on_the_dose_and_both_values(self, judged: Judged) -> None:
        name = "metronidazole in disease that is not severe can be read either way"
        needs = judged.evidence[name]
        cells, creatinine = judged.rows(name, "hosp.labevents")
        assert needs["white_cells"].alternatives == ((cells,),)
        assert needs["creatinine"].alternatives == ((creatinine,),)
        assert needs["metronidazole_dose"].alternatives == ((judged.rows(name, "hosp.emar")[2],),)

    def test_an_unknown_value_is_searched_for(self, judged: Judged) -> None:
        open_ = judged.evidence["normal white cells alone leave it open"]
        assert list(open_) == ["positive_test", "no_first_line", "metronidazole_dose", "no_creatinine"]
        assert open_["no_creatinine"].search[0].start == after(-2 * DAY)
        neither = judged.evidence["without any result it is open"]
        assert {"no_white_cells", "no_creatinine"} <= set(neither)

    def test_a_toxin_assay_of_the_specimen_may_be_cited_as_the_test(self, judged: Judged) -> None:
        name = "a positive toxin assay of the specimen"
        test, toxin = judged.rows(name, "hosp.microbiologyevents")
        assert set(judged.evidence[name]["positive_test"].alternatives) == {(test,), (toxin,)}


def test_where_metronidazole_by_vein_is_none_only_that_by_mouth_stays_open(read_as: ReadAs) -> None:
    assert list(read_as("metronidazole_by_vein_is_none", BY_VEIN).values()) == [NO, NO, NOT_SEVERE]
