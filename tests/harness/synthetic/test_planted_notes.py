"""Planted discharge summaries and radiology reports: what they say, and what they leave out."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ScenarioError
from harness.synthetic.chart import Chart
from mcp_mimic.text.sections import note_sections
from tests.harness.synthetic.toy_plants import plant_one

PATIENTS = range(8)


def summary(chart: Chart, place: int | None = None) -> str:
    admission = chart.index_admission if place is None else chart.admissions[place]
    (text,) = [n["text"] for n in chart.rows["note.discharge"] if n["hadm_id"] == admission.hadm_id]
    return str(text)


def section(text: str, title: str) -> str:
    parts = note_sections(text, report=False)
    return " ".join(text[p.start : p.end] for p in parts if p.title.split(" / ")[0] == title)


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def discharged(folder: Path, body: str, number: int = 0) -> Chart:
    return plant_one(folder, body, anchor="discharge", number=number)


def test_every_summary_of_a_carrier_has_allergies_two_lists_and_results(tmp_path: Path) -> None:
    for number in PATIENTS:
        chart = discharged(tmp_path, "", number)
        assert len(chart.rows["note.discharge"]) == len(chart.admissions)
        for note in chart.rows["note.discharge"]:
            text = note["text"]
            assert re.search(r"^Allergies: \n\S", text, re.MULTILINE)
            assert re.search(r"^1\. \w", section(text, "Medications on Admission"), re.MULTILINE)
            assert re.search(r"^(1\. \w|Expired)", section(text, "Discharge Medications"), re.MULTILINE)
            assert "BLOOD" in section(text, "Pertinent Results")


def test_a_summary_may_be_absent_without_the_others(tmp_path: Path) -> None:
    chart = discharged(tmp_path, "earlier = { days = 40 }\nsummary = { absent = true }\n")
    written = {note["hadm_id"] for note in chart.rows["note.discharge"]}
    assert chart.index_admission.hadm_id not in written
    assert chart.admissions[0].hadm_id in written


def test_summaries_are_suppressed_by_their_window(tmp_path: Path) -> None:
    body = 'earlier = { days = 40 }\nsuppress = [{ source = "note.discharge", from = "-900d", to = "-1d" }]\n'
    chart = discharged(tmp_path, body)
    assert chart.admissions[0].hadm_id not in {note["hadm_id"] for note in chart.rows["note.discharge"]}
    assert summary(chart)


def test_allergies_stand_after_their_heading_in_all_summaries(tmp_path: Path) -> None:
    body = 'earlier = { days = 40 }\nsummary = { allergies = "Penicillins (hives)" }\n'
    chart = discharged(tmp_path, body)
    for place in (0, 1):
        assert "\nAllergies: \nPenicillins (hives)\n \nAttending" in summary(chart, place)


def test_medications_are_added_among_the_others_and_taken_out(tmp_path: Path) -> None:
    body = (
        'summary = { discharge_medications = ["Apixaban 5 mg PO BID"],'
        ' admission_medications = ["Digoxin 0.125 mg PO DAILY"], without_medications = "metoprolol|HELD" }\n'
    )
    places = set()
    for number in PATIENTS:
        before = section(summary(discharged(tmp_path, "", number)), "Discharge Medications")
        text = summary(discharged(tmp_path, body, number))
        listed, home = section(text, "Discharge Medications"), section(text, "Medications on Admission")
        (place,) = re.findall(r"^(\d+)\. Apixaban 5 mg PO BID", listed, re.MULTILINE)
        places.add(int(place))
        assert "Digoxin" in home
        assert "Digoxin" not in listed
        assert not re.search("metoprolol|HELD", listed + home, re.IGNORECASE)
        assert before.count(" PO ") - 4 <= listed.count(" PO ")
    assert len(places) > 2


def test_a_section_is_left_out_with_its_heading(tmp_path: Path) -> None:
    chart = discharged(tmp_path, 'summary = { without_sections = ["discharge medications"] }\n')
    text = summary(chart)
    assert "Discharge Medications" not in text
    assert "Medications on Admission:" in text
    assert "Discharge Disposition:" in text


def test_sentences_are_woven_into_their_sections(tmp_path: Path) -> None:
    body = (
        'summary = { sentences = { "hospital course" = ["Carvedilol was not restarted.", "Seen by EP."],'
        ' "pertinent results" = ["TTE: LVEF 25-30%."] } }\n'
    )
    places = set()
    for number in PATIENTS:
        text = summary(discharged(tmp_path, body, number))
        course = unwrapped(section(text, "Brief Hospital Course") + section(text, "Transitional Issues"))
        assert "Carvedilol was not restarted." in course
        assert "Seen by EP." in course
        assert "TTE: LVEF 25-30%." in section(text, "Pertinent Results")
        places.add(course.index("Carvedilol") * 10 // len(course))
    assert len(places) > 2


def test_text_of_the_background_is_left_out_everywhere_but_not_what_is_planted(tmp_path: Path) -> None:
    pattern = "HTN|infection|pain|senna|sodium|blood culture"
    body = (
        f'earlier = {{ days = 40 }}\nsummary = {{ without_text = "{pattern}",'
        ' allergies = "Sodium benzoate", discharge_medications = ["Sodium Chloride 1 gm PO TID"],'
        ' sentences = { "hospital course" = ["HTN was noted."] } }\n'
    )
    had = 0
    for number in PATIENTS:
        had += len(re.findall(pattern, summary(discharged(tmp_path, "", number)), re.IGNORECASE))
        text = unwrapped(summary(discharged(tmp_path, body, number)))
        planted = ("Sodium benzoate", "Sodium Chloride 1 gm PO TID", "sodium chloride 1 gm", "HTN was noted.")
        for part in planted:
            text = text.replace(part, "")
        assert not re.findall(pattern, text, re.IGNORECASE)
    assert had


def test_what_an_earlier_summary_says_is_not_copied_into_the_next(tmp_path: Path) -> None:
    body = (
        "earlier = { days = 40 }\n"
        'earlier_summary = { sentences = { "hospital course" = ["Echo showed LVEF 20%."] } }\n'
    )
    chart = discharged(tmp_path, body)
    assert "LVEF 20%" in unwrapped(summary(chart, 0))
    assert "LVEF" not in summary(chart)
    assert "copied from discharge summary" in summary(chart)


def reports(chart: Chart) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = chart.rows["note.radiology"]
    return rows


def test_a_report_is_written_where_it_is_planted(tmp_path: Path) -> None:
    body = (
        'radiology = [{ at = "-3h", exam = "CT HEAD W/O CONTRAST", text = "Acute left subdural hematoma.",'
        ' impression = "Subdural hematoma." }, { at = "-5h", text = "A pacemaker is in place." }]\n'
    )
    chart = plant_one(tmp_path, body, anchor="unit")
    head, chest = (next(r for r in reports(chart) if word in r["text"]) for word in ("hematoma", "pacemaker"))
    assert head["charttime"] == chart.index_time - timedelta(hours=3)
    assert head["storetime"] > head["charttime"]
    assert "IMPRESSION: \n \nSubdural hematoma." in head["text"]
    assert chest["text"].index("FINDINGS") < chest["text"].index("pacemaker") < chest["text"].index("IMPRESS")
    names = {row["note_id"]: row["field_value"] for row in chart.rows["note.radiology_detail"]}
    assert names[head["note_id"]] == "CT HEAD W/O CONTRAST"


def test_reports_are_suppressed_by_examination(tmp_path: Path) -> None:
    before = 0
    for number in PATIENTS:
        before += sum("CHEST" in r["text"] for r in reports(plant_one(tmp_path, "", number=number)))
        rule = '{ source = "note.radiology", names = "chest", from = "-900d", to = "+900d" }'
        chart = plant_one(tmp_path, f"suppress = [{rule}]\n", number=number)
        assert not [report for report in reports(chart) if "EXAMINATION:  CHEST" in report["text"]]
    assert before


def test_an_unknown_section_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="'horoscope' is no section of a discharge summary"):
        plant_one(tmp_path, 'summary = { sentences = { horoscope = ["Favourable."] } }\n')


def test_the_summary_of_an_earlier_admission_needs_one(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"needs \[plant.earlier\]"):
        plant_one(tmp_path, "earlier_summary = { absent = true }\n")


@pytest.mark.parametrize("number", range(8))
def test_a_study_stands_below_studies_and_a_problem_stands_alone(tmp_path: Path, number: int) -> None:
    body = (
        '[plant.summary]\nsentences = {"pertinent results" = ["TTE ___: LVEF 25%."], '
        '"hospital course" = ["# HFrEF: Diuresed."]}\n'
    )
    chart = plant_one(tmp_path, body, anchor="discharge", number=number)
    (text,) = [
        row["text"] for row in chart.rows["note.discharge"] if row["hadm_id"] == chart.index_admission.hadm_id
    ]
    results = text.split("Pertinent Results:")[1].split("Brief Hospital Course:")[0]
    before, after = results.split("TTE ___: LVEF 25%.")
    assert "IMAGING AND STUDIES:" in before
    assert "MICRO:" not in after
    assert "\n\n# HFrEF: Diuresed.\n\n" in text or "Course:\n# HFrEF: Diuresed.\n\n" in text
