"""The rules of enoxaparin against the clearance at their boundaries: a minute and a unit either side of each.

In a woman of 60 who weighs 54 kg the clearance is 30.0 mL/min at a creatinine of 1.70 mg/dL, in a man at 2.00.
"""

from datetime import timedelta
from itertools import count

import pytest

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    DAY,
    EARLIER,
    HOUR,
    Chart,
    Judged,
    Row,
    T,
    after,
    charted,
    coded,
    lab,
    procedure,
)

SCENARIO = "03-enoxaparin-dose-low-clearance"

CREATININE, REPORTED = 50912, 50920
ADMISSION_KG, DAILY_KG, ADMISSION_LB, CM, INCHES = 226512, 224639, 226531, 226730, 226707

YES, NO = ("yes", "in_label"), ("no", "off_label")
EITHER, NEITHER_SIDE = ("yes", "in_label_either_way"), ("no", "off_label_either_way")
UNCLEAR, NO_CREATININE = ("lack_of_data", "order_unclear"), ("lack_of_data", "no_creatinine")
NO_WEIGHT, NOTHING = ("lack_of_data", "no_weight"), ("lack_of_data", "no_creatinine_no_weight")
DIFFER = ("medical_ambiguity", "weights_differ")

UNIT = (-40 * HOUR, 60 * HOUR)
_NUMBERS = count(50_001)


def rx(dose: str = "30", per_day: float | None = 1, at: float = 0, **values: object) -> Row:
    """An order of enoxaparin."""
    fixed = {
        "drug": "Enoxaparin Sodium",
        "drug_type": "MAIN",
        "route": "SC",
        "dose_val_rx": dose,
        "dose_unit_rx": "mg",
        "doses_per_24_hrs": per_day,
        "starttime": after(at),
        "stoptime": after(at + 3 * DAY),
    }
    return Row("hosp.prescriptions", fixed | values)


def filled(
    dose: str,
    per_day: float | None,
    *,
    pharmacy: float | None = None,
    says: str | None = None,
    entered: float = 0,
) -> tuple[Row, Row]:
    """An order with its record in the pharmacy."""
    number = next(_NUMBERS)
    record = {
        "pharmacy_id": number,
        "medication": "Enoxaparin Sodium",
        "doses_per_24_hrs": pharmacy,
        "frequency": says,
        "starttime": after(entered),
        "entertime": after(entered),
    }
    return rx(dose, per_day, pharmacy_id=number), Row("hosp.pharmacy", record)


def creatinine(
    value: float | None, at: float = -6 * HOUR, *, stored: float | None = None, comment: str | None = None
) -> Row:
    return lab(CREATININE, at, value, stored=stored, comment=comment)


def stored(row: Row, at: float) -> Row:
    return Row(row.table, {**row.values, "storetime": after(at)})


def clinic(text: str, days: int = -20, name: str = "Weight (Lbs)", seq: int = 1) -> Row:
    day = (T + timedelta(days=days)).date()
    return Row("hosp.omr", {"chartdate": day, "seq_num": seq, "result_name": name, "result_value": text})


def weighs(kg: float, at: float = -2 * HOUR) -> Row:
    return charted(DAILY_KG, at, kg)


def chart(*rows: Row, **stay: object) -> Chart:
    return Chart(rows=rows, icu=UNIT, **stay)  # type: ignore[arg-type]


def low(order: Row, *rows: Row) -> Chart:
    """A clearance of 29.8 mL/min in 54 kg."""
    return chart(order, creatinine(1.71), weighs(54), *rows)


def high(order: Row, *rows: Row) -> Chart:
    """A clearance of 30.0 mL/min in 54 kg."""
    return chart(order, creatinine(1.70), weighs(54), *rows)


def heavy(order: Row, *rows: Row, kg: float = 100, cr: float = 2.0) -> Chart:
    """A clearance of 47.2 mL/min with the actual weight."""
    return chart(order, creatinine(cr), weighs(kg), *rows)


# fmt: off
CASES = {
    # --- the limit of 30
    "30 mg once below it": (low(rx("30", 1)), YES),
    "30 mg once at it": (high(rx("30", 1)), NO),
    "40 mg once below it": (low(rx("40", 1)), NO),
    "40 mg once at it": (high(rx("40", 1)), YES),
    "30 mg twice below it": (low(rx("30", 2)), NO),
    "30 mg twice at it": (high(rx("30", 2)), YES),
    "a man's limit": (chart(rx("30", 1), creatinine(2.01), weighs(54), sex="M"), YES),
    "a man at it": (chart(rx("30", 1), creatinine(2.00), weighs(54), sex="M"), NO),
    "a year older": (chart(rx("30", 1), creatinine(1.70), weighs(54), age=61), YES),
    "a kilogram more": (chart(rx("30", 1), creatinine(1.71), weighs(55)), NO),
    # --- doses per kg
    "1 mg/kg once below it": (low(rx("54", 1)), YES),
    "1 mg/kg twice below it": (low(rx("54", 2)), NO),
    "1 mg/kg twice at it": (high(rx("54", 2)), YES),
    "1 mg/kg once at it": (high(rx("54", 1)), NO),
    "1.5 mg/kg once at it": (high(rx("81", 1)), YES),
    "1.5 mg/kg once below it": (low(rx("81", 1)), NO),
    "1.5 mg/kg twice at it": (high(rx("81", 2)), NO),
    "a tenth less": (chart(rx("90", 2), creatinine(1.5), weighs(100)), YES),
    "more than a tenth less": (chart(rx("89.9", 2), creatinine(1.5), weighs(100)), NO),
    "a tenth more": (chart(rx("110", 2), creatinine(1.5), weighs(100)), YES),
    "more than a tenth more": (chart(rx("110.1", 2), creatinine(1.5), weighs(100)), NO),
    "a tenth less than one and a half": (chart(rx("135", 1), creatinine(1.5), weighs(100)), YES),
    "more than that": (chart(rx("134.9", 1), creatinine(1.5), weighs(100)), NO),
    "a tenth more than one and a half": (chart(rx("165", 1), creatinine(1.5), weighs(100)), YES),
    "still more": (chart(rx("165.1", 1), creatinine(1.5), weighs(100)), NO),
    "a tenth less, once": (chart(rx("90", 1), creatinine(4.0), weighs(100)), YES),
    "more than a tenth less, once": (chart(rx("89.9", 1), creatinine(4.0), weighs(100)), NO),
    "a fixed dose that is 1 mg/kg by chance": (chart(rx("40", 1), creatinine(2.0), weighs(40)), YES),
    "three times a day": (high(rx("30", 3)), NO),
    "20 mg": (low(rx("20", 1)), NO),
    # --- the order
    "a range is no dose": (low(rx("30-40", 1)), UNCLEAR),
    "no dose": (low(rx("", 1)), UNCLEAR),
    "blanks do not matter": (low(rx(" 30 ", 1)), YES),
    "no frequency": (low(rx("30", None)), UNCLEAR),
    "no order row of the pharmacy either": (low(rx("30", None, pharmacy_id=49_000)), UNCLEAR),
    "the pharmacy's number": (low(*filled("30", None, pharmacy=1)), YES),
    "the order's number before the pharmacy's": (low(*filled("30", 2, pharmacy=1)), NO),
    "the pharmacy's word": (low(*filled("30", None, says="Q24H")), YES),
    "another word of it": (low(*filled("30", None, says="Q12H")), NO),
    "a word that says nothing": (low(*filled("30", None, says="ASDIR")), UNCLEAR),
    # --- the creatinine
    "the latest drawn": (chart(rx("30", 1), weighs(54), creatinine(1.5, -20 * HOUR), creatinine(2.4)), YES),
    "also the lower one": (chart(rx("30", 1), weighs(54), creatinine(2.4, -20 * HOUR), creatinine(1.5)), NO),
    "stored at the order": (chart(rx("30", 1), weighs(54), creatinine(1.5), creatinine(2.4, -30, stored=0)), YES),
    "stored a minute later": (chart(rx("30", 1), weighs(54), creatinine(1.5), creatinine(2.4, -30, stored=1)), NO),
    "drawn after the order": (chart(rx("30", 1), weighs(54), creatinine(1.5), creatinine(2.4, 1)), NO),
    "72 hours before": (chart(rx("30", 1), weighs(54), creatinine(2.4, -3 * DAY)), YES),
    "a minute more": (chart(rx("30", 1), weighs(54), creatinine(2.4, -3 * DAY - 1)), NO_CREATININE),
    "none": (chart(rx("30", 1), weighs(54)), NO_CREATININE),
    "a cancelled one": (chart(rx("30", 1), weighs(54), creatinine(2.4, comment="CANCELLED")), NO_CREATININE),
    "one without a number": (chart(rx("30", 1), weighs(54), creatinine(None)), NO_CREATININE),
    "the laboratory's estimate is none": (chart(rx("30", 1), weighs(54), lab(REPORTED, -60, 22)), NO_CREATININE),
    "not needed where no regimen fits": (chart(rx("70", 2), weighs(54)), NEITHER_SIDE),
    "not needed where both fit": (chart(rx("40", 1), weighs(40)), EITHER),
    # --- the weight
    "the latest charted": (chart(rx("54", 1), creatinine(2.4), weighs(70, -20 * HOUR), weighs(54)), YES),
    "of any item": (chart(rx("54", 1), creatinine(2.4), weighs(70, -20 * HOUR), charted(ADMISSION_KG, -60, 54)), YES),
    "pounds": (chart(rx("54", 1), creatinine(2.4), charted(ADMISSION_LB, -60, 119)), YES),
    "at one time kilograms before pounds": (
        chart(rx("54", 1), creatinine(2.4), charted(ADMISSION_LB, -60, 180), charted(ADMISSION_KG, -60, 54)), YES),
    "seven days before": (chart(rx("54", 1), creatinine(2.4), weighs(54, -7 * DAY)), YES),
    "a minute earlier": (chart(rx("54", 1), creatinine(2.4), weighs(54, -7 * DAY - 1)), NO_WEIGHT),
    "a weight charted after the order": (chart(rx("54", 1), creatinine(2.4), weighs(54, 1)), NO_WEIGHT),
    "one stored after it": (chart(rx("54", 1), creatinine(2.4), stored(weighs(54, -60), 1)), NO_WEIGHT),
    "one stored at it": (chart(rx("54", 1), creatinine(2.4), stored(weighs(54, -60), 0)), YES),
    "30 kg is a weight": (chart(rx("30", 1), creatinine(2.4), weighs(30)), YES),
    "29.9 kg is none": (chart(rx("30", 1), creatinine(2.4), weighs(29.9)), NO_WEIGHT),
    "300 kg is a weight": (chart(rx("300", 2), creatinine(2.4), weighs(300)), YES),
    "300.1 kg is none": (chart(rx("300", 2), creatinine(2.4), weighs(300.1)), NO_WEIGHT),
    "an impossible weight leaves an earlier one": (
        chart(rx("54", 1), creatinine(2.4), weighs(54, -20 * HOUR), weighs(540)), YES),
    "the clinic's weight": (chart(rx("54", 1), creatinine(2.4), clinic("119")), YES),
    "the ICU's before the clinic's": (chart(rx("54", 1), creatinine(2.4), clinic("180"), weighs(54, -6 * DAY)), YES),
    "the clinic's latest": (chart(rx("54", 1), creatinine(2.4), clinic("180", -60), clinic("119", -20)), YES),
    "the last of its day": (
        chart(rx("54", 1), creatinine(2.4), clinic("180", -20, seq=1), clinic("119", -20, seq=2)), YES),
    "ninety days before": (chart(rx("54", 1), creatinine(2.4), clinic("119", -90)), YES),
    "a day more": (chart(rx("54", 1), creatinine(2.4), clinic("119", -91)), NO_WEIGHT),
    "the clinic's of the day before": (chart(rx("54", 1), creatinine(2.4), clinic("119", -1)), YES),
    "the clinic's of the day itself is not known yet": (chart(rx("54", 1), creatinine(2.4), clinic("119", 0)), NO_WEIGHT),
    "a height is no weight": (chart(rx("54", 1), creatinine(2.4), clinic("119", name="Height (Inches)")), NO_WEIGHT),
    "no weight": (chart(rx("40", 1), creatinine(2.4)), NO_WEIGHT),
    "neither": (chart(rx("40", 1)), NOTHING),
    "an unclear order comes before all": (chart(rx("30-40", 1)), UNCLEAR),
    # --- the ideal weight: 45.5 kg at 60 inches, 21.5 mL/min at a creatinine of 2.0
    "40 mg once between the two": (heavy(rx("40", 1), charted(INCHES, -300, 60)), DIFFER),
    "30 mg once between the two": (heavy(rx("30", 1), charted(INCHES, -300, 60)), DIFFER),
    "1 mg/kg twice between the two": (heavy(rx("100", 2), charted(INCHES, -300, 60)), DIFFER),
    "an order that neither has": (heavy(rx("50", 1), charted(INCHES, -300, 60)), NO),
    "without a height": (heavy(rx("40", 1)), YES),
    "with an impossible height": (heavy(rx("40", 1), charted(CM, -300, 60)), YES),
    "a height charted after the order": (heavy(rx("40", 1), charted(INCHES, 1, 60)), YES),
    "one stored after it ": (heavy(rx("40", 1), stored(charted(INCHES, -60, 60), 1)), YES),
    "the clinic's height": (heavy(rx("40", 1), clinic("60", -400, "Height (Inches)")), DIFFER),
    "the ICU's before the clinic's height": (
        heavy(rx("40", 1), clinic("60", -400, "Height (Inches)"), charted(INCHES, -300, 78)), YES),
    "an ideal clearance of 30 or more": (heavy(rx("40", 1), charted(INCHES, -300, 68)), YES),
    "a quarter of an inch less": (heavy(rx("40", 1), charted(INCHES, -300, 67.7)), DIFFER),
    "a light patient": (
        chart(rx("30", 1), creatinine(2.0), weighs(50), charted(INCHES, -300, 72)), DIFFER),
    "without a creatinine there is no clearance to differ": (
        chart(rx("40", 1), weighs(100), charted(INCHES, -300, 60)), NO_CREATININE),
}

GOOD = (creatinine(2.4), weighs(54))
OUTSIDE = {
    "a creatinine of 1.49": chart(rx(), creatinine(1.49), weighs(54)),
    "another route": chart(rx(route="IV"), *GOOD),
    "another unit": chart(rx(dose_unit_rx="mL"), *GOOD),
    "a diluent": chart(rx(drug_type="BASE"), *GOOD),
    "another drug": chart(rx(drug="Heparin"), *GOOD),
    "two doses in one moment": chart(rx("30", 1), rx("60", 2), *GOOD),
    "an earlier order of the admission without a high creatinine": chart(
        rx("40", 1, -30 * HOUR), creatinine(1.0, -31 * HOUR), rx(), *GOOD),
    "dialysis that ended seven days before": chart(rx(), *GOOD, procedure(225441, -7 * DAY - 180, -7 * DAY)),
    "dependence on dialysis": chart(rx(), *GOOD, coded("Z992", hadm_id=None)),
    "dependence known from an earlier admission": chart(
        rx(), *GOOD, coded("N186", hadm_id=EARLIER), earlier=(-90 * DAY, -80 * DAY)),
    "a masked age": chart(rx(), *GOOD, age=91),
    "a child": chart(rx(), *GOOD, age=17),
    "an order before admission": chart(rx(at=-3 * DAY), creatinine(2.4, -3 * DAY - 60), weighs(54, -3 * DAY - 60)),
}
INSIDE = {
    "a creatinine of 1.5": chart(rx(), creatinine(1.5), weighs(54)),
    "no creatinine": chart(rx(), weighs(54)),
    "two equal rows": chart(rx("30", 1), rx("30", 1), *GOOD),
    "dialysis that ended a minute earlier": chart(rx(), *GOOD, procedure(225441, -7 * DAY - 180, -7 * DAY - 1)),
    "a brand": chart(rx(drug="Lovenox"), *GOOD),
    "kidney disease without dialysis": chart(rx(), *GOOD, coded("N184", hadm_id=None)),
    "89 years": chart(rx(), *GOOD, age=89),
}
FIRST = {
    "a later order": chart(rx(), rx("60", 2, 10 * HOUR), *GOOD),
    "an order that began before it was entered": chart(
        *(Row(row.table, {**row.values, "starttime": after(-60)}) for row in filled("30", 1)), *GOOD),
}
# fmt: on


FURTHER = FIRST


class TestRules(Rules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", FIRST)
def test_the_first_order_is_the_index_from_when_it_could_be_known(claim: str, judged: Judged) -> None:
    assert judged.tasks[claim].index_time == after(0)
    assert judged.tasks[claim].as_of == after(HOUR)


class TestEvidence:
    """What an answer must rest on."""

    def test_in_label_rests_on_order_creatinine_and_weight(self, judged: Judged) -> None:
        name = "the latest drawn"
        needs = judged.evidence[name]
        assert list(needs) == ["index_order", "creatinine", "weight"]
        assert needs["index_order"].alternatives == ((judged.tasks[name].index_eid,),)
        assert needs["creatinine"].alternatives == ((judged.rows(name, "hosp.labevents")[1],),)
        assert needs["weight"].alternatives == ((judged.rows(name, "icu.chartevents")[0],),)

    def test_weights_that_differ_need_the_height(self, judged: Judged) -> None:
        needs = judged.evidence["the clinic's height"]
        assert list(needs) == ["index_order", "creatinine", "weight", "height"]

    def test_a_missing_creatinine_rests_on_a_search(self, judged: Judged) -> None:
        needs = judged.evidence["drawn after the order"]
        assert "no_creatinine" not in needs
        needs = judged.evidence["a cancelled one"]
        assert list(needs) == ["index_order", "no_creatinine"]
        (window,) = needs["no_creatinine"].search
        assert (window.start, window.end) == (after(-3 * DAY), after(0))

    def test_a_missing_weight_rests_on_both_sources(self, judged: Judged) -> None:
        needs = judged.evidence["no weight"]
        assert list(needs) == ["index_order", "no_weight"]
        assert [window.source for window in needs["no_weight"].search] == ["icu.chartevents", "hosp.omr"]

    def test_an_unclear_order_is_cited_itself(self, judged: Judged) -> None:
        assert list(judged.evidence["a range is no dose"]) == ["index_order"]

    def test_where_both_inputs_lack_one_of_them_is_enough(self, judged: Judged) -> None:
        assert judged.evidence["neither"]["missing_input"].any

    def test_without_need_of_a_creatinine_none_is_asked_for(self, judged: Judged) -> None:
        assert list(judged.evidence["not needed where no regimen fits"]) == ["index_order", "weight"]
