"""Planted codes, earlier admissions, and what the patient is in hospital for."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ScenarioError
from harness.synthetic.chart import Chart
from tests.harness.synthetic.toy_plants import plant_one

DAY = timedelta(days=1)


def codes(chart: Chart, place: int | None = None) -> dict[int, str]:
    hadm = None if place is None else chart.admissions[place].hadm_id
    rows: list[dict[str, Any]] = chart.rows["hosp.diagnoses_icd"]
    return {row["seq_num"]: row["icd_code"] for row in rows if row["hadm_id"] == (hadm or index(chart))}


def index(chart: Chart) -> int:
    return chart.index_admission.hadm_id


@pytest.mark.parametrize("version", [9, 10])
def test_a_planted_code_has_its_place_and_the_patient_its_years(tmp_path: Path, version: int) -> None:
    code = "E875" if version == 10 else "2767"
    body = f'diagnosis = [{{ code = "{code}", version = {version}, seq = 2 }}]\n'
    for number in range(8):
        chart = plant_one(tmp_path, body, anchor="ward", number=number)
        found = codes(chart)
        assert found[2] == code
        assert [*found] == [*range(1, len(found) + 1)]
        assert len({*found.values()}) == len(found)
        assert {row["icd_version"] for row in chart.rows["hosp.diagnoses_icd"]} == {str(version)}
        assert chart.person.icd_version == version
        assert int(chart.person.anchor_year_group[:4]) >= (2014 if version == 10 else 2011)


def test_codes_of_the_present_do_not_give_the_record_away(tmp_path: Path) -> None:
    body = 'presence = { emar = false }\ndiagnosis = [{ code = "E875", version = 10, seq = 1 }]\n'
    chart = plant_one(tmp_path, body, anchor="ward")
    assert codes(chart)[1] == "E875"
    assert not chart.rows["hosp.emar"]


def test_background_codes_are_suppressed_by_code_or_title(tmp_path: Path) -> None:
    body = 'suppress = [{ source = "hosp.diagnoses_icd", names = "^(I10|4019)|lipidemia", from = "-900d", to = "+900d" }]\n'
    before: set[str] = set()
    for number in range(8):
        before |= {*codes(plant_one(tmp_path, "", number=number)).values()}
        chart = plant_one(tmp_path, body, number=number)
        assert not {"I10", "4019", "E785", "2724"} & {*codes(chart).values()}
        assert [*codes(chart)] == [*range(1, len(codes(chart)) + 1)]
    assert before & {"I10", "4019"}


def test_an_earlier_admission_ends_so_many_days_before_and_has_its_codes_and_summary(tmp_path: Path) -> None:
    body = (
        "earlier = { days = 200 }\n"
        'diagnosis = [{ code = "2767", version = 9, seq = 3, admission = "earlier" },'
        ' { code = "E875", version = 10, seq = 1 }]\n'
    )
    for number in range(4):
        chart = plant_one(tmp_path, body, anchor="ward", number=number)
        earlier, now = chart.admissions[:2]
        assert now.hadm_id == index(chart)
        assert 200 * DAY <= now.arrived - earlier.discharged < 201 * DAY
        assert codes(chart, 0)[3] == "2767"
        assert "2767" not in codes(chart, 1).values()
        assert codes(chart, 1)[1] == "E875"
        assert {note["hadm_id"] for note in chart.rows["note.discharge"]} >= {earlier.hadm_id, now.hadm_id}


def test_a_code_without_a_title_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no diagnosis Z9999 of version 10"):
        plant_one(tmp_path, 'diagnosis = [{ code = "Z9999", version = 10, seq = 2 }]\n')


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('diagnosis = [{ code = "E875", version = 10, admission = "earlier" }]', "needs \\[plant.earlier"),
        ("presence = { first_admission = true }\nearlier = { days = 9 }", "exclude each other"),
        ('diagnosis = [{ code = "E875", version = 10 }, { code = "2767", version = 9 }]', "of one version"),
        ('diagnosis = [{ code = "E87.5", version = 10 }]', "diagnosis, entry 1, code"),
    ],
)
def test_admissions_that_contradict_each_other_are_named(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        plant_one(tmp_path, body + "\n")


def test_a_patient_is_in_hospital_for_what_the_plant_wants(tmp_path: Path) -> None:
    found = {
        plant_one(
            tmp_path, 'profile = { conditions = ["airway", "neuro"] }\n', number=number
        ).person.condition
        for number in range(8)
    }
    assert found == {"airway", "neuro"}
