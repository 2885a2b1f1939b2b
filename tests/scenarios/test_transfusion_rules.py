"""The rules of the haemoglobin before red cells at their boundaries: a minute and a unit either side of each."""

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
    infused,
    lab,
    procedure,
    report,
    summary,
)

SCENARIO = "11-red-cell-transfusion-threshold"

COUNT, GAS, HAEMATOCRIT, COPY = 51222, 50811, 50810, 220228
RED_CELLS, OR_RED_CELLS, PLASMA = 225168, 226368, 220970
NOREPINEPHRINE, VASOPRESSIN, DOBUTAMINE, PROPOFOL = 221906, 222315, 221653, 222168
MASSIVE, RECEIVED = 229620, 225469

YES, NO, NONE = ("yes", "below"), ("no", "not_below"), ("lack_of_data", "no_haemoglobin")
DISPUTED = ("medical_ambiguity", "threshold_disputed")
OPEN, BLEEDING, UNSTABLE = (
    ("medical_ambiguity", rule) for rule in ("threshold_open", "bleeding", "unstable")
)
"""Cases that are left out: no fair answer, or none that the record can give."""

UNIT = (-2 * DAY, 2 * DAY)
PAST = (-200 * DAY, -195 * DAY)
CAD = "Past Medical History:\nCoronary artery disease, hypertension.\n"


def red_cells(
    at: float, order: int, *, link: int | None = None, amount: float = 350, **values: object
) -> Row:
    own = {
        "orderid": order,
        "linkorderid": link or order,
        "ordercategorydescription": "Continuous IV",
        "rate": 350,
    }
    return infused(RED_CELLS, at, amount, **own, **values)


def count(at: float, value: float | None, **values: object) -> Row:
    return lab(COUNT, at, value, **values)  # type: ignore[arg-type]


def drip(at: float, ends: float, item: int = NOREPINEPHRINE, *, amount: float = 4, **values: object) -> Row:
    fixed = {"endtime": after(ends), "rate": 0.1, "ordercategorydescription": "Continuous Med"}
    return infused(item, at, amount, **(fixed | values))


INDEX = red_cells(0, 1)


def chart(*rows: Row, icu: tuple[float, float] = UNIT, **stay: object) -> Chart:
    return Chart(rows=(INDEX, *rows), icu=icu, **stay)  # type: ignore[arg-type]


def with_heart(*rows: Row, value: float = 7.5) -> Chart:
    """A value between the thresholds, and an earlier admission."""
    return chart(count(-60, value), *rows, earlier=PAST)


LOW, HIGH = count(-60, 6.4), count(-60, 9.1)

# fmt: off
CASES = {
    # --- the thresholds
    "6.9 is below": (chart(count(-60, 6.9)), YES),
    "8.0 is below none": (chart(count(-60, 8.0)), NO),
    "two values of one draw that average 6.95 are below": (chart(count(-60, 6.8), count(-60, 7.1)), YES),
    "7.0 in coronary disease lies between": (with_heart(coded("I2510"), value=7.0), DISPUTED),
    "7.9 in coronary disease lies between": (with_heart(coded("I2510"), value=7.9), DISPUTED),
    "6.9 in coronary disease is below": (with_heart(coded("I2510"), value=6.9), YES),
    "8.0 in coronary disease is below none": (with_heart(coded("I2510"), value=8.0), NO),
    "without a heart written down it cannot be said": (with_heart(coded("I10")), OPEN),
    # --- what counts as cardiovascular disease
    "heart failure": (with_heart(coded("I5033")), DISPUTED),
    "heart failure of the ninth revision": (with_heart(coded("42833", 9)), DISPUTED),
    "a bypass of the ninth revision": (with_heart(coded("V4581", 9)), DISPUTED),
    "a code of the other revision": (with_heart(coded("4280", 10)), OPEN),
    "atrial fibrillation does not": (with_heart(coded("I4891")), OPEN),
    "the visit's own codes are not known yet": (with_heart(coded("I2510", hadm_id=None)), OPEN),
    "an earlier summary": (with_heart(summary(-194 * DAY, CAD)), DISPUTED),
    "broken over two lines": (with_heart(summary(-194 * DAY, "known coronary\nartery disease")), DISPUTED),
    "an abbreviation": (with_heart(summary(-194 * DAY, "PMH: CAD s/p DES, DM2")), DISPUTED),
    "denied disease does not": (with_heart(summary(-194 * DAY, "No known coronary artery disease. DM2.")), OPEN),
    "a relative's does not": (with_heart(summary(-194 * DAY, "Family history of CAD in his brother.")), OPEN),
    "what is written after a denial counts": (
        with_heart(summary(-194 * DAY, "Denies chest pain. History of CABG.")), DISPUTED),
    "the visit's own summary is sealed": (with_heart(summary(2 * HOUR, CAD, hadm_id=None)), OPEN),
    "a report of imaging": (with_heart(report(-30, "Sternal wires after CABG.")), DISPUTED),
    "a report after T does not": (with_heart(report(1, "Sternal wires after CABG.")), OPEN),
    "a report written at T": (with_heart(report(-60, "Sternal wires after CABG.", stored=0)), DISPUTED),
    "one written a minute later, of an examination before": (
        with_heart(report(-60, "Sternal wires after CABG.", stored=1)), OPEN),
    "an earlier summary written at T": (with_heart(summary(0, CAD)), DISPUTED),
    "one written a minute later": (with_heart(summary(1, CAD)), OPEN),
    # --- the last one available
    "known at T": (chart(count(-60, 6.4, stored=0)), YES),
    "known a minute later": (chart(count(-60, 6.4, stored=1)), NONE),
    "known later, and an earlier one before it": (chart(count(-8 * HOUR, 8.6), count(-10, 6.8, stored=35)), NO),
    "of two results of one draw the one known at T": (chart(count(-60, 6.4), count(-60, 9.1, stored=1)), YES),
    "both, if both were known": (chart(count(-60, 6.4), count(-60, 9.1, stored=0)), OPEN),
    "drawn after T": (chart(HIGH, count(1, 6.4)), NO),
    "drawn twenty-four hours before": (chart(count(-DAY, 6.4)), YES),
    "drawn a minute earlier": (chart(count(-DAY - 1, 6.4)), NONE),
    "the one drawn last": (chart(count(-5 * HOUR, 8.6), count(-4 * HOUR, 6.8)), YES),
    "the one drawn last, though its result came first": (
        chart(count(-90, 8.6, stored=-5), lab(GAS, -60, 6.8, stored=-55)), YES),
    "the gas analyser's counts": (chart(lab(GAS, -60, 6.4)), YES),
    "of one draw the blood count's": (chart(count(-60, 8.4), lab(GAS, -60, 6.8)), NO),
    "a chart copy is not another value": (chart(HIGH, charted(COPY, -30, 6.4)), NO),
    "a haematocrit is no haemoglobin": (chart(lab(HAEMATOCRIT, -60, 20)), NONE),
    "a lost specimen is none": (chart(count(-60, 6.4, comment="SPECIMEN LOST.")), NONE),
    "a specimen without a number is none": (chart(count(-60, None)), NONE),
    "an implausible value is none": (chart(count(-60, 30.1)), NONE),
    "nor is it averaged with another of the draw": (chart(count(-60, 6.4), count(-60, 30.1)), YES),
    "a note on haemolysis changes nothing": (chart(count(-60, 6.4, comment="QNS TO VERIFY HEMOLYSIS.")), YES),
    # --- bleeding
    "three further units are massive": (chart(HIGH, *(red_cells(60 * n, 10 + n) for n in (1, 2, 3))), BLEEDING),
    "two are not": (chart(HIGH, *(red_cells(60 * n, 10 + n) for n in (1, 2))), NO),
    "the third at six hours": (chart(HIGH, *(red_cells(at, 10 + at) for at in (1, 2, 6 * HOUR))), BLEEDING),
    "the third a minute later": (chart(HIGH, *(red_cells(at, 10 + at) for at in (1, 2, 6 * HOUR + 1))), NO),
    "rows of one order are one unit": (
        chart(HIGH, red_cells(60, 11), red_cells(70, 12, link=11), red_cells(120, 13)), NO),
    "a further row of the index unit is none": (
        chart(HIGH, red_cells(20, 2, link=1), red_cells(60, 11), red_cells(120, 12)), NO),
    "one that began with it is not further": (
        chart(HIGH, red_cells(0, 5), red_cells(60, 11), red_cells(120, 12)), NO),
    "units of no amount are none": (
        chart(HIGH, red_cells(60, 11), red_cells(61, 12), red_cells(62, 13, amount=0)), NO),
    "rewritten rows are none": (
        chart(HIGH, red_cells(60, 11), red_cells(61, 12), red_cells(62, 13, statusdescription="Rewritten")), NO),
    "plasma is no red cells": (chart(HIGH, *(infused(PLASMA, 60 * n, 300) for n in (1, 2, 3))), NO),
    "units noted after as-of do not exist": (
        chart(HIGH, *(red_cells(60 * n, 10 + n, storetime=after(6 * HOUR + 1)) for n in (1, 2, 3))), NO),
    "massive transfusion at six hours": (chart(HIGH, procedure(MASSIVE, 6 * HOUR, 7 * HOUR)), BLEEDING),
    "a minute later": (chart(HIGH, procedure(MASSIVE, 6 * HOUR + 1, 7 * HOUR)), NO),
    "massive transfusion that ended six hours before": (
        chart(HIGH, procedure(MASSIVE, -8 * HOUR, -6 * HOUR)), BLEEDING),
    "a minute earlier": (chart(HIGH, procedure(MASSIVE, -8 * HOUR, -6 * HOUR - 1)), NO),
    "below every threshold bleeding changes nothing": (
        chart(LOW, *(red_cells(60 * n, 10 + n) for n in (1, 2, 3))), YES),
    # --- stability
    "a vasopressor that runs at T": (chart(HIGH, drip(-60, 1)), UNSTABLE),
    "one that ended at T": (chart(HIGH, drip(-60, 0)), NO),
    "one that began at T": (chart(HIGH, drip(0, 60)), UNSTABLE),
    "one that began a minute later": (chart(HIGH, drip(1, 60)), NO),
    "one that began a day before": (chart(HIGH, drip(-DAY + 1, 60)), UNSTABLE),
    "one that began a minute earlier": (chart(HIGH, drip(-DAY, 60)), NO),
    "vasopressin": (chart(HIGH, drip(-60, 60, VASOPRESSIN)), UNSTABLE),
    "dobutamine is no vasopressor": (chart(HIGH, drip(-60, 60, DOBUTAMINE)), NO),
    "propofol is none": (chart(HIGH, drip(-60, 60, PROPOFOL)), NO),
    "one of no amount": (chart(HIGH, drip(-60, 60, amount=0)), NO),
    "a push does not run": (chart(HIGH, drip(-1, 5, ordercategorydescription="Drug Push")), NO),
    "one that outlasts as-of runs by its rate": (chart(HIGH, drip(-60, 9 * HOUR)), UNSTABLE),
    "below every threshold instability changes nothing": (chart(LOW, drip(-60, 60)), YES),
}

OUTSIDE = {
    "red cells of the operating room": Chart(rows=(infused(OR_RED_CELLS, 0, 350), LOW), icu=UNIT),
    "red cells of no amount": Chart(rows=(red_cells(0, 1, amount=0), LOW), icu=UNIT),
    "rewritten red cells": Chart(rows=(red_cells(0, 1, statusdescription="Rewritten"), LOW), icu=UNIT),
    "back from the operating room at T": chart(LOW, procedure(RECEIVED, 0, 1)),
    "back within a day": chart(LOW, procedure(RECEIVED, -DAY + 1, -DAY + 2)),
    "noted after as-of": Chart(rows=(red_cells(0, 1, storetime=after(6 * HOUR + 1)), LOW), icu=UNIT),
    "a child": chart(LOW, age=17),
}

INSIDE = {
    "back a day before": chart(LOW, procedure(RECEIVED, -DAY, -DAY + 1)),
    "back a minute after": chart(LOW, procedure(RECEIVED, 1, 2)),
    "noted at as-of": Chart(rows=(red_cells(0, 1, storetime=after(6 * HOUR)), LOW), icu=UNIT),
}

FIRST = {"the first of two": Chart(rows=(INDEX, red_cells(8 * HOUR, 2), LOW), icu=UNIT)}
# fmt: on


FURTHER = FIRST


class TestRules(Rules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", CASES)
def test_no_case_is_sampled_whose_record_is_open_to_dispute(claim: str, judged: Judged) -> None:
    assert judged.eligible[claim] == (CASES[claim][1] not in (OPEN, BLEEDING, UNSTABLE))


def test_the_first_red_cells_are_the_index(judged: Judged) -> None:
    assert judged.tasks["the first of two"].index_time == after(0)


class TestEvidence:
    """What an answer must rest on."""

    def test_a_low_value_rests_on_itself_and_the_red_cells(self, judged: Judged) -> None:
        name = "the one drawn last"
        needs = judged.evidence[name]
        assert list(needs) == ["transfusion", "haemoglobin"]
        assert needs["transfusion"].alternatives == ((judged.rows(name, "icu.inputevents")[0],),)
        assert needs["haemoglobin"].alternatives == ((judged.rows(name, "hosp.labevents")[-1],),)

    def test_a_high_value_asks_for_bleeding_and_stability_too(self, judged: Judged) -> None:
        needs = judged.evidence["8.0 is below none"]
        assert list(needs) == ["transfusion", "haemoglobin", "no_bleeding", "no_vasopressor"]
        assert [window.source for window in needs["no_bleeding"].search] == [
            "icu.inputevents",
            "icu.procedureevents",
        ]

    def test_a_copy_may_stand_for_the_value(self, judged: Judged) -> None:
        needs = judged.evidence["two values of one draw that average 6.95 are below"]
        assert len(needs["haemoglobin"].alternatives) == 2

    def test_any_row_of_the_unit_shows_the_red_cells(self, judged: Judged) -> None:
        needs = judged.evidence["a further row of the index unit is none"]
        assert len(needs["transfusion"].alternatives) == 2

    def test_no_haemoglobin_rests_on_a_search_of_the_day(self, judged: Judged) -> None:
        needs = judged.evidence["drawn a minute earlier"]
        (window,) = needs["no_haemoglobin"].search
        assert (window.start, window.end) == (after(-DAY), after(0))

    def test_a_dispute_rests_on_the_history(self, judged: Judged) -> None:
        needs = judged.evidence["an earlier summary"]
        assert list(needs) == ["transfusion", "haemoglobin", "cardiovascular_history"]
        assert [eids[0].split(":")[0] for eids in needs["cardiovascular_history"].alternatives] == ["note"]
