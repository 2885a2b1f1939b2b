"""The rules of the eGFR at a dose of metformin at their boundaries: a minute and a unit either side of each.

In a woman of 60, CKD-EPI 2021 is 30 between 1.89 and 1.90 mg/dL and 45 between 1.34 and 1.35, MDRD is 30 between
1.73 and 1.74; worked out by hand from the published equations.
"""

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
    coded,
    given,
    lab,
    order,
    procedure,
)

SCENARIO = "23-metformin-egfr-at-dose"

CREATININE, WHOLE_BLOOD, REPORTED, COPY = 50912, 52024, 50920, 220615
HAEMODIALYSIS = 225441

YES, NO = ("yes", "below"), ("no", "not_below")
LACK = ("lack_of_data", "no_creatinine")
DIFFER, RISING = ("medical_ambiguity", "equations_differ"), ("medical_ambiguity", "rising")

DOSE = given(0, "MetFORMIN (Glucophage)")


def creatinine(
    at: float, value: float | None, *, stored: float | None = None, comment: str | None = None
) -> Row:
    return lab(CREATININE, at, value, stored=stored, comment=comment)


def chart(*rows: Row, **stay: object) -> Chart:
    return Chart(rows=(DOSE, *rows), **stay)  # type: ignore[arg-type]


def at_six(value: float, *rows: Row, **stay: object) -> Chart:
    """A creatinine six hours before the dose."""
    return chart(creatinine(-6 * HOUR, value), *rows, **stay)


# fmt: off
CASES = {
    # --- the limit, by both equations
    "below 30 by both": (at_six(1.90), YES),
    "30 by the newer one, below by the older": (at_six(1.89), DIFFER),
    "the last value at which they differ": (at_six(1.74), DIFFER),
    "30 by both": (at_six(1.73), NO),
    "far below": (at_six(4.0), YES),
    "normal": (at_six(0.7), NO),
    "a man's limit lies higher": (at_six(1.90, sex="M"), NO),
    "a man below 30 by both": (at_six(2.46, sex="M"), YES),
    "a man on one side only": (at_six(2.40, sex="M"), DIFFER),
    "an old woman's lies lower": (at_six(1.73, age=85), YES),
    "a young woman's higher": (at_six(1.90, age=30), NO),
    # --- which creatinine
    "the latest drawn decides": (chart(creatinine(-20 * HOUR, 1.95), creatinine(-6 * HOUR, 1.0)), NO),
    "also when it is the higher one": (chart(creatinine(-20 * HOUR, 1.8), creatinine(-6 * HOUR, 2.0)), YES),
    "an older draw that came later does not": (
        chart(creatinine(-8 * HOUR, 1.0, stored=-1), creatinine(-6 * HOUR, 2.0, stored=-5 * HOUR)), YES),
    "two rows of one draw are averaged": (chart(creatinine(-360, 1.8), creatinine(-360, 2.0)), YES),
    "of two rows of one draw the one known at the dose": (
        chart(creatinine(-360, 2.0), creatinine(-360, 1.0, stored=1)), YES),
    "stored at the dose": (at_six(1.0, creatinine(-30, 2.0, stored=0)), YES),
    "stored a minute after it": (at_six(1.0, creatinine(-30, 2.0, stored=1)), NO),
    "drawn at the dose and stored at once": (at_six(1.0, creatinine(0, 2.0)), YES),
    "drawn a minute after it": (at_six(1.0, creatinine(1, 2.0)), NO),
    "whole blood does not count": (at_six(1.0, lab(WHOLE_BLOOD, -60, 2.4)), NO),
    "nor does the laboratory's estimate": (at_six(1.0, lab(REPORTED, -60, 22)), NO),
    "nor a cancelled specimen": (at_six(1.0, creatinine(-60, 2.4, comment="CANCELLED, QNS")), NO),
    "nor one without a number": (at_six(1.0, creatinine(-60, None)), NO),
    "nor an impossible one": (at_six(1.0, creatinine(-60, 151)), NO),
    "nor is an impossible one averaged with another of its draw": (chart(creatinine(-360, 1.0), creatinine(-360, 151)), NO),
    # --- none
    "no creatinine": (chart(), LACK),
    "seven days before": (chart(creatinine(-7 * DAY, 1.0)), NO),
    "a minute more": (chart(creatinine(-7 * DAY - 1, 1.0)), LACK),
    "only one that came later": (chart(creatinine(-30, 1.0, stored=1)), LACK),
    "only a cancelled one": (chart(creatinine(-60, 1.0, comment="Cancelled")), LACK),
    "only whole blood": (chart(lab(WHOLE_BLOOD, -60, 2.4)), LACK),
    "only a chart entry": (chart(charted(COPY, -60, 1.0), icu=(-DAY, DAY)), LACK),
    # --- rising
    "0.3 above the lowest of two days": (at_six(1.6, creatinine(-30 * HOUR, 1.3)), RISING),
    "a hundredth less": (at_six(1.6, creatinine(-30 * HOUR, 1.31)), NO),
    "an estimate of 45 is far enough": (at_six(1.34, creatinine(-30 * HOUR, 0.8)), NO),
    "below 45 is not": (at_six(1.35, creatinine(-30 * HOUR, 0.8)), RISING),
    "48 hours before the draw": (at_six(1.6, creatinine(-54 * HOUR, 1.2)), RISING),
    "a minute more is too early": (at_six(1.6, creatinine(-54 * HOUR - 1, 1.2)), NO),
    "the lowest of several": (
        at_six(1.6, creatinine(-50 * HOUR, 1.6), creatinine(-30 * HOUR, 1.2), creatinine(-12 * HOUR, 1.5)), RISING),
    "a lower one that was not known yet": (at_six(1.6, creatinine(-30 * HOUR, 1.2, stored=1)), NO),
    "a later draw does not make it rise": (at_six(1.6, creatinine(10, 2.6)), NO),
    "falling is not rising": (at_six(1.6, creatinine(-30 * HOUR, 2.6)), NO),
    "below 30 it does not matter": (at_six(2.0, creatinine(-30 * HOUR, 1.0)), YES),
    "where the equations differ neither": (at_six(1.8, creatinine(-30 * HOUR, 1.0)), DIFFER),
}

OUTSIDE = {
    "a dose not given": Chart(rows=(given(0, "MetFORMIN (Glucophage)", "Not Given"), creatinine(-360, 2.4))),
    "a dose held": Chart(rows=(given(0, "MetFORMIN (Glucophage)", "Hold Dose"), creatinine(-360, 2.4))),
    "a row that lost its verb": Chart(rows=(given(0, "MetFORMIN (Glucophage)", " in Other Location"), creatinine(-360, 2))),
    "an order": Chart(rows=(order(0, "MetFORMIN (Glucophage)", "PO"), creatinine(-360, 2.4))),
    "another drug": Chart(rows=(given(0, "GlipiZIDE"), creatinine(-360, 2.4))),
    "a dose recorded more than an hour later": Chart(rows=(
        Row("hosp.emar", {**DOSE.values, "storetime": after(61)}), creatinine(-360, 2.4))),
    "a dose outside any admission": Chart(
        rows=(given(-3 * DAY, "MetFORMIN (Glucophage)"), creatinine(-3 * DAY - 60, 2.4))),
    "dialysis": at_six(2.4, procedure(HAEMODIALYSIS, -DAY, -20 * HOUR), icu=(-30 * HOUR, DAY)),
    "dialysis by its code": at_six(2.4, coded("Z992", hadm_id=None)),
    "end-stage disease by its code": at_six(2.4, coded("5856", 9, hadm_id=None)),
    "a masked age": at_six(2.4, age=91),
    "a child": at_six(2.4, age=17),
}
INSIDE = {
    "slow release": Chart(rows=(given(0, "MetFORMIN XR (Glucophage XR)"), creatinine(-360, 2.4))),
    "a combination": Chart(rows=(given(0, "sitaGLIPtin-metFORMIN"), creatinine(-360, 2.4))),
    "a combination by its brand": Chart(rows=(given(0, "Synjardy"), creatinine(-360, 2.4))),
    "a dose recorded an hour later": Chart(rows=(
        Row("hosp.emar", {**DOSE.values, "storetime": after(60)}), creatinine(-360, 2.4))),
    "a dose in the emergency visit": at_six(2.4, ed=(-90, 120)),
    "kidney disease without dialysis": at_six(2.4, coded("N184", hadm_id=None)),
    "89 years": at_six(2.4, age=89),
}
FIRST = {
    "the dose with the higher creatinine": chart(
        given(-20 * HOUR, "MetFORMIN (Glucophage)"), given(20 * HOUR, "MetFORMIN (Glucophage)"),
        creatinine(-21 * HOUR, 1.0), creatinine(-60, 2.0), creatinine(19 * HOUR, 1.5)),
    "the earlier of equals": chart(given(10 * HOUR, "MetFORMIN (Glucophage)"), creatinine(-60, 2.0)),
    "a creatinine comes before none": chart(given(-20 * HOUR, "MetFORMIN (Glucophage)"), creatinine(-60, 0.8)),
    "the first where none has one": chart(given(10 * HOUR, "MetFORMIN (Glucophage)")),
    "a dose that was not given does not count": chart(
        given(-20 * HOUR, "MetFORMIN (Glucophage)", "Not Given"), creatinine(-21 * HOUR, 3.0), creatinine(-60, 2.0)),
}
# fmt: on


FURTHER = FIRST


class TestRules(Rules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", FIRST)
def test_one_dose_of_the_patient_is_the_index(claim: str, judged: Judged) -> None:
    assert judged.tasks[claim].index_time == after(0)


def test_the_agent_is_placed_an_hour_after_the_dose(judged: Judged) -> None:
    assert judged.tasks["normal"].as_of == after(HOUR)


class TestEvidence:
    """What an answer must rest on."""

    def test_below_rests_on_dose_and_creatinine(self, judged: Judged) -> None:
        name = "the latest drawn decides"
        needs = judged.evidence[name]
        assert list(needs) == ["index_dose", "latest_creatinine"]
        assert needs["index_dose"].alternatives == ((judged.tasks[name].index_eid,),)
        assert needs["latest_creatinine"].alternatives == ((judged.rows(name, "hosp.labevents")[1],),)

    def test_either_row_of_an_averaged_draw_will_do(self, judged: Judged) -> None:
        need = judged.evidence["two rows of one draw are averaged"]["latest_creatinine"]
        assert len(need.alternatives) == 2

    def test_rising_rests_on_the_pair(self, judged: Judged) -> None:
        name = "the lowest of several"
        needs = judged.evidence[name]
        rows = judged.rows(name, "hosp.labevents")
        assert list(needs) == ["index_dose", "latest_creatinine", "earlier_creatinine"]
        assert needs["earlier_creatinine"].alternatives == ((rows[1],),)

    def test_a_lack_rests_on_a_search_of_seven_days(self, judged: Judged) -> None:
        needs = judged.evidence["only one that came later"]
        assert list(needs) == ["index_dose", "no_creatinine"]
        (window,) = needs["no_creatinine"].search
        assert (window.source, window.start, window.end) == ("hosp.labevents", after(-7 * DAY), after(0))
        assert needs["no_creatinine"].relevant
