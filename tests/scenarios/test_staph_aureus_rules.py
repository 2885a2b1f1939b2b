"""The rules of repeat cultures in S. aureus bacteraemia at their boundaries: a minute either side of each."""

from dataclasses import replace
from typing import Any

import pytest

from tests.scenarios.conftest import ReadAs
from tests.scenarios.rules import SampledRules
from tests.scenarios.timed_charts import DAY, HOUR, Chart, Judged, Row, after, culture

SCENARIO = "07-staph-aureus-repeat-cultures"

YES, NO = ("yes", "followed_up"), ("no", "not_repeated")
DEPARTED, UNDATED = ("lack_of_data", "departed"), ("lack_of_data", "undated")
EARLY = ("medical_ambiguity", "early_repeat")

LONG = 12 * DAY
STAPH: dict[str, Any] = {"org_itemid": 80023, "org_name": "STAPH AUREUS COAG +"}
CANCELLED: dict[str, Any] = {"org_itemid": 90760, "org_name": "CANCELLED"}


def blood(at: float, specimen: int = 2, **values: Any) -> Row:
    """A blood culture without growth unless it is said otherwise."""
    row = culture(at, specimen=specimen, stored=at + 5 * DAY)
    midnight = after(at).replace(hour=0, minute=0)
    return replace(row, values={**row.values, "chartdate": midnight} | values)


def dated(day: int, specimen: int = 2, **values: Any) -> Row:
    """A specimen with the day alone, so many days after that of T."""
    return blood(day * DAY, specimen, **{"charttime": None} | values)


INDEX = blood(0, 1, **STAPH)


def chart(*rows: Row, **stay: Any) -> Chart:
    return Chart(rows=(INDEX, *rows), **{"leaves": LONG} | stay)


# T is at noon: the window opens at noon of the second day and closes at noon of the fourth.
# fmt: off
CASES = {
    "no other culture in a long stay": (chart(), NO),
    # --- the window
    "two days after is in time": (chart(blood(48 * HOUR)), YES),
    "a minute earlier is too early": (chart(blood(48 * HOUR - 1)), EARLY),
    "four days after is in time": (chart(blood(96 * HOUR)), YES),
    "a minute later is not": (chart(blood(96 * HOUR + 1)), NO),
    "a day after is an early repeat": (chart(blood(24 * HOUR)), EARLY),
    "a minute earlier belongs to the first evaluation": (chart(blood(24 * HOUR - 1)), NO),
    "the second set of the index is no follow-up": (chart(blood(3, **STAPH)), NO),
    "an early repeat beside one in time changes nothing": (chart(blood(30 * HOUR), blood(60 * HOUR, 3)), YES),
    "collection decides, not the result": (chart(blood(40 * HOUR, storetime=after(60 * HOUR))), EARLY),
    # --- what counts
    "growth counts as well": (chart(blood(60 * HOUR, **STAPH)), YES),
    "a cancelled specimen does not": (
        chart(blood(60 * HOUR, **CANCELLED)), NO),
    "one cancelled test leaves a specimen of which another was done": (
        chart(blood(60 * HOUR), blood(60 * HOUR, test_name="BLOOD/AFB CULTURE", **CANCELLED)), YES),
    "one of which both were cancelled does not": (
        chart(blood(60 * HOUR, **CANCELLED), blood(60 * HOUR, test_name="BLOOD/AFB CULTURE", **CANCELLED)), NO),
    "urine does not": (chart(blood(60 * HOUR, spec_type_desc="URINE", **STAPH)), NO),
    "fluid in blood culture bottles does not": (
        chart(blood(60 * HOUR, spec_type_desc="FLUID RECEIVED IN BLOOD CULTURE BOTTLES")), NO),
    "stem cells do not": (chart(blood(60 * HOUR, spec_type_desc="Stem Cell - Blood Culture")), NO),
    "a specimen of an autopsy does not": (
        chart(blood(60 * HOUR, spec_type_desc="BLOOD CULTURE (POST-MORTEM)")), NO),
    "the bottle for fungi counts": (
        chart(blood(60 * HOUR, spec_type_desc="BLOOD CULTURE ( MYCO/F LYTIC BOTTLE)", test_name="BLOOD/FUNGAL CULTURE")),
        YES),
    "it counts beside an ordinary one that was too early": (
        chart(blood(30 * HOUR), blood(60 * HOUR, 3, spec_type_desc="BLOOD CULTURE ( MYCO/F LYTIC BOTTLE)")), YES),
    "a Gram stain alone shows the specimen": (
        chart(blood(60 * HOUR, test_name="Aerobic Bottle Gram Stain")), YES),
    # --- leaving
    "leaving a minute before the fourth day ends leaves it open": (chart(leaves=96 * HOUR - 1), DEPARTED),
    "leaving when it ends does not": (chart(leaves=96 * HOUR), NO),
    "dying before leaves it open": (chart(leaves=40 * HOUR, died=40 * HOUR), DEPARTED),
    "leaving comes before an early repeat": (chart(blood(30 * HOUR), leaves=80 * HOUR), DEPARTED),
    "a repeat before leaving counts": (chart(blood(50 * HOUR), leaves=52 * HOUR), YES),
    "a repeat after leaving counts as well": (chart(blood(90 * HOUR), leaves=52 * HOUR), YES),
    # --- specimens without a time
    "a day within the window leaves it open": (chart(dated(3)), UNDATED),
    "the day on which it opens": (chart(dated(2)), UNDATED),
    "the day on which it closes": (chart(dated(4)), UNDATED),
    "a day later does not": (chart(dated(5)), NO),
    "a cancelled one does not": (chart(dated(3, **CANCELLED)), NO),
    "beside a repeat in time it changes nothing": (chart(dated(3), blood(50 * HOUR, 3)), YES),
    "it comes before an early repeat": (chart(dated(3), blood(30 * HOUR, 3)), UNDATED),
    "it comes before leaving": (chart(dated(3), leaves=80 * HOUR), UNDATED),
    "an early day beside an early repeat changes nothing": (chart(dated(1), blood(30 * HOUR, 3)), EARLY),
    "an early day beside leaving changes nothing": (chart(dated(1), leaves=80 * HOUR), DEPARTED),
    "the day of the index changes nothing": (chart(dated(0)), NO),
}

LEFT_OUT = {"an early day alone, which decides between two verdicts": chart(dated(1))}

OUTSIDE = {
    "growth of another organism": Chart(
        rows=(blood(0, 1, org_itemid=80155, org_name="STAPHYLOCOCCUS, COAGULASE NEGATIVE"),), leaves=LONG),
    "growth in another specimen": Chart(rows=(blood(0, 1, spec_type_desc="URINE", **STAPH),), leaves=LONG),
    "a specimen without a time": Chart(rows=(dated(0, 1, **STAPH),), leaves=LONG),
    "growth in the 30 days before": chart(blood(-30 * DAY, 2, **STAPH)),
    "growth in the days before without a time": chart(dated(-9, 2, **STAPH)),
    "a culture before the visit": Chart(rows=(blood(-3 * DAY, 1, **STAPH),), leaves=LONG),
    "a child": chart(age=17),
}

INSIDE = {
    "growth more than 30 days before": chart(blood(-30 * DAY - 1, 2, **STAPH)),
    "a culture before without growth": chart(blood(-5 * DAY, 2)),
    "a first culture in the emergency department": chart(ed=(-60, 3 * HOUR)),
    "growth in one of several isolates": Chart(
        rows=(blood(0, 1, org_itemid=80155, org_name="STAPHYLOCOCCUS, COAGULASE NEGATIVE"), INDEX), leaves=LONG),
}
# fmt: on


CALENDAR = {
    "the second day begins at midnight": (chart(blood(36 * HOUR)), YES),
    "a minute before is early": (chart(blood(36 * HOUR - 1)), EARLY),
    "the fourth day ends at midnight": (chart(blood(108 * HOUR - 1)), YES),
    "a minute later is late": (chart(blood(108 * HOUR)), NO),
    "leaving on the fourth day leaves it open": (chart(leaves=107 * HOUR), DEPARTED),
}

FURTHER = LEFT_OUT | {name: case for name, (case, _) in CALENDAR.items()}


class TestRules(SampledRules):
    """As every scenario's."""


@pytest.mark.parametrize("claim", LEFT_OUT)
def test_a_specimen_that_could_make_two_verdicts_is_no_case(claim: str, judged: Judged) -> None:
    assert not judged.eligible[claim]


def test_the_agent_looks_back_on_the_whole_admission(judged: Judged) -> None:
    task = judged.tasks["no other culture in a long stay"]
    assert task.as_of == after(LONG + 30 * DAY)
    assert task.sealed_hadm_id is None


def test_the_first_specimen_that_grew_it_is_the_index(judged: Judged) -> None:
    name = "the second set of the index is no follow-up"
    assert judged.tasks[name].index_eid == judged.rows(name, "hosp.microbiologyevents")[0]
    assert judged.tasks[name].index_time == after(0)


def test_by_calendar_days_the_window_runs_from_midnight_to_midnight(read_as: ReadAs) -> None:
    told = {name: verdict for name, (_, verdict) in CALENDAR.items()}
    assert read_as("calendar_days", CALENDAR) == told


class TestEvidence:
    """What an answer must rest on."""

    def test_a_yes_rests_on_the_index_and_any_row_of_a_follow_up(self, judged: Judged) -> None:
        name = "an early repeat beside one in time changes nothing"
        needs = judged.evidence[name]
        index, _, repeat = judged.rows(name, "hosp.microbiologyevents")
        assert list(needs) == ["index_culture", "follow_up_culture"]
        assert needs["index_culture"].alternatives == ((index,),)
        assert needs["follow_up_culture"].alternatives == ((repeat,),)

    def test_a_cancelled_test_shows_no_collection(self, judged: Judged) -> None:
        name = "one cancelled test leaves a specimen of which another was done"
        _, done, _ = judged.rows(name, "hosp.microbiologyevents")
        assert judged.evidence[name]["follow_up_culture"].alternatives == ((done,),)

    def test_no_follow_up_asks_for_three_days_of_cultures_and_for_presence(self, judged: Judged) -> None:
        name = "no other culture in a long stay"
        needs = judged.evidence[name]
        assert list(needs) == ["index_culture", "no_follow_up", "presence"]
        (window,) = needs["no_follow_up"].search
        assert (window.start, window.end) == (after(24 * HOUR), after(96 * HOUR))
        assert (judged.rows(name, "hosp.admissions")[0],) in needs["presence"].alternatives

    def test_a_departure_is_proved_by_the_admission_or_the_discharge(self, judged: Judged) -> None:
        name = "leaving a minute before the fourth day ends leaves it open"
        places = (judged.rows(name, "hosp.admissions")[0], judged.rows(name, "hosp.transfers")[-1])
        assert set(judged.evidence[name]["departure"].alternatives) == {(place,) for place in places}

    def test_a_specimen_without_a_time_is_cited_itself(self, judged: Judged) -> None:
        name = "it comes before an early repeat"
        rows = judged.rows(name, "hosp.microbiologyevents")
        needs = judged.evidence[name]
        assert list(needs) == ["index_culture", "no_follow_up", "undated_culture"]
        ((undated,),) = needs["undated_culture"].alternatives
        assert undated in rows

    def test_ambiguity_rests_on_the_early_repeat_and_the_search_after_it(self, judged: Judged) -> None:
        name = "a day after is an early repeat"
        needs = judged.evidence[name]
        assert list(needs) == ["index_culture", "no_follow_up", "presence", "early_culture"]
        assert needs["early_culture"].alternatives == ((judged.rows(name, "hosp.microbiologyevents")[1],),)
        assert needs["no_follow_up"].search[0].start == after(48 * HOUR)
