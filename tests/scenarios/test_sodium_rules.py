"""The rules of the first day of hyponatraemia at their boundaries: a minute and a unit either side of each."""

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
    lab,
    ordered,
    procedure,
)

SCENARIO = "15-sodium-correction-first-day"

SODIUM, WHOLE_BLOOD, COPY = 50983, 50824, 220645
GLUCOSE, GAS_GLUCOSE, POTASSIUM = 50931, 50809, 50971
HAEMODIALYSIS = 225441

YES, YES_HIGH_RISK = ("yes", "above_limits"), ("yes", "above_limits_high_risk")
NO = ("no", "within_limits")
NO_LATE, UNFOLLOWED = ("lack_of_data", "no_late_value"), ("lack_of_data", "not_followed")
BETWEEN = ("medical_ambiguity", "between_limits")
BETWEEN_HIGH_RISK = ("medical_ambiguity", "between_limits_high_risk")

N0 = 114
HALF = 12 * HOUR
SUGAR = lab(GLUCOSE, 0, 110)


def sodium(at: float, value: float | None, **values: object) -> Row:
    return lab(SODIUM, at, value, **values)  # type: ignore[arg-type]


def chart(*rows: Row, n0: float = N0, **stay: object) -> Chart:
    return Chart(rows=(sodium(0, n0), SUGAR, *rows), **stay)  # type: ignore[arg-type]


def rises(by: float, *rows: Row, n0: float = N0, at: float = 18 * HOUR) -> Chart:
    """By so much in the second half of the day."""
    return chart(sodium(6 * HOUR, n0 + 1), sodium(at, n0 + by), *rows, n0=n0)


def potassium(at: float, value: float, **values: object) -> Row:
    return lab(POTASSIUM, at, value, **values)  # type: ignore[arg-type]


# fmt: off
CASES = {
    # --- the limits of a patient who is not at high risk
    "a rise of ten is within both": (rises(10), NO),
    "eleven lies between": (rises(11), BETWEEN),
    "ten and a half lies between": (
        chart(sodium(18 * HOUR, N0 + 10), sodium(18 * HOUR, N0 + 11)), BETWEEN),
    "twelve lies between": (rises(12), BETWEEN),
    "thirteen is above both": (rises(13), YES),
    "nine is within both": (rises(9), NO),
    "a fall is within both": (rises(-2), NO),
    # --- high risk
    "at 105 a rise of eight is within both": (rises(8, n0=105), NO),
    "at 105 a rise of nine lies between": (rises(9, n0=105), BETWEEN_HIGH_RISK),
    "at 106 it does not": (rises(9, n0=106), NO),
    "at 105 a rise of ten lies between": (rises(10, n0=105), BETWEEN_HIGH_RISK),
    "at 105 a rise of eleven is above both": (rises(11, n0=105), YES_HIGH_RISK),
    "at 105 a rise of twelve is above both": (rises(12, n0=105), YES_HIGH_RISK),
    "at 105 a rise of thirteen needs no risk": (rises(13, n0=105), YES),
    "at 106 a rise of eleven lies between": (rises(11, n0=106), BETWEEN),
    "a potassium of 2.9 at T is a high risk": (rises(9, potassium(0, 2.9)), BETWEEN_HIGH_RISK),
    "one of 3.0 is none": (rises(9, potassium(0, 3.0)), NO),
    "one twelve hours before is": (rises(9, potassium(-HALF, 2.9)), BETWEEN_HIGH_RISK),
    "one a minute earlier is none": (rises(9, potassium(-HALF - 1, 2.9)), NO),
    "one after T is none": (rises(9, potassium(1, 2.9)), NO),
    "one known after as-of is none": (rises(9, potassium(-1, 2.9, stored=30 * HOUR + 1)), NO),
    "a cancelled one is none": (rises(9, potassium(-1, 2.9, comment="CANCELLED. WRONG TUBE.")), NO),
    # --- the peak
    "the peak counts, not the last value": (
        chart(sodium(6 * HOUR, N0 + 13), sodium(20 * HOUR, N0 + 4)), YES),
    "a value of the twenty-fourth hour counts": (chart(sodium(DAY, N0 + 13)), YES),
    "a minute later it does not": (chart(sodium(18 * HOUR, N0 + 3), sodium(DAY + 1, N0 + 13)), NO),
    "a value of the next minute counts": (chart(sodium(1, N0 + 7), sodium(18 * HOUR, N0 + 4)), NO),
    "two values of one moment are averaged": (
        chart(sodium(18 * HOUR, N0 + 11), sodium(18 * HOUR, N0 + 9)), NO),
    "whole blood is another measurement": (
        chart(sodium(18 * HOUR, N0 + 3), lab(WHOLE_BLOOD, 16 * HOUR, N0 + 14)), NO),
    "a chart copy is none": (
        chart(sodium(18 * HOUR, N0 + 3), charted(COPY, 16 * HOUR, N0 + 14), icu=(-HOUR, 2 * DAY)), NO),
    "an implausible value is none": (chart(sodium(14 * HOUR, 201), sodium(18 * HOUR, N0 + 3)), NO),
    "nor is one averaged with another of its draw": (chart(sodium(18 * HOUR, 210), sodium(18 * HOUR, N0 + 3)), NO),
    "below the range neither": (chart(sodium(18 * HOUR, 79), sodium(18 * HOUR, N0 + 13)), YES),
    "an implausible potassium of a draw hides no low one": (
        rises(9, potassium(0, 2.9), potassium(0, 31)), BETWEEN_HIGH_RISK),
    "a cancelled value is none": (
        chart(sodium(14 * HOUR, N0 + 14, comment="SPECIMEN LOST."), sodium(18 * HOUR, N0 + 3)), NO),
    "a value known at as-of counts": (chart(sodium(23 * HOUR, N0 + 13, stored=30 * HOUR)), YES),
    "one known a minute later does not": (
        chart(sodium(18 * HOUR, N0 + 3), sodium(23 * HOUR, N0 + 13, stored=30 * HOUR + 1)), NO),
    # --- the second half of the day
    "a value at twelve hours is not late": (chart(sodium(HALF, N0 + 3)), NO_LATE),
    "a minute later it is": (chart(sodium(HALF + 1, N0 + 3)), NO),
    "a value at twenty-eight hours, eight above, bounds the rise": (
        chart(sodium(6 * HOUR, N0 + 3), sodium(28 * HOUR, N0 + 8)), NO),
    "a minute after that it does not": (chart(sodium(6 * HOUR, N0 + 3), sodium(28 * HOUR + 1, N0 + 8)), NO_LATE),
    "nine above it does not": (chart(sodium(6 * HOUR, N0 + 3), sodium(28 * HOUR, N0 + 9)), NO_LATE),
    "the bound alone is enough": (chart(sodium(25 * HOUR, N0 + 8)), NO),
    "a bound does not lower the peak before it": (
        chart(sodium(6 * HOUR, N0 + 11), sodium(25 * HOUR, N0 + 8)), BETWEEN),
    "a rise above the limits needs no late value": (chart(sodium(6 * HOUR, N0 + 13)), YES),
    "one at high risk needs none either": (chart(sodium(6 * HOUR, 116), n0=105), YES_HIGH_RISK),
    "a rise between the limits does": (chart(sodium(6 * HOUR, N0 + 12)), NO_LATE),
    "without any later value nothing is known": (chart(), UNFOLLOWED),
    "a later value that bounds nothing leaves it so": (chart(sodium(26 * HOUR, N0 + 12)), UNFOLLOWED),
    "leaving leaves it open": (chart(sodium(6 * HOUR, N0 + 3), leaves=8 * HOUR), NO_LATE),
    "dying leaves it open": (chart(sodium(6 * HOUR, N0 + 3), leaves=8 * HOUR, died=8 * HOUR), NO_LATE),
}

OUTSIDE = {
    "an index of 120": rises(3, n0=120),
    "two values of one moment that average 120": Chart(rows=(sodium(0, 118), sodium(0, 122), SUGAR)),
    "whole blood alone": Chart(rows=(lab(WHOLE_BLOOD, 0, 112), SUGAR)),
    "an implausible index": Chart(rows=(sodium(0, 79), SUGAR)),
    "a glucose of 401": Chart(rows=(sodium(0, N0), lab(GLUCOSE, 0, 401), sodium(18 * HOUR, 118))),
    "a glucose above the analyser's range": Chart(
        rows=(sodium(0, N0), lab(GLUCOSE, 0, None, comment="GREATER THAN 500.  VERIFIED."))),
    "no glucose within six hours": Chart(rows=(sodium(0, N0), lab(GLUCOSE, 361, 110))),
    "a nearer glucose decides": Chart(rows=(sodium(0, N0), lab(GLUCOSE, -30, 110), lab(GAS_GLUCOSE, 20, 450))),
    "a sodium six higher eight hours before": chart(sodium(-8 * HOUR, N0 + 6)),
    "a sodium eight higher an hour later": chart(sodium(HOUR, N0 + 8)),
    "a sodium below 120 two days before, in the clinic": Chart(
        rows=(sodium(0, N0), SUGAR, sodium(-2 * DAY, 119)), ed=(-HOUR, 3 * HOUR)),
    "dialysis that ended seven days before": chart(
        procedure(HAEMODIALYSIS, -7 * DAY - 240, -7 * DAY), icu=(-8 * DAY, DAY)),
    "dialysis begun at the end of the day": chart(procedure(HAEMODIALYSIS, DAY, DAY + 240), icu=(-DAY, 2 * DAY)),
    "dialysis ordered": chart(ordered(DAY, "Hemodialysis")),
    "a sodium before the visit": Chart(rows=(sodium(-3 * DAY, N0), lab(GLUCOSE, -3 * DAY, 110))),
    "a result that comes after as-of": Chart(rows=(sodium(0, N0, stored=30 * HOUR + 1), SUGAR)),
    "a child": Chart(rows=(sodium(0, N0), SUGAR), age=17),
}

INSIDE = {
    "an index of 119": rises(3, n0=119),
    "two values of one moment that average 119.5": Chart(rows=(sodium(0, 119), sodium(0, 120), SUGAR)),
    "the lowest plausible index": Chart(rows=(sodium(0, 80), SUGAR)),
    "a glucose of 400": Chart(rows=(sodium(0, N0), lab(GLUCOSE, 0, 400))),
    "a glucose six hours away": Chart(rows=(sodium(0, N0), lab(GLUCOSE, -360, 110))),
    "a sodium five higher eight hours before": chart(sodium(-8 * HOUR, 118 + 5), n0=118),
    "a sodium six higher a minute earlier": chart(sodium(-8 * HOUR - 1, N0 + 6)),
    "a sodium seven higher an hour later": chart(sodium(HOUR, N0 + 7)),
    "a sodium eight higher a minute later than that": chart(sodium(HOUR + 1, N0 + 8)),
    "a sodium below 120 more than two days before": Chart(
        rows=(sodium(0, N0), SUGAR, sodium(-2 * DAY - 1, 119)), ed=(-HOUR, 3 * HOUR)),
    "dialysis that ended a minute earlier": chart(
        procedure(HAEMODIALYSIS, -7 * DAY - 240, -7 * DAY - 1), icu=(-8 * DAY, DAY)),
    "dialysis begun a minute later": chart(procedure(HAEMODIALYSIS, DAY + 1, DAY + 240), icu=(-DAY, 2 * DAY)),
    "dialysis ordered a minute later": chart(ordered(DAY + 1, "Hemodialysis")),
    "a sodium of the emergency visit": Chart(rows=(sodium(0, N0), SUGAR), ed=(-HOUR, 3 * HOUR)),
    "a result of as-of": Chart(rows=(sodium(0, N0, stored=30 * HOUR), SUGAR)),
}

FIRST = {"the first of two": chart(sodium(5 * HOUR, N0 - 2), sodium(18 * HOUR, N0 + 3))}
# fmt: on


FURTHER = FIRST


class TestRules(Rules):
    """As every scenario's."""


def test_the_first_low_sodium_is_the_index_not_the_lowest(judged: Judged) -> None:
    assert judged.tasks["the first of two"].index_time == after(0)


class TestEvidence:
    """What an answer must rest on."""

    def test_any_value_above_the_limits_proves_an_excess(self, judged: Judged) -> None:
        name = "the peak counts, not the last value"
        needs = judged.evidence[name]
        assert list(needs) == ["index_sodium", "peak_sodium"]
        peak, _ = judged.rows(name, "hosp.labevents")[-2:]
        assert needs["peak_sodium"].alternatives == ((peak,),)

    def test_a_rise_within_the_limits_rests_on_the_peak_and_a_late_value(self, judged: Judged) -> None:
        name = "a bound does not lower the peak before it"
        needs = judged.evidence[name]
        peak, bound = judged.rows(name, "hosp.labevents")[-2:]
        assert list(needs) == ["index_sodium", "peak_sodium", "late_sodium"]
        assert needs["peak_sodium"].alternatives == ((peak,),)
        assert needs["late_sodium"].alternatives == ((bound,),)

    @pytest.mark.parametrize(
        "claim",
        ["at 105 a rise of nine lies between", "at 105 a rise of eleven is above both",
         "a potassium of 2.9 at T is a high risk"],
    )  # fmt: skip
    def test_high_risk_is_shown_where_it_decides(self, claim: str, judged: Judged) -> None:
        assert len(judged.evidence[claim]["risk_factor"].alternatives) == 1

    def test_high_risk_need_not_be_shown_where_it_does_not(self, judged: Judged) -> None:
        assert "risk_factor" not in judged.evidence["at 105 a rise of thirteen needs no risk"]

    def test_a_missing_late_value_rests_on_the_last_one_and_a_search(self, judged: Judged) -> None:
        name = "a value at twelve hours is not late"
        needs = judged.evidence[name]
        assert list(needs) == ["index_sodium", "last_sodium", "no_late_sodium"]
        assert needs["last_sodium"].alternatives == ((judged.rows(name, "hosp.labevents")[-1],),)
        (window,) = needs["no_late_sodium"].search
        assert (window.items, window.end) == ((SODIUM,), after(28 * HOUR))

    def test_a_day_without_any_value_rests_on_a_search_of_it_all(self, judged: Judged) -> None:
        needs = judged.evidence["without any later value nothing is known"]
        assert list(needs) == ["index_sodium", "no_follow_up"]
