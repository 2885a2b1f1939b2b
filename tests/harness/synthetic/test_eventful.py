"""Neighbours have what the scenarios ask about; carriers of plants have none of it by themselves."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from harness.synthetic.chart import Chart, open_chart
from harness.synthetic.hospital import fill_chart
from harness.synthetic.phrases import phrases
from harness.synthetic.plan import _EVENTFUL, _ORDINARY, Case
from harness.synthetic.plant_parts import Presence, StayBounds
from tests.harness.synthetic.toy_plants import SEED, plant_one


def neighbour(condition: str, number: int, anchor: str = "unit") -> Chart:
    case = Case(f"neighbour/{number}", number, anchor=anchor, conditions=(condition,))
    chart = open_chart(case, SEED)
    fill_chart(chart)
    return chart


def labs(chart: Chart, item: int) -> list[float]:
    rows = chart.rows["hosp.labevents"]
    return [float(row["valuenum"]) for row in rows if row["itemid"] == item and row["valuenum"] is not None]


def doses(chart: Chart, name: str) -> int:
    return sum(name in row["medication"] for row in chart.rows["hosp.emar"])


def charted(chart: Chart, item: int) -> int:
    return sum(row["itemid"] == item for row in chart.rows["icu.chartevents"])


SHOWS: dict[str, Callable[[Chart], bool]] = {
    "ketoacidosis": lambda c: max(labs(c, 50931)) > 300 and charted(c, 225664) > 4,
    "hypoglycaemia": lambda c: any(
        row["itemid"] == 225664 and row["value"] < 54 for row in c.rows["icu.chartevents"]
    ),
    "sodium": lambda c: min(labs(c, 50983)) < 120,
    "warfarin": lambda c: max(labs(c, 51237)) >= 5 and doses(c, "Warfarin") > 0,
    "haemorrhage": lambda c: any(row["itemid"] == 225168 for row in c.rows["icu.inputevents"]),
    "colitis": lambda c: any(
        row.get("org_name") in ("CLOSTRIDIUM DIFFICILE", "POSITIVE")
        for row in c.rows["hosp.microbiologyevents"]
    ),
    "staph": lambda c: any(
        row.get("org_name") == "STAPH AUREUS COAG +" for row in c.rows["hosp.microbiologyevents"]
    ),
    "heart_failure": lambda c: any("LVEF" in note["text"] for note in c.rows["note.discharge"]),
    "respiratory": lambda c: charted(c, 224684) >= 3,
    "diabetes": lambda c: doses(c, "MetFORMIN") > 0,
    "syncope": lambda c: doses(c, "Ondansetron") + doses(c, "Azithromycin") > 0,
}


@pytest.mark.parametrize("condition", SHOWS)
def test_a_neighbour_shows_its_condition(condition: str) -> None:
    shown = [SHOWS[condition](neighbour(condition, number)) for number in range(6)]
    assert sum(shown) >= 2


def test_heparin_may_be_followed_by_a_fall_of_platelets() -> None:
    fell = 0
    for number in range(8):
        chart = neighbour("platelets", number, anchor="ward")
        counts = labs(chart, 51265)
        fell += min(counts) <= 0.5 * max(counts)
    assert fell


def test_platelets_fall_about_the_time_that_the_model_gives() -> None:
    """A plant's fall is seen at T, so one of the background is too, within a day and a half."""
    case = Case("", 0, anchor="ward", conditions=("platelets",), bounds=StayBounds(days_before=8))
    falls = []
    for number in range(8):
        chart = open_chart(replace(case, key=f"neighbour/{number}", index=number), SEED)
        fill_chart(chart)
        counts = [row for row in chart.rows["hosp.labevents"] if row["itemid"] == 51265 and row["valuenum"]]
        highest = max(float(row["valuenum"]) for row in counts)
        low = [row["charttime"] for row in counts if float(row["valuenum"]) <= highest / 2]
        falls += [min(low) - chart.index_time] if low else []
    assert len(falls) >= 2
    assert all(abs(fall) < timedelta(hours=36) for fall in falls), falls


def test_background_tubes_are_in_from_the_door_or_where_a_plant_would_have_them() -> None:
    """An intubation in the ICU is a question of its own; a background that has many at one time would answer it."""
    waits = []
    for number in range(300):
        chart = open_chart(Case(f"tube/{number}", number, anchor="unit"), SEED)
        (_, stay), *_ = chart.icu_stays()
        if span := chart.ventilated(stay):
            waits.append((span[0] - stay.start) / timedelta(hours=1))
    late = [wait for wait in waits if wait >= 2]
    assert 0 < len(late) < 0.12 * len(waits)
    assert all(13.9 < wait < 26 for wait in late)


@pytest.mark.parametrize(
    ("anchor", "presence"),
    [
        ("icu", Presence()),
        ("unit", Presence()),
        ("theatre", Presence()),
        ("ward", Presence.model_validate({"icu_from": "+70m"})),
        ("ed", Presence.model_validate({"icu_from": "+5h"})),
    ],
    ids=("icu", "unit", "theatre", "ward", "ed"),
)
def test_the_clock_of_the_icu_door_has_seconds_wherever_the_index_time_is(
    anchor: str, presence: Presence
) -> None:
    doors = []
    for number in range(40):
        case = Case(f"door/{number}", number, anchor=anchor, presence=presence)
        chart = open_chart(case, SEED)
        doors += [stay.start for _, stay in chart.icu_stays()]
    assert len(doors) >= 40
    assert sum(door.second == 0 for door in doors) < 0.15 * len(doors)


@pytest.mark.parametrize("condition", ["heart_failure", "respiratory", "diabetes", "syncope"])
def test_a_carrier_with_the_same_condition_has_none_of_it(tmp_path: Path, condition: str) -> None:
    body = f'profile = {{ conditions = ["{condition}"] }}\n'
    for number in range(3):
        chart = plant_one(tmp_path, body, anchor="unit", number=number)
        assert chart.person.condition == condition
        assert not charted(chart, 224684)
        assert not doses(chart, "MetFORMIN")
        assert not any("LVEF" in note["text"] for note in chart.rows["note.discharge"])


def test_every_condition_has_its_words() -> None:
    for condition in {*_EVENTFUL, *_ORDINARY}:
        assert len(phrases("complaint", condition)) == len(phrases("history", condition)) == 2
        assert len(phrases("course", condition)) >= 2
        assert phrases("reason", condition)
