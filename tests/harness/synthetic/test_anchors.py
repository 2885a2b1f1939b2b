"""Where T lies: at an admission's door, at its end, on the way from the operating room."""

from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from tests.harness.synthetic.toy_plants import plant_one

HOUR = timedelta(hours=1)
PATIENTS = range(14)


def test_admission_is_the_admittime_by_way_of_the_emergency_department_or_not(tmp_path: Path) -> None:
    routes = set()
    for number in PATIENTS:
        chart = plant_one(tmp_path, "stay = { admission_days = 5 }\n", anchor="admission", number=number)
        admission = chart.index_admission
        assert admission.admitted == chart.index_time
        assert admission.discharged - admission.admitted >= 120 * HOUR
        assert {row["hadm_id"]: row["admittime"] for row in chart.rows["hosp.admissions"]}[
            admission.hadm_id
        ] == chart.index_time
        routes.add(admission.ed is not None)
        assert admission.ed is None or admission.ed.start < chart.index_time < admission.ed.end
    assert routes == {True, False}


def test_discharge_is_the_dischtime_of_a_patient_who_leaves_alive(tmp_path: Path) -> None:
    units = set()
    for number in PATIENTS:
        chart = plant_one(tmp_path, "stay = { admission_days = 4 }\n", anchor="discharge", number=number)
        admission = chart.index_admission
        assert admission.discharged == chart.index_time
        assert not admission.died
        assert admission.discharged - admission.arrived >= 96 * HOUR
        units.add(bool(admission.icu))
        assert all(row["deathtime"] is None for row in chart.rows["hosp.admissions"])
    assert units == {True, False}


def test_a_stay_before_the_discharge_may_be_asked_for(tmp_path: Path) -> None:
    for number in range(5):
        chart = plant_one(tmp_path, "stay = { icu_hours = 50 }\n", anchor="discharge", number=number)
        (stay,) = chart.index_admission.icu
        assert stay.end - stay.start >= 50 * HOUR
        assert stay.end < chart.index_time


def test_theatre_is_the_return_from_the_operating_room_with_a_catheter_in(tmp_path: Path) -> None:
    sent_before = set()
    for number in PATIENTS:
        chart = plant_one(tmp_path, "stay = { icu_hours = 70 }\n", anchor="theatre", number=number)
        _, stay = chart.icu_at(chart.index_time) or pytest.fail("T lies in no ICU stay")
        assert stay.end - chart.index_time >= 70 * HOUR
        rows = [row for row in chart.rows["icu.procedureevents"] if row["stay_id"] == stay.stay_id]
        assert [row["starttime"] for row in rows if row["itemid"] == 225469] == [chart.index_time]
        sent = [row["starttime"] for row in rows if row["itemid"] == 225470]
        assert all(chart.index_time - 7 * HOUR < time < chart.index_time for time in sent)
        sent_before.add(len(sent))
        catheters = [row for row in rows if row["itemid"] == 229351]
        assert [row["starttime"] < chart.index_time + HOUR < row["endtime"] for row in catheters] == [True]
        away = max([*sent, stay.start])
        charted = [row["charttime"] for row in chart.rows["icu.chartevents"] if row["itemid"] == 220045]
        assert not [time for time in charted if away < time < chart.index_time]
        assert chart.person.condition in ("surgical", "trauma", "neuro")
    assert sent_before == {0, 1}


@pytest.mark.parametrize(
    ("anchor", "presence", "said"),
    [
        ("discharge", 'died = "+3h"', "anchor discharge excludes"),
        ("theatre", "ward_only = true", "anchor theatre excludes ward_only"),
        ("admission", 'icu_until = "+9h"', "only together with icu_from"),
    ],
)
def test_presence_that_contradicts_the_anchor_is_named(
    tmp_path: Path, anchor: str, presence: str, said: str
) -> None:
    with pytest.raises(ScenarioError, match=said):
        plant_one(tmp_path, f"presence = {{ {presence} }}\n", anchor=anchor)


@pytest.mark.parametrize(
    "anchor",
    ["icu", *(pytest.param(anchor, marks=pytest.mark.slow) for anchor in ("unit", "ward", "theatre"))],
)
def test_a_patient_may_have_been_in_hospital_for_days(tmp_path: Path, anchor: str) -> None:
    for number in PATIENTS:
        chart = plant_one(tmp_path, "stay = { days_before = 8 }\n", anchor=anchor, number=number)
        admission = chart.index_admission
        assert chart.index_time - admission.arrived >= 8 * 24 * HOUR
        assert all(one.end == next_.start for one, next_ in pairwise(admission.segments))
        assert next(segment for segment in admission.segments if segment.kind != "ed").kind == "ward"
        assert admission.ed is None or admission.ed.end - admission.ed.start <= 10 * HOUR


@pytest.mark.parametrize("anchor", ["ed", "admission", "discharge"])
def test_days_before_need_an_anchor_inside_the_stay(tmp_path: Path, anchor: str) -> None:
    with pytest.raises(ScenarioError, match="excludes days_before"):
        plant_one(tmp_path, "stay = { days_before = 8 }\n", anchor=anchor)


def test_the_icu_stay_may_have_lasted_for_some_time_at_t(tmp_path: Path) -> None:
    for number in range(6):
        body = "stay = { icu_hours_before = 40, icu_hours = 50 }\n"
        chart = plant_one(tmp_path, body, anchor="unit", number=number)
        (_, stay) = next((a, s) for a, s in chart.icu_stays() if s.holds(chart.index_time))
        assert 40 * HOUR <= chart.index_time - stay.start <= 52 * HOUR
        assert stay.end > chart.index_time + 10 * HOUR
    with pytest.raises(ScenarioError, match="excludes icu_hours_before"):
        plant_one(tmp_path, "stay = { icu_hours_before = 40 }\n", anchor="ward")
