"""The Sepsis-3 criteria in the first vasopressor day at their boundaries: a minute and a unit either side of each."""

from typing import Any

import pytest

from tests.scenarios.conftest import ReadAs
from tests.scenarios.rules import SampledRules
from tests.scenarios.timed_charts import (
    DAY,
    HOUR,
    Chart,
    Judged,
    Row,
    after,
    charted,
    culture,
    infused,
    lab,
    order,
)

SCENARIO = "06-septic-shock-sepsis3-criteria"

LACTATE, BEDSIDE, CREATININE = 50813, 225668, 50912
NOREPINEPHRINE, EPINEPHRINE, VASOPRESSIN, PHENYLEPHRINE = 221906, 221289, 222315, 221749
DOBUTAMINE = 221653

YES, SHORT, NORMAL = ("yes", "criteria_met"), ("no", "short_infusion"), ("no", "no_raised_lactate")
UNMEASURED, UNRESULTED = ("lack_of_data", "no_lactate"), ("lack_of_data", "unresulted")
BEFORE_ONLY = ("medical_ambiguity", "raised_before_only")

SUSPECTED = (culture(-2 * HOUR, specimen=1), order(-HOUR, "Meropenem"))
UNIT = (-10 * HOUR, 3 * DAY)
HIGH = lab(LACTATE, 60, 3.6)


def runs(
    begins: float,
    ends: float,
    item: int = NOREPINEPHRINE,
    *,
    rate: float | None = 0.08,
    amount: float = 1,
    **values: Any,
) -> Row:
    fixed = {"endtime": after(ends), "rate": rate, "ordercategorydescription": "Continuous Med"}
    return infused(item, begins, amount, **fixed | values)


DRIP = runs(0, 9 * HOUR)


def chart(*rows: Row, **stay: Any) -> Chart:
    return Chart(rows=(*SUSPECTED, *rows), icu=stay.pop("icu", UNIT), **stay)


def day(*rows: Row) -> Chart:
    """Norepinephrine for nine hours, and these rows."""
    return chart(DRIP, *rows)


def lactates(*drawn: tuple[float, float]) -> Chart:
    return day(*(lab(LACTATE, at, value) for at, value in drawn))


# fmt: off
CASES = {
    # --- lactate
    "2.1 from the begin on is above": (lactates((60, 2.1)), YES),
    "2.0 is not": (lactates((60, 2.0)), NORMAL),
    "a lactate of the begin counts as after it": (lactates((0, 3.0)), YES),
    "one of the last minute counts": (lactates((DAY, 3.0)), YES),
    "one a minute later does not": (lactates((60, 1.4), (DAY + 1, 3.0)), NORMAL),
    "one that is not known by as-of does not exist": (
        day(lab(LACTATE, 60, 1.4), lab(LACTATE, 23 * HOUR, 3.0, stored=DAY + 1)), NORMAL),
    "one known at as-of does": (
        day(lab(LACTATE, 60, 1.4), lab(LACTATE, 23 * HOUR, 3.0, stored=DAY)), YES),
    "one of many is enough": (lactates((60, 1.4), (5 * HOUR, 2.3), (9 * HOUR, 1.1)), YES),
    "a value out of the plausible range is none": (day(lab(LACTATE, 60, 41), lab(LACTATE, 90, 1.4)), NORMAL),
    "two rows of one draw are averaged": (lactates((60, 2.4), (60, 1.6)), NORMAL),
    "an implausible one is not averaged with another of the draw": (lactates((60, 41), (60, 1.4)), NORMAL),
    "without any lactate nothing can be said": (day(lab(CREATININE, 60, 1.4)), UNMEASURED),
    "a lactate of six hours and a minute before is none": (lactates((-6 * HOUR - 1, 4.0)), UNMEASURED),
    # --- lactate at the bedside
    "a bedside value that stands alone counts": (day(charted(BEDSIDE, 2 * HOUR, 3.4)), YES),
    "one within the hour of a specimen is a copy": (
        day(lab(LACTATE, 60, 1.4), charted(BEDSIDE, 2 * HOUR, 3.4)), NORMAL),
    "one an hour and a minute from it stands alone": (
        day(lab(LACTATE, 60, 1.4), charted(BEDSIDE, 2 * HOUR + 1, 3.4)), YES),
    # --- specimens without a number
    "a lost specimen leaves it open": (day(lab(LACTATE, 60, None, comment="SPECIMEN LOST.")), UNRESULTED),
    "a cancelled value is none": (day(lab(LACTATE, 60, 3.0, comment="CANCELLED. WRONG TUBE.")), UNRESULTED),
    "beside a normal one it changes nothing": (
        day(lab(LACTATE, 60, None), lab(LACTATE, 120, 1.4)), NORMAL),
    "beside a raised one it changes nothing": (day(lab(LACTATE, 60, None), HIGH), YES),
    "one lost before the begin is no attempt after it": (day(lab(LACTATE, -60, None)), UNMEASURED),
    "it comes before a value raised before": (
        day(lab(LACTATE, -60, 4.0), lab(LACTATE, 60, None)), UNRESULTED),
    # --- raised before only
    "raised before and normal after can be read either way": (lactates((-60, 3.1), (120, 1.8)), BEFORE_ONLY),
    "six hours before counts": (lactates((-6 * HOUR, 3.1), (120, 1.8)), BEFORE_ONLY),
    "a minute earlier does not": (lactates((-6 * HOUR - 1, 3.1), (120, 1.8)), NORMAL),
    "2.0 before is not raised": (lactates((-60, 2.0), (120, 1.8)), NORMAL),
    "a minute before the begin is before": (lactates((-1, 3.1), (120, 1.8)), BEFORE_ONLY),
    "raised after as well is a yes": (lactates((-60, 3.1), (120, 2.2)), YES),
    # --- the hour
    "an infusion of sixty minutes is a requirement": (chart(runs(0, 60), HIGH), YES),
    "one of a minute less is none": (chart(runs(0, 59), HIGH), SHORT),
    "rows are added up": (chart(runs(0, 30), runs(5 * HOUR, 5 * HOUR + 30), HIGH), YES),
    "to a minute less they do not reach": (chart(runs(0, 30), runs(5 * HOUR, 5 * HOUR + 29), HIGH), SHORT),
    "minutes of two agents count once": (chart(runs(0, 40), runs(0, 40, VASOPRESSIN, rate=2.4), HIGH), SHORT),
    "overlapping rows join": (chart(runs(0, 40), runs(20, 60, EPINEPHRINE), HIGH), YES),
    "a row within another adds nothing": (chart(runs(0, 59), runs(10, 20, EPINEPHRINE), HIGH), SHORT),
    "changes of rate go on": (chart(runs(0, 20), runs(20, 40, rate=0.1), runs(40, 60, rate=0.05), HIGH), YES),
    "a push has no rate": (chart(runs(0, 20), runs(60, 200, PHENYLEPHRINE, rate=None), HIGH), SHORT),
    "a rate alone makes minutes, whatever amount was charted": (chart(runs(0, 60, amount=0), HIGH), YES),
    "a paused row has none either": (chart(runs(0, 20), runs(60, 200, rate=0), HIGH), SHORT),
    "a rewritten row does not count": (
        chart(runs(0, 20), runs(60, 200, statusdescription="Rewritten"), HIGH), SHORT),
    "dobutamine is no vasopressor": (chart(runs(0, 20), runs(60, 200, DOBUTAMINE), HIGH), SHORT),
    "phenylephrine in a third concentration is one": (chart(runs(0, 20), runs(60, 200, 229631), HIGH), YES),
    "an infusion of the next day does not count": (
        chart(runs(0, 20), runs(DAY - 39, 2 * DAY), HIGH), SHORT),
    "what runs at as-of counts until then": (chart(runs(0, 20), runs(DAY - 40, 2 * DAY), HIGH), YES),
    "a row noted after as-of does not exist": (
        chart(runs(0, 20), runs(60, 200, storetime=after(DAY + 1)), HIGH), SHORT),
    "a short infusion comes before a missing lactate": (chart(runs(0, 59)), SHORT),
    "and before a lactate raised before": (chart(runs(0, 59), lab(LACTATE, -60, 4.0), lab(LACTATE, 60, 1.0)), SHORT),
}

LEFT_OUT = {
    "high before and never measured after": lactates((-60, 3.1)),
    "normal before and never measured after": lactates((-60, 1.1)),
}


def infected(drawn: float | None, ordered: float, *, kind: str = "BLOOD CULTURE", drug: str = "Meropenem") -> Chart:
    cultures = () if drawn is None else (culture(drawn, specimen=1, kind=kind),)
    return Chart(rows=(*cultures, order(ordered, drug), DRIP, HIGH), icu=UNIT)


def served(at: float, service: str) -> Row:
    return Row("hosp.services", {"transfertime": after(at), "curr_service": service})


OUTSIDE = {
    "no culture": infected(None, -HOUR),
    "an antibacterial at the draw": infected(-HOUR, -HOUR),
    "an antibacterial more than 72 hours after the draw": infected(-50 * HOUR, 22 * HOUR + 1),
    "a draw more than 24 hours after the antibacterial": infected(2 * HOUR, -22 * HOUR - 1),
    "suspected more than 48 hours before": infected(-48 * HOUR - 1, -47 * HOUR),
    "suspected more than 24 hours after": infected(DAY + 1, DAY + 60),
    "a screening swab": infected(-2 * HOUR, -HOUR, kind="MRSA SCREEN"),
    "an antifungal": infected(-2 * HOUR, -HOUR, drug="Micafungin"),
    "cardiac surgery": day(HIGH, served(-2 * DAY, "CSURG")),
    "cardiac surgery that ended within the day before": day(
        HIGH, served(-3 * DAY, "CSURG"), served(-DAY + 1, "MED")),
    "a death within the hour": chart(DRIP, HIGH, leaves=59, died=59, icu=(-10 * HOUR, 59)),
    "an ICU stay that ends within the hour": chart(DRIP, HIGH, icu=(-10 * HOUR, 59)),
    "a push alone": chart(runs(0, 1, PHENYLEPHRINE, rate=None), HIGH),
    "a child": chart(DRIP, HIGH, age=17),
}

INSIDE = {
    "an antibacterial a minute after the draw": infected(-HOUR, -HOUR + 1),
    "an antibacterial 72 hours after the draw": infected(-48 * HOUR, 24 * HOUR),
    "a draw 24 hours after the antibacterial": infected(2 * HOUR, -22 * HOUR),
    "suspected 48 hours before": infected(-48 * HOUR, -47 * HOUR),
    "suspected 24 hours after": infected(DAY, DAY + 60),
    "urine is a culture": infected(-2 * HOUR, -HOUR, kind="URINE"),
    "cardiac surgery that ended a day before": day(
        HIGH, served(-3 * DAY, "CSURG"), served(-DAY, "MED")),
    "cardiac surgery afterwards": day(HIGH, served(-3 * DAY, "MED"), served(1, "CSURG")),
    "an ICU stay that ends with the hour": chart(DRIP, HIGH, icu=(-10 * HOUR, 60)),
}
# fmt: on


ANY_INFUSION = {"a minute": chart(runs(0, 1), HIGH), "and normal": chart(runs(0, 40), lab(LACTATE, 60, 1.1))}

FURTHER = LEFT_OUT | ANY_INFUSION


class TestRules(SampledRules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", LEFT_OUT)
def test_a_lactate_of_before_alone_is_no_case(claim: str, judged: Judged) -> None:
    assert not judged.eligible[claim]


def test_the_first_row_with_a_rate_is_the_index(judged: Judged) -> None:
    name = "changes of rate go on"
    assert judged.tasks[name].index_eid == judged.rows(name, "icu.inputevents")[0]
    assert judged.tasks[name].index_time == after(0)


class TestEvidence:
    """What an answer must rest on."""

    def test_a_yes_rests_on_any_vasopressor_row_and_any_raised_lactate(self, judged: Judged) -> None:
        name = "one of many is enough"
        needs = judged.evidence[name]
        assert list(needs) == ["vasopressor", "raised_lactate"]
        assert needs["raised_lactate"].alternatives == ((judged.rows(name, "hosp.labevents")[1],),)

    def test_a_bedside_lactate_is_cited_itself(self, judged: Judged) -> None:
        name = "a bedside value that stands alone counts"
        (row,) = judged.rows(name, "icu.chartevents")
        assert judged.evidence[name]["raised_lactate"].alternatives == ((row,),)

    def test_a_short_infusion_asks_for_a_search_of_the_day(self, judged: Judged) -> None:
        needs = judged.evidence["one of a minute less is none"]
        assert list(needs) == ["vasopressor", "vasopressor_span"]
        (window,) = needs["vasopressor_span"].search
        assert (window.source, window.start, window.end) == ("icu.inputevents", after(0), after(DAY))

    def test_a_normal_lactate_rests_on_the_highest(self, judged: Judged) -> None:
        name = "a minute earlier does not"
        needs = judged.evidence[name]
        assert list(needs) == ["vasopressor", "highest_lactate"]
        assert needs["highest_lactate"].alternatives == ((judged.rows(name, "hosp.labevents")[1],),)

    def test_a_missing_lactate_asks_for_laboratory_and_bedside(self, judged: Judged) -> None:
        needs = judged.evidence["without any lactate nothing can be said"]
        assert list(needs) == ["vasopressor", "no_lactate"]
        windows = [(window.source, window.start, window.end) for window in needs["no_lactate"].search]
        assert windows == [
            ("hosp.labevents", after(-6 * HOUR), after(DAY)),
            ("icu.chartevents", after(-6 * HOUR), after(DAY)),
        ]

    def test_a_lost_specimen_is_cited_itself(self, judged: Judged) -> None:
        name = "it comes before a value raised before"
        needs = judged.evidence[name]
        assert needs["unresulted_lactate"].alternatives == ((judged.rows(name, "hosp.labevents")[1],),)
        assert needs["no_lactate"].search[0].start == after(0)

    def test_ambiguity_rests_on_both_values(self, judged: Judged) -> None:
        name = "raised before and normal after can be read either way"
        before, later = judged.rows(name, "hosp.labevents")
        needs = judged.evidence[name]
        assert needs["earlier_lactate"].alternatives == ((before,),)
        assert needs["later_lactate"].alternatives == ((later,),)


def test_with_any_infusion_as_a_requirement_a_short_one_is_enough(read_as: ReadAs) -> None:
    assert list(read_as("any_infusion", ANY_INFUSION).values()) == [YES, NORMAL]
