"""The rules of the recheck after hypoglycaemia at their boundaries: a minute and a unit either side of each."""

import pytest

from tests.scenarios.rules import Rules
from tests.scenarios.timed_charts import (
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    charted,
    given,
    infused,
    lab,
    procedure,
)

SCENARIO = "14-hypoglycaemia-recheck"

STICK, ANALYSER_COPY, CHEMISTRY_COPY, HEART_RATE, CODE_STATUS = 225664, 226537, 220621, 220045, 223758
ANALYSER, CHEMISTRY = 50809, 50931
DEXTROSE_50, DEXTROSE_10, DEXTROSE_5 = 220952, 220950, 220949
SENT, RECEIVED = 225470, 225469

YES = ("yes", "recovered")
STILL_LOW, UNCHECKED = ("no", "still_low"), ("no", "not_rechecked")
NUMBERLESS, LEFT, OPERATING, UNCHARTED = (
    ("lack_of_data", rule) for rule in ("unresulted", "left_unit", "operating_room", "not_charted")
)
DISPUTED = ("medical_ambiguity", "disputed")

UNIT = (-5 * HOUR, 60 * HOUR)


def stick(at: float, value: float | None) -> Row:
    return charted(STICK, at, value)  # type: ignore[arg-type]


def read_as(row: Row, text: str) -> Row:
    """A reading without a number."""
    return Row(row.table, {**row.values, "value": text, "valuenum": None})


def stored(row: Row, at: float) -> Row:
    return Row(row.table, {**row.values, "storetime": after(at)})


def heart_rates(*minutes: float) -> tuple[Row, ...]:
    return tuple(charted(HEART_RATE, at) for at in minutes)


INDEX = stick(0, 46)
HOURLY = heart_rates(*range(-5 * HOUR, 5 * HOUR, HOUR))


def chart(*rows: Row, index: Row = INDEX, icu: tuple[float, float] = UNIT) -> Chart:
    return Chart(rows=(index, *HOURLY, *rows), icu=icu)


def watched(*minutes: float, icu: tuple[float, float] = UNIT) -> Chart:
    """Only these heart rates, and no recheck."""
    return Chart(rows=(INDEX, *heart_rates(*minutes)), icu=icu)


def dextrose(at: float, amount: float = 50, item: int = DEXTROSE_50) -> Row:
    return infused(item, at, amount)


# fmt: off
CASES = {
    "nobody rechecked while the unit was charting": (chart(), UNCHECKED),
    # --- recovery: the hour and the threshold
    "seventy at sixty minutes is a recovery": (chart(stick(60, 70)), YES),
    "a minute later is none": (chart(stick(61, 70)), UNCHECKED),
    "sixty-nine is none": (chart(stick(60, 69)), STILL_LOW),
    "sixty-nine and a half is none": (chart(lab(ANALYSER, 30, 69.5)), STILL_LOW),
    "the copy of the index at its minute is no recheck": (
        chart(charted(ANALYSER_COPY, 0, 46), index=lab(ANALYSER, 0, 46)), UNCHECKED),
    "a higher stick before it is none": (chart(stick(-15, 90)), UNCHECKED),
    "one high value among low ones is enough": (chart(stick(15, 60), stick(30, 71), stick(45, 66)), YES),
    "two rows of one item and time that average 70": (
        chart(lab(CHEMISTRY, 30, 66), lab(CHEMISTRY, 30, 74)), YES),
    "two rows of one item and time that average 69": (
        chart(lab(CHEMISTRY, 30, 64), lab(CHEMISTRY, 30, 74)), STILL_LOW),
    "an implausible value is none": (chart(lab(CHEMISTRY, 30, 10_001)), NUMBERLESS),
    "every method counts: analyser": (chart(lab(ANALYSER, 20, 80)), YES),
    "every method counts: its copy": (chart(charted(ANALYSER_COPY, 20, 80)), YES),
    "every method counts: chemistry": (chart(lab(CHEMISTRY, 20, 80)), YES),
    "every method counts: its copy in the chart": (chart(charted(CHEMISTRY_COPY, 20, 80)), YES),
    "urine glucose does not": (chart(lab(51478, 20, 80)), UNCHECKED),
    "the draw decides, not the result": (chart(lab(CHEMISTRY, 50, 88, stored=150)), YES),
    "a result of as-of exists": (chart(lab(CHEMISTRY, 50, 88, stored=3 * HOUR)), YES),
    "one a minute later does not": (chart(lab(CHEMISTRY, 50, 88, stored=3 * HOUR + 1)), UNCHECKED),
    "a stick noted after as-of does not": (chart(stored(stick(30, 88), 3 * HOUR + 1)), UNCHECKED),
    "a dose is no recovery": (chart(dextrose(5)), UNCHECKED),
    # --- one measurement
    "the copy of the index two minutes later is no recheck": (
        chart(charted(ANALYSER_COPY, 2, 46), icu=(-5 * HOUR, 50)), LEFT),
    "three minutes later it is one": (chart(charted(ANALYSER_COPY, 3, 46), icu=(-5 * HOUR, 50)), STILL_LOW),
    "another value two minutes later is one": (
        chart(charted(ANALYSER_COPY, 2, 47), icu=(-5 * HOUR, 50)), STILL_LOW),
    # --- readings without a number
    "a recheck without a number leaves it open": (chart(read_as(stick(60, None), "___")), NUMBERLESS),
    "one a minute after the hour does not": (chart(read_as(stick(61, None), "___")), UNCHECKED),
    "beside a low one it still does": (chart(stick(20, 61), read_as(stick(40, None), "ERROR")), NUMBERLESS),
    "beside a recovery it does not": (chart(stick(20, 81), read_as(stick(40, None), "ERROR")), YES),
    "a lost specimen leaves it open": (chart(lab(CHEMISTRY, 30, None, comment="SPECIMEN LOST.")), NUMBERLESS),
    "a cancelled value is none": (chart(lab(CHEMISTRY, 30, 90, comment="CANCELLED. WRONG TUBE.")), NUMBERLESS),
    "what the chart's copy holds is not lost": (
        chart(lab(ANALYSER, 30, None), charted(ANALYSER_COPY, 30, 66)), STILL_LOW),
    "LO is low": (chart(read_as(stick(30, None), "LO")), STILL_LOW),
    "HI is a recovery": (chart(read_as(stick(30, None), "HI")), YES),
    "greater than 500 is a recovery": (chart(lab(CHEMISTRY, 30, None, comment="GREATER THAN 500.  VERIFIED.")), YES),
    "the remark on fasting says nothing": (
        chart(lab(CHEMISTRY, 30, None, comment="IF FASTING, 70-100 NORMAL, >125 PROVISIONAL DIABETES.")), NUMBERLESS),
    # --- lack of data: gone, or not charted
    "an ICU stay that ends within the hour leaves it open": (chart(icu=(-5 * HOUR, 59)), LEFT),
    "one that ends with it does not": (chart(icu=(-5 * HOUR, 60)), UNCHECKED),
    "a low recheck before leaving settles it": (chart(stick(20, 60), icu=(-5 * HOUR, 40)), STILL_LOW),
    "sent to the operating room at sixty minutes": (
        chart(procedure(SENT, 60, 61), procedure(RECEIVED, 170, 171)), OPERATING),
    "sent a minute later": (chart(procedure(SENT, 61, 62), procedure(RECEIVED, 170, 171)), UNCHECKED),
    "back from it at T": (chart(procedure(SENT, -60, -59), procedure(RECEIVED, 0, 1)), OPERATING),
    "back a minute before": (chart(procedure(SENT, -60, -59), procedure(RECEIVED, -1, 0)), UNCHECKED),
    "a low recheck on the way settles it": (
        chart(stick(10, 60), procedure(SENT, 20, 21), procedure(RECEIVED, 170, 171)), STILL_LOW),
    "a gap of two hours is allowed": (watched(-60, 60), UNCHECKED),
    "a minute more is not": (watched(-60, 61), UNCHARTED),
    "the gap reaches back before T": (watched(-120, 1, 60), UNCHARTED),
    "without a later row it reaches to as-of": (watched(-60, 0, 59), UNCHARTED),
    "a recheck in the gap settles it": (
        Chart(rows=(INDEX, stick(30, 60), *heart_rates(-100, 90)), icu=UNIT), STILL_LOW),
    # --- two methods
    "another method at 70 ten minutes after disputes it": (chart(lab(CHEMISTRY, 10, 70)), DISPUTED),
    "eleven minutes after it is a recheck": (chart(lab(CHEMISTRY, 11, 70)), YES),
    "at 69 it is a low recheck": (chart(lab(CHEMISTRY, 10, 69)), STILL_LOW),
    "ten minutes before disputes it": (chart(lab(CHEMISTRY, -10, 70)), DISPUTED),
    "eleven minutes before does not": (chart(lab(CHEMISTRY, -11, 70)), UNCHECKED),
    "at the same minute disputes it": (chart(lab(ANALYSER, 0, 93)), DISPUTED),
    "the same method does not dispute": (chart(stick(5, 93)), YES),
    "the analyser's copy is the analyser": (
        chart(charted(ANALYSER_COPY, 5, 93), index=lab(ANALYSER, 0, 46)), YES),
    "a later high value settles it": (chart(lab(CHEMISTRY, 3, 93), stick(40, 90)), YES),
    "a later low value does not": (chart(lab(CHEMISTRY, 3, 93), stick(40, 60)), DISPUTED),
    "a later value without a number leaves it open": (
        chart(lab(CHEMISTRY, 3, 93), read_as(stick(40, None), "___")), NUMBERLESS),
    "dextrose in between makes it a recovery": (chart(dextrose(2), lab(CHEMISTRY, 8, 93)), YES),
    "dextrose after it does not": (chart(dextrose(9), lab(CHEMISTRY, 8, 93)), DISPUTED),
    "dextrose ten minutes before T does": (chart(dextrose(-10), lab(CHEMISTRY, 8, 93)), YES),
    "eleven minutes before does not explain it": (chart(dextrose(-11), lab(CHEMISTRY, 8, 93)), DISPUTED),
    "dextrose of no amount does not": (chart(dextrose(2, 0), lab(CHEMISTRY, 8, 93)), DISPUTED),
    "ten per cent does": (chart(dextrose(2, 100, DEXTROSE_10), lab(CHEMISTRY, 8, 93)), YES),
    "five per cent does not": (chart(dextrose(2, 100, DEXTROSE_5), lab(CHEMISTRY, 8, 93)), DISPUTED),
    "glucose gel does": (chart(given(2, "Glucose Gel"), lab(CHEMISTRY, 8, 93)), YES),
    "glucagon does": (chart(given(2, "Glucagon"), lab(CHEMISTRY, 8, 93)), YES),
    "gel that was not given does not": (chart(given(2, "Glucose Gel", "Not Given"), lab(CHEMISTRY, 8, 93)), DISPUTED),
    "citrate dextrose is another drug": (
        chart(given(2, "Citrate Dextrose 3% (ACD-A) CRRT"), lab(CHEMISTRY, 8, 93)), DISPUTED),
    "sugar before T does not undo a value before T": (chart(dextrose(-8), lab(CHEMISTRY, -5, 93)), DISPUTED),
    "a contradicting value does not show that the patient stayed": (
        chart(lab(CHEMISTRY, -5, 93), icu=(-5 * HOUR, 50)), LEFT),
}

OUTSIDE = {
    "an index of 54": Chart(rows=(stick(0, 54), *HOURLY), icu=UNIT),
    "two gases of one moment that average 54": Chart(rows=(lab(ANALYSER, 0, 50), lab(ANALYSER, 0, 58)), icu=UNIT),
    "chemistry alone": Chart(rows=(lab(CHEMISTRY, 0, 40), charted(CHEMISTRY_COPY, 0, 40), *HOURLY), icu=UNIT),
    "a gas before the ICU": Chart(rows=(lab(ANALYSER, 0, 46),), icu=(1, 60 * HOUR)),
    "a gas when the stay has ended": Chart(rows=(lab(ANALYSER, 0, 46),), icu=(-5 * HOUR, 0)),
    "an index that is not known by as-of": Chart(rows=(lab(ANALYSER, 0, 46, stored=3 * HOUR + 1), *HOURLY), icu=UNIT),
    "comfort care at T": chart(Row("icu.chartevents", {**charted(CODE_STATUS, 0).values, "value": "Comfort measures only"})),
    "a child": Chart(rows=(INDEX, *HOURLY), icu=UNIT, age=17),
    "LO alone": Chart(rows=(read_as(stick(0, None), "LO"), *HOURLY), icu=UNIT),
}

INSIDE = {
    "an index of 53": Chart(rows=(stick(0, 53), *HOURLY), icu=UNIT),
    "a gas at the begin of the stay": Chart(rows=(lab(ANALYSER, 0, 46),), icu=(0, 60 * HOUR)),
    "an index known at as-of": Chart(rows=(lab(ANALYSER, 0, 46, stored=3 * HOUR), *HOURLY), icu=UNIT),
    "comfort care a minute later": chart(
        Row("icu.chartevents", {**charted(CODE_STATUS, 1).values, "value": "Comfort measures only"})),
}

VERBLESS = {
    "a dose that lost its verb explains or does not": chart(
        given(2, "Glucose Gel", " in Other Location"), lab(CHEMISTRY, 8, 93)),
    "after the second value it is of no concern": chart(
        given(9, "Glucose Gel", " in Other Location"), lab(CHEMISTRY, 8, 93)),
    "with a later recovery it is of no concern": chart(
        given(2, "Glucose Gel", "Delayed "), lab(CHEMISTRY, 8, 93), stick(40, 99)),
}

FIRST = {"the first of two": Chart(rows=(stick(0, 50), stick(30, 44), stick(50, 90), *HOURLY), icu=UNIT)}
# fmt: on


FURTHER = VERBLESS | FIRST


class TestRules(Rules):
    """As every scenario's."""


def test_the_first_low_glucose_of_the_stay_is_the_index(judged: Judged) -> None:
    assert judged.tasks["the first of two"].index_time == after(0)
    assert judged.verdicts["the first of two"] == YES


def test_a_row_that_lost_its_verb_takes_a_case_out_only_if_the_verdict_would_turn_on_it(
    judged: Judged,
) -> None:
    assert [judged.eligible[name] for name in VERBLESS] == [False, True, True]


class TestEvidence:
    """What an answer must rest on."""

    def test_any_recovery_of_the_hour_is_enough(self, judged: Judged) -> None:
        name = "one high value among low ones is enough"
        needs = judged.evidence[name]
        assert list(needs) == ["index_glucose", "recovered"]
        assert len(needs["recovered"].alternatives) == 1

    def test_low_rechecks_stand_in_for_the_search_only_together(self, judged: Judged) -> None:
        name = "a low recheck on the way settles it"
        needs = judged.evidence[name]
        assert list(needs) == ["index_glucose", "no_recovery"]
        assert [window.source for window in needs["no_recovery"].search] == [
            "icu.chartevents",
            "hosp.labevents",
        ]
        assert [len(rows) for rows in needs["no_recovery"].alternatives] == [1]

    def test_an_unchecked_hour_rests_on_searches_and_a_vital_sign(self, judged: Judged) -> None:
        needs = judged.evidence["a gap of two hours is allowed"]
        assert list(needs) == ["index_glucose", "no_recovery", "unit_recording"]
        assert needs["no_recovery"].alternatives == ()
        assert len(needs["unit_recording"].alternatives) == 2

    def test_a_dispute_rests_on_both_values(self, judged: Judged) -> None:
        name = "another method at 70 ten minutes after disputes it"
        needs = judged.evidence[name]
        (chemistry,) = judged.rows(name, "hosp.labevents")
        assert list(needs) == ["index_glucose", "no_recovery", "discordant_glucose"]
        assert needs["discordant_glucose"].alternatives == ((chemistry,),)
        assert chemistry not in needs["no_recovery"].qualifying

    def test_the_index_may_be_cited_by_its_copy(self, judged: Judged) -> None:
        needs = judged.evidence["the copy of the index two minutes later is no recheck"]
        assert len(needs["index_glucose"].alternatives) == 2

    @pytest.mark.parametrize(
        ("claim", "requirement"),
        [
            ("a recheck without a number leaves it open", "unresulted_glucose"),
            ("an ICU stay that ends within the hour leaves it open", "departure"),
            ("sent to the operating room at sixty minutes", "operating_room"),
            ("the gap reaches back before T", "charting_gap"),
        ],
    )
    def test_each_lack_rests_on_what_makes_it(self, claim: str, requirement: str, judged: Judged) -> None:
        assert list(judged.evidence[claim]) == ["index_glucose", "no_recovery", requirement]
