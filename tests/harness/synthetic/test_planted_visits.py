"""Planted drugs of the emergency department's cabinet, and planted measurements of the clinic."""

from datetime import timedelta
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from tests.harness.synthetic.toy_plants import plant_one

HOUR = timedelta(hours=1)


def test_a_dispensed_drug_lies_in_its_visit_and_is_numbered_by_time(tmp_path: Path) -> None:
    body = 'event = [{ source = "ed.pyxis", at = "+30m", name = "CefTRIAXone 1g" }]\n'
    chart = plant_one(tmp_path, body, anchor="ed")
    (row,) = [row for row in chart.rows["ed.pyxis"] if row["name"] == "CefTRIAXone 1g"]
    (visit,) = [
        stay for stay in chart.rows["ed.edstays"] if stay["intime"] <= chart.index_time <= stay["outtime"]
    ]
    assert row["stay_id"] == visit["stay_id"]
    assert row["charttime"] == chart.index_time + timedelta(minutes=30)
    same = [r for r in chart.rows["ed.pyxis"] if r["stay_id"] == visit["stay_id"]]
    assert [r["med_rn"] for r in same] == [*range(1, len(same) + 1)]
    assert [r["charttime"] for r in same] == sorted(r["charttime"] for r in same)


def test_dispensed_drugs_are_suppressed_by_name(tmp_path: Path) -> None:
    whole = plant_one(tmp_path, "", anchor="ed")
    names = {row["name"] for row in whole.rows["ed.pyxis"]}
    gone = min(names)
    rule = f'{{ source = "ed.pyxis", names = "^{gone}$", from = "-400d", to = "+400d" }}'
    chart = plant_one(tmp_path, f"suppress = [{rule}]\n", anchor="ed")
    assert {row["name"] for row in chart.rows["ed.pyxis"]} == names - {gone}


def test_a_drug_dispensed_outside_every_visit_is_named(tmp_path: Path) -> None:
    body = 'event = [{ source = "ed.pyxis", at = "+30h", name = "Aspirin" }]\n'
    with pytest.raises(ScenarioError, match="outside every emergency visit"):
        plant_one(tmp_path, body, anchor="ed")


def test_a_measurement_of_the_clinic_has_a_day_and_replaces_what_is_suppressed(tmp_path: Path) -> None:
    seen = 0
    for number in range(8):
        whole = plant_one(tmp_path, "", number=number)
        seen += sum(row["result_name"] == "Height (Inches)" for row in whole.rows["hosp.omr"])
        chart = plant_one(
            tmp_path,
            'suppress = [{ source = "hosp.omr", names = "height", from = "-900d", to = "+0h" }]\n'
            'event = [{ source = "hosp.omr", at = "-20d", name = "Height (Inches)", text = "65.5" }]\n',
            number=number,
        )
        (height,) = [row for row in chart.rows["hosp.omr"] if row["result_name"] == "Height (Inches)"]
        day = (chart.index_time - timedelta(days=20)).date()
        assert (height["chartdate"], height["result_value"], height["seq_num"]) == (day, "65.5", 1)
        weights = [row for row in whole.rows["hosp.omr"] if row["result_name"] == "Weight (Lbs)"]
        kept = [row for row in chart.rows["hosp.omr"] if row["result_name"] == "Weight (Lbs)"]
        assert len(weights) == len(kept)
    assert seen


def test_a_planted_tracing_has_its_measurements_its_record_and_its_statements(tmp_path: Path) -> None:
    chart = plant_one(
        tmp_path,
        'suppress = [{ source = "ecg.machine_measurements", from = "-900d", to = "+900d" }]\n'
        "event = [\n"
        '{ source = "ecg.machine_measurements", at = "+0h", rr_interval = 800, qrs_onset = 200,'
        " qrs_end = 296, t_end = 670 },\n"
        '{ source = "ecg.machine_measurements", at = "+3h", rr_interval = 800, qrs_onset = 200,'
        " qrs_end = 296, t_end = 29999 },\n]\n",
        anchor="unit",
    )
    good, poor = chart.rows["ecg.machine_measurements"]
    assert [row["ecg_time"] - chart.index_time for row in (good, poor)] == [HOUR * 0, HOUR * 3]
    assert (good["rr_interval"], good["t_end"] - good["qrs_onset"]) == (800, 470)
    assert good["p_onset"] < good["p_end"] < good["qrs_onset"]
    assert good["report_0"] == "Sinus rhythm"
    assert poor["t_end"] == 29999
    assert "Poor data quality" in poor["report_0"]
    assert [row["study_id"] for row in chart.rows["ecg.record_list"]] == [good["study_id"], poor["study_id"]]


def test_tracings_are_suppressed_in_their_window_alone(tmp_path: Path) -> None:
    left = gone = 0
    for number in range(8):
        whole = plant_one(tmp_path, "", anchor="unit", number=number)
        rule = '{ source = "ecg.machine_measurements", from = "-900d", to = "+0h" }'
        chart = plant_one(tmp_path, f"suppress = [{rule}]\n", anchor="unit", number=number)
        times = [row["ecg_time"] for row in chart.rows["ecg.machine_measurements"]]
        wanted = [row["ecg_time"] for row in whole.rows["ecg.machine_measurements"]]
        assert times == [time for time in wanted if time > whole.index_time]
        left, gone = left + len(times), gone + len(wanted) - len(times)
    assert left
    assert gone
