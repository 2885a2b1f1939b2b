"""The hospital's notes, emergency visits and ECGs agree with its charts, and no two notes are alike."""

import re
from collections import Counter

import duckdb
import pytest

from mcp_mimic.text.sections import note_sections
from tests.harness.synthetic.conftest import single

Rows = list[tuple[str, int]]


pytestmark = pytest.mark.slow


def texts(database: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    return [text for (text,) in database.execute(f"select text from note.{table}").fetchall()]


def test_no_two_notes_are_alike(database: duckdb.DuckDBPyConnection) -> None:
    for table in ("discharge", "radiology"):
        counted = Counter(texts(database, table))
        assert sum(counted.values()) > 200
        assert [text for text, times in counted.items() if times > 1] == []


def test_a_summary_has_the_sections_of_the_form(database: duckdb.DuckDBPyConnection) -> None:
    found, seen = texts(database, "discharge"), Counter[str]()
    for text in found:
        titles = [section.title for section in note_sections(text, report=False)]
        assert titles[0] == "Beginning"
        for title in (
            "Allergies",
            "History of Present Illness",
            "Brief Hospital Course",
            "Discharge Medications",
        ):
            seen[title] += title in titles
            assert titles.count(title) <= 1, title
        assert "Transitional Issues" in titles
    assert min(seen.values()) > 0.95 * len(found)


def test_a_report_has_an_examination_findings_and_an_impression(database: duckdb.DuckDBPyConnection) -> None:
    for text in texts(database, "radiology"):
        titles = {section.title for section in note_sections(text, report=True)}
        assert {"EXAMINATION", "INDICATION", "COMPARISON", "FINDINGS", "IMPRESSION"} <= titles


def test_notes_deny_abbreviate_and_hide_who_is_meant(database: duckdb.DuckDBPyConnection) -> None:
    found = texts(database, "discharge")
    assert sum(bool(re.search(r"\bDenies\b", text)) for text in found) > 0.9 * len(found)
    for text in found:
        assert re.search(r"\b(p/w|h/o|s/p|HTN|HLD|GERD|VS|F/u)\b", text)
        assert text.count("___") > 5
        assert not re.search(r"\b2[12]\d\d\b", text), "a year"
        assert "{" not in text
    denied = sum("No " in text or "no " in text for text in texts(database, "radiology"))
    assert denied > 0.9 * single(database, "select count(*) from note.radiology")


def test_a_later_summary_carries_the_course_of_the_one_before(database: duckdb.DuckDBPyConnection) -> None:
    pairs = database.execute(
        "select text, lead(text) over (partition by subject_id order by note_seq) as later from note.discharge "
        "qualify later is not null"
    ).fetchall()
    assert len(pairs) > 20
    for text, later in pairs:
        course = text.split("Brief Hospital Course:\n")[1].split("TRANSITIONAL")[0].split("\n\n")
        assert any(paragraph in later for paragraph in course if paragraph.strip())


def test_results_and_drugs_of_a_summary_are_those_of_the_chart(database: duckdb.DuckDBPyConnection) -> None:
    rows = database.execute(
        "select subject_id, text from note.discharge order by subject_id limit 60"
    ).fetchall()
    listed = unordered = 0
    for subject, text in rows:
        results = re.findall(r"\bCreat-([\d.]+)", text)
        drugs = re.findall(r"^\d+\. ([^\d-]+?) [\d.]+ \S+ PO\b", text, re.MULTILINE)
        labs = database.execute(
            "select distinct valuenum from hosp.labevents where subject_id = ? and itemid = 50912", [subject]
        ).fetchall()
        orders = database.execute(
            "select distinct trim(drug) from hosp.prescriptions where subject_id = ?", [subject]
        ).fetchall()
        assert {float(result) for result in results} <= {value for (value,) in labs}
        listed += len(drugs)
        unordered += len({*drugs} - {drug for (drug,) in orders})
    # some are taken at home, or are prescribed at the door
    assert listed > 100
    assert unordered < 0.1 * listed


@pytest.mark.parametrize(
    ("what", "sql", "low", "high"),
    [
        ("admissions with a summary", "count(distinct d.hadm_id) / (select count(*) from hosp.admissions) from note.discharge d", 0.85, 0.99),
        ("summaries dated at midnight", "avg((charttime = date_trunc('day', charttime))::int) from note.discharge", 1, 1),
        ("summaries stored after their day", "avg((storetime::date > charttime::date)::int) from note.discharge", 0.6, 0.99),
        ("reports stored after the examination", "min((storetime > charttime)::int) from note.radiology", 1, 1),
        ("addenda", "avg((note_type = 'AR')::int) from note.radiology", 0.01, 0.08),
        ("addenda without a report", "count(*) from note.radiology_detail d where field_name = 'parent_note_id' and not exists (from note.radiology n where n.note_id = d.field_value)", 0, 0),
        ("visits that are an admission's", "avg((a.edregtime = v.intime and a.edouttime = v.outtime)::int) from ed.edstays v join hosp.admissions a using (subject_id, hadm_id)", 1, 1),
        ("visits without triage", "count(*) from ed.edstays v where not exists (from ed.triage t where t.stay_id = v.stay_id)", 0, 0),
        ("records outside their visit", "count(*) from (select stay_id, charttime from ed.vitalsign union all select stay_id, charttime from ed.pyxis union all select stay_id, charttime from ed.medrecon) r join ed.edstays v using (stay_id) where r.charttime < v.intime - interval 1 minute or r.charttime > v.outtime", 0, 0),
        ("visits with the number of an ICU stay", "count(*) from ed.edstays v join icu.icustays i using (stay_id)", 0, 0),
        ("drugs that treat a high potassium", "count(*) from ed.pyxis where regexp_matches(name, 'calcium|insulin|bicarbonate|albuterol', 'i')", 0, 0),
        ("pressures out of order", "count(*) from ed.vitalsign where sbp <= dbp", 0, 0),
        ("temperatures that are not in °F", "count(*) from ed.triage where temperature not between 94 and 105", 0, 0),
        ("ECGs out of order", "count(*) from ecg.machine_measurements where not (qrs_onset < qrs_end and qrs_end < t_end and coalesce(nullif(p_end, 29999), 0) < qrs_onset and (t_end = 29999 or t_end < rr_interval + qrs_onset + 200))", 0, 0),
        ("ECGs that were not measured", "avg((t_end = 29999)::int) from ecg.machine_measurements", 0.01, 0.1),
        ("ECGs without a record", "count(*) from ecg.machine_measurements m where not exists (from ecg.record_list r where r.study_id = m.study_id and r.ecg_time = m.ecg_time)", 0, 0),
        ("patients with several ECGs", "count(*) / (select count(*) from hosp.patients) from (select 1 from ecg.machine_measurements group by subject_id having count(*) > 1)", 0.1, 0.9),
    ],
    ids=lambda argument: argument.replace(" ", "_") if isinstance(argument, str) and " from " not in argument else "",
)  # fmt: skip
def test_the_modules_agree_with_the_chart(
    database: duckdb.DuckDBPyConnection, what: str, sql: str, low: float, high: float
) -> None:
    assert low <= single(database, f"select {sql}") <= high, what
