"""The rules of an INR of 5 or more on warfarin at their boundaries: a minute and a tenth either side of each."""

from typing import Any

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
    given,
    infused,
    lab,
    order,
)

SCENARIO = "12-supratherapeutic-inr-warfarin"

INR, SODIUM, HEART_RATE, COPY = 51237, 50983, 220045, 227467
WARFARIN_INPUT, ARGATROBAN_INPUT = 225913, 225147

WITHHELD, RESUMED = ("yes", "withheld"), ("yes", "resumed_after_fall")
GIVEN, NOT_REPEATED = ("no", "given_while_high"), ("no", "not_repeated")
NOT_RECORDING, UNRESULTED = ("lack_of_data", "not_recording"), ("lack_of_data", "unresulted")
SILENT = ("lack_of_data", "laboratory_silent")
INTERFERING, DISPUTED = ("medical_ambiguity", "interfering_drug"), ("medical_ambiguity", "resumed_in_dispute")

DRAWN = -50
INDEX = lab(INR, DRAWN, 6.2, stored=0)
DOSE = given(-20 * HOUR, "Warfarin")
EMAR = tuple(given(at * HOUR, "Docusate Sodium") for at in (-6, 6, 20))
"""Three rows of another drug: the eMAR was recording."""
REPEAT = lab(INR, 26 * HOUR, 4.1)
MORNING = lab(SODIUM, 14 * HOUR, 140)


def bare(*rows: Row, **stay: Any) -> Chart:
    """A chart on warfarin whose eMAR was recording, without a repeat."""
    return Chart(rows=(INDEX, DOSE, *EMAR, MORNING, *rows), **stay)


def chart(*rows: Row, **stay: Any) -> Chart:
    return bare(REPEAT, *rows, **stay)


def silent(*rows: Row, **stay: Any) -> Chart:
    """A chart without eMAR rows after the dose of warfarin."""
    return Chart(rows=(INDEX, DOSE, REPEAT, *rows), **stay)


def warfarin(at: float, event: str | None = "Administered") -> Row:
    return given(at, "Warfarin", event)


def text(at: float, value: str | None, *, comment: str | None = None) -> Row:
    """An INR without a number of its own."""
    return Row("hosp.labevents", {**lab(INR, at, None, comment=comment).values, "value": value})


def index(number: float | None, **values: Any) -> Chart:
    """A chart whose index specimen shows this."""
    row = Row("hosp.labevents", {**INDEX.values, "value": number, "valuenum": number, **values})
    return Chart(rows=(row, DOSE, *EMAR, REPEAT))


def ordered(at: float, dose: str = "5", unit: str = "mg", *, ends: float = DAY) -> Row:
    values = order(at, "Warfarin", "PO").values
    return Row(
        "hosp.prescriptions", {**values, "dose_val_rx": dose, "dose_unit_rx": unit, "stoptime": after(ends)}
    )


def dosed(at: float, dose: str) -> tuple[Row, Row]:
    return warfarin(at), Row("hosp.emar_detail", {"dose_given": dose})


def drip(at: float, event: str) -> Row:
    return given(at, "Argatroban", event)


UNIT = (-5 * HOUR, 60 * HOUR)
VITALS = tuple(charted(HEART_RATE, at * HOUR) for at in range(-5, 36))

# fmt: off
CASES = {
    "withheld and repeated": (chart(), WITHHELD),
    # --- doses of the 24 hours
    "a dose a minute after the result counts": (chart(warfarin(1)), GIVEN),
    "one at the result does not": (chart(warfarin(0)), WITHHELD),
    "one at 24 hours counts": (chart(warfarin(24 * HOUR)), GIVEN),
    "one a minute later does not": (chart(warfarin(24 * HOUR + 1)), WITHHELD),
    "one stored after as-of does not exist": (
        chart(Row("hosp.emar", {**warfarin(8 * HOUR).values, "storetime": after(36 * HOUR + 1)})), WITHHELD),
    "not given is no dose": (chart(warfarin(8 * HOUR, "Not Given")), WITHHELD),
    "held is no dose": (chart(warfarin(8 * HOUR, "Hold Dose")), WITHHELD),
    "an order is no dose": (chart(ordered(8 * HOUR)), WITHHELD),
    "a dose of zero is none": (chart(*dosed(8 * HOUR, "0")), WITHHELD),
    "half a milligram is one": (chart(*dosed(8 * HOUR, "0.5")), GIVEN),
    "a row of an order of zero is none": (
        chart(given(8 * HOUR, "Warfarin", pharmacy_id=77),
              Row("hosp.prescriptions", {**ordered(0, "0").values, "pharmacy_id": 77})), WITHHELD),
    "the trade name counts": (chart(given(8 * HOUR, "Coumadin (Warfarin) 2 mg Tab")), GIVEN),
    "a dose of the ICU record counts": (chart(infused(WARFARIN_INPUT, 8 * HOUR, 1), icu=UNIT), GIVEN),
    "one of no amount does not": (chart(infused(WARFARIN_INPUT, 8 * HOUR, 0), icu=UNIT), WITHHELD),
    "vitamin K changes nothing": (chart(given(HOUR, "Phytonadione")), WITHHELD),
    # --- what was known when it was given
    "after an INR of 3.0 it is not high": (
        chart(lab(INR, 8 * HOUR, 3.0, stored=9 * HOUR), warfarin(18 * HOUR)), RESUMED),
    "after 3.1 the ranges disagree": (
        chart(lab(INR, 8 * HOUR, 3.1, stored=9 * HOUR), warfarin(18 * HOUR)), DISPUTED),
    "after 3.5 too": (chart(lab(INR, 8 * HOUR, 3.5, stored=9 * HOUR), warfarin(18 * HOUR)), DISPUTED),
    "after 3.6 it is high": (chart(lab(INR, 8 * HOUR, 3.6, stored=9 * HOUR), warfarin(18 * HOUR)), GIVEN),
    "a result a minute before the dose was known": (
        chart(lab(INR, 8 * HOUR, 2.4, stored=9 * HOUR), warfarin(9 * HOUR + 1)), RESUMED),
    "one of the same minute was not": (
        chart(lab(INR, 8 * HOUR, 2.4, stored=9 * HOUR), warfarin(9 * HOUR)), GIVEN),
    "the latest one decides": (
        chart(lab(INR, 6 * HOUR, 2.4, stored=7 * HOUR), lab(INR, 8 * HOUR, 4.0, stored=9 * HOUR),
              warfarin(18 * HOUR)), GIVEN),
    "the latest by draw, not by result": (
        chart(lab(INR, 6 * HOUR, 4.0, stored=10 * HOUR), lab(INR, 8 * HOUR, 2.4, stored=9 * HOUR),
              warfarin(18 * HOUR)), RESUMED),
    "one dose while high is enough": (
        chart(warfarin(5 * HOUR), lab(INR, 8 * HOUR, 2.4, stored=9 * HOUR), warfarin(18 * HOUR)), GIVEN),
    "one dose in dispute is enough": (
        chart(lab(INR, 6 * HOUR, 3.2, stored=7 * HOUR), warfarin(8 * HOUR),
              lab(INR, 10 * HOUR, 2.4, stored=11 * HOUR), warfarin(18 * HOUR)), DISPUTED),
    "a specimen drawn between the index draw and its result tells too": (
        chart(lab(INR, -30, 2.4, stored=10), warfarin(18 * HOUR)), RESUMED),
    "one drawn before the index does not": (chart(lab(INR, -51, 2.4, stored=10), warfarin(18 * HOUR)), GIVEN),
    # --- the repeat
    "drawn at thirty hours it is in time": (bare(lab(INR, 30 * HOUR, 5.1)), WITHHELD),
    "a minute later it is not": (bare(lab(INR, 30 * HOUR + 1, 5.1)), NOT_REPEATED),
    "drawn a minute after the result it counts": (bare(lab(INR, 1, 5.1)), WITHHELD),
    "drawn before the result it does not": (bare(lab(INR, -1, 5.1, stored=5)), NOT_REPEATED),
    "known at as-of it counts": (bare(lab(INR, 29 * HOUR, 5.1, stored=36 * HOUR)), WITHHELD),
    "known a minute later it does not exist": (
        bare(lab(INR, 29 * HOUR, 5.1, stored=36 * HOUR + 1)), NOT_REPEATED),
    "beyond the range it counts": (bare(text(14 * HOUR, ">22")), WITHHELD),
    "a comment can say so": (bare(text(14 * HOUR, "___", comment="GREATER THAN 22.8")), WITHHELD),
    "without a repeat a dose changes nothing": (bare(warfarin(8 * HOUR)), GIVEN),
    "a repeat that could not be reported leaves it open": (
        bare(text(14 * HOUR, None, comment="UNABLE TO REPORT.")), UNRESULTED),
    "so does a cancelled one": (bare(lab(INR, 14 * HOUR, 5.1, comment="SPECIMEN CANCELLED.")), UNRESULTED),
    "but not if another one has a number": (
        chart(text(13 * HOUR, None, comment="UNABLE TO REPORT.")), WITHHELD),
    "nor if warfarin was given": (
        bare(text(14 * HOUR, None, comment="UNABLE TO REPORT."), warfarin(8 * HOUR)), GIVEN),
    "nor if it was drawn too late": (
        bare(text(30 * HOUR + 1, None, comment="UNABLE TO REPORT.")), NOT_REPEATED),
    "a chart copy is no repeat": (bare(charted(COPY, 14 * HOUR, 5.1), icu=UNIT), NOT_REPEATED),
    # --- whether the laboratory was in use
    "without any specimen a missing repeat means nothing": (Chart(rows=(INDEX, DOSE, *EMAR)), SILENT),
    "a specimen eleven minutes after the result is enough": (
        Chart(rows=(INDEX, DOSE, *EMAR, lab(SODIUM, 11, 140))), NOT_REPEATED),
    "ten minutes are not": (Chart(rows=(INDEX, DOSE, *EMAR, lab(SODIUM, 10, 140))), SILENT),
    "a dose given while high settles it": (Chart(rows=(INDEX, DOSE, *EMAR, warfarin(8 * HOUR))), GIVEN),
    # --- whether the eMAR was recording
    "without eMAR rows nothing is shown": (silent(), NOT_RECORDING),
    "two rows are too few": (silent(*EMAR[1:]), NOT_RECORDING),
    "the first one may lie twelve hours before": (silent(given(-12 * HOUR, "Senna"), *EMAR[1:]), WITHHELD),
    "a minute more is too early": (silent(given(-12 * HOUR - 1, "Senna"), *EMAR[1:]), NOT_RECORDING),
    "one must lie in the 24 hours": (
        silent(*(given(at, "Senna") for at in (-60, -30, -1, 24 * HOUR + 1))), NOT_RECORDING),
    "one at 24 hours does": (silent(*(given(at, "Senna") for at in (-60, -30, 24 * HOUR))), WITHHELD),
    "a dose found needs no recording": (silent(warfarin(8 * HOUR)), GIVEN),
    "a recorded ICU stay does not help": (silent(*VITALS, icu=UNIT), NOT_RECORDING),
    "without a repeat the eMAR does not matter": (
        Chart(rows=(INDEX, DOSE, MORNING)), NOT_REPEATED),
    # --- what raises the INR without warfarin
    "a direct anticoagulant a day before the result": (chart(given(-24 * HOUR, "Apixaban")), INTERFERING),
    "a minute earlier": (chart(given(-24 * HOUR - 1, "Apixaban")), WITHHELD),
    "at the result": (chart(given(0, "Rivaroxaban")), INTERFERING),
    "a minute later": (chart(given(1, "Rivaroxaban")), WITHHELD),
    "not given": (chart(given(-60, "Dabigatran Etexilate", "Not Given")), WITHHELD),
    "it comes before a dose of warfarin": (chart(given(-60, "Edoxaban"), warfarin(8 * HOUR)), INTERFERING),
    "without a repeat it does not matter": (bare(given(-60, "Apixaban")), NOT_REPEATED),
    "argatroban of the ICU record that ran into the day": (
        chart(infused(ARGATROBAN_INPUT, -30 * HOUR, 40, rate=2, endtime=after(-24 * HOUR)), icu=(-2 * DAY, DAY)),
        INTERFERING),
    "one that ended a minute earlier": (
        chart(infused(ARGATROBAN_INPUT, -30 * HOUR, 40, rate=2, endtime=after(-24 * HOUR - 1)), icu=(-2 * DAY, DAY)),
        WITHHELD),
    "argatroban that the eMAR stopped in the day": (
        chart(drip(-30 * HOUR, "Started"), drip(-23 * HOUR, "Stopped")), INTERFERING),
    "one stopped before it": (
        chart(drip(-30 * HOUR, "Started"), drip(-25 * HOUR, "Stopped As Directed")), WITHHELD),
    "one confirmed in it": (chart(drip(-20 * HOUR, "Confirmed")), INTERFERING),
    "one not confirmed": (chart(drip(-20 * HOUR, "Not Confirmed")), WITHHELD),
    "one of which nothing is heard for more than a day": (
        chart(drip(-40 * HOUR, "Started"), drip(-15 * HOUR, "Stopped")), WITHHELD),
}

OUTSIDE = {
    "an INR of 4.9": index(4.9),
    "two rows that average 4.95": Chart(rows=(
        lab(INR, DRAWN, 4.9, stored=0), lab(INR, DRAWN, 5.0, stored=0), DOSE, *EMAR, REPEAT)),
    "a cancelled specimen": index(6.2, comments="CANCELLED"),
    "another item": index(6.2, itemid=51675),
    "warfarin more than 72 hours before": Chart(
        rows=(INDEX, given(-72 * HOUR - 1, "Warfarin"), *EMAR, REPEAT), ed=(-4 * DAY, -90 * HOUR)),
    "warfarin not given": Chart(rows=(INDEX, warfarin(-20 * HOUR, "Not Given"), *EMAR, REPEAT)),
    "an order beside eMAR rows": Chart(rows=(INDEX, ordered(-20 * HOUR), *EMAR, REPEAT)),
    "an order of zero": Chart(rows=(INDEX, ordered(-20 * HOUR, "0"), REPEAT)),
    "a placeholder": Chart(rows=(INDEX, ordered(-20 * HOUR, "1", "dose"), REPEAT)),
    "an order that ended before": Chart(rows=(INDEX, ordered(-90 * HOUR, ends=-72 * HOUR), REPEAT)),
    "an order that came after": Chart(rows=(INDEX, ordered(1), REPEAT)),
    "departure a minute before the thirty hours end": chart(leaves=30 * HOUR - 1),
    "death a minute before the thirty hours end": chart(leaves=30 * HOUR - 1, died=30 * HOUR - 1),
    "a child": chart(age=17),
}

INSIDE = {
    "an INR of 5.0": index(5.0),
    "two rows that average 5.0": Chart(rows=(
        lab(INR, DRAWN, 4.9, stored=0), lab(INR, DRAWN, 5.1, stored=0), DOSE, *EMAR, REPEAT)),
    "a result beyond the range": index(None, value=">22.8"),
    "a masked text with its number": index(6.2, value="___"),
    "warfarin 72 hours before": Chart(
        rows=(INDEX, given(-72 * HOUR, "Warfarin"), *EMAR, REPEAT), ed=(-4 * DAY, -90 * HOUR)),
    "warfarin of the ICU record": Chart(
        rows=(INDEX, infused(WARFARIN_INPUT, -20 * HOUR, 1), *EMAR, REPEAT), icu=(-2 * DAY, DAY)),
    "an order without eMAR rows": Chart(rows=(INDEX, ordered(-20 * HOUR), REPEAT)),
    "an order that ends within the 72 hours": Chart(
        rows=(INDEX, ordered(-90 * HOUR, ends=-72 * HOUR + 1), REPEAT)),
    "a stay of thirty hours": chart(leaves=30 * HOUR),
}

VERBLESS = {
    "a row that lost its verb": chart(warfarin(8 * HOUR, " in Other Location")),
    "one beside a dose": chart(warfarin(8 * HOUR, "Delayed "), warfarin(9 * HOUR)),
    "one without a repeat": bare(warfarin(8 * HOUR, "Delayed ")),
    "one outside the window": chart(warfarin(24 * HOUR + 1, " in Other Location")),
}
# fmt: on


FIRST = {
    "a second high INR": chart(lab(INR, 8 * HOUR, 9.0)),
    "one drawn earlier and known later": chart(lab(INR, DRAWN - 60, 9.0, stored=30)),
}

FURTHER = VERBLESS | FIRST


class TestRules(Rules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", FIRST)
def test_the_first_by_availability_is_the_index(claim: str, judged: Judged) -> None:
    assert judged.tasks[claim].index_time == after(0)


def test_a_row_that_lost_its_verb_takes_a_case_out_only_if_the_verdict_would_turn_on_it(
    judged: Judged,
) -> None:
    assert [judged.eligible[name] for name in VERBLESS] == [False, True, True, True]


class TestEvidence:
    """What an answer must rest on."""

    def test_withholding_rests_on_both_inrs_and_a_search(self, judged: Judged) -> None:
        needs = judged.evidence["withheld and repeated"]
        assert list(needs) == ["index_inr", "repeat_inr", "no_warfarin"]
        assert [window.source for window in needs["no_warfarin"].search] == ["hosp.emar"]
        assert not needs["no_warfarin"].alternatives

    def test_a_held_dose_stands_in_for_the_search(self, judged: Judged) -> None:
        name = "held is no dose"
        (held,) = judged.evidence[name]["no_warfarin"].alternatives
        assert held[0] in judged.rows(name, "hosp.emar")

    def test_in_an_icu_its_record_is_searched_too(self, judged: Judged) -> None:
        needs = judged.evidence["a recorded ICU stay does not help"]
        assert [w.source for w in needs["no_warfarin"].search] == ["hosp.emar", "icu.inputevents"]

    def test_a_dose_in_dispute_rests_on_the_dose_and_the_inr(self, judged: Judged) -> None:
        name = "after 3.1 the ranges disagree"
        needs = judged.evidence[name]
        assert list(needs) == ["index_inr", "repeat_inr", "warfarin_dose", "lower_inr"]
        assert needs["lower_inr"].alternatives == ((judged.rows(name, "hosp.labevents")[1],),)
        assert len(needs["warfarin_dose"].alternatives) == 1

    def test_only_a_dose_while_high_proves_a_no(self, judged: Judged) -> None:
        assert len(judged.evidence["one dose while high is enough"]["warfarin_dose"].alternatives) == 1

    def test_a_late_inr_stands_in_for_the_search(self, judged: Judged) -> None:
        name = "a minute later it is not"
        needs = judged.evidence[name]
        late = judged.rows(name, "hosp.labevents")[-1]
        assert list(needs) == ["index_inr", "no_repeat", "laboratory_in_use"]
        assert needs["no_repeat"].alternatives == ((late,),)
        assert (late,) in needs["laboratory_in_use"].alternatives
