"""`check` finds what differs from the release, the layout and the manifest."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from mcp_mimic.store.check import CheckReport, TableCheck, check_store
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.manifest import DATABASE_FILE, MANIFEST_FILE
from mcp_mimic.store.store import Store
from tests.hospital import small_rows, write_hospital


def table(report: CheckReport, name: str) -> TableCheck:
    return next(found for found in report.tables if found.table == name)


def check_after(store: Store, to: Path, statement: str) -> CheckReport:
    """Check a copy of `store` whose database was tampered with."""
    shutil.copytree(store.path, to)
    with duckdb.connect(str(to / DATABASE_FILE)) as connection:
        connection.execute(statement)
    return check_store(Store.open(to))


def test_a_fresh_store_of_an_unknown_release_is_well_but_not_compared(small_store: Store) -> None:
    report = check_store(small_store)
    assert report.ok
    assert {found.status for found in report.tables} == {"not compared"}
    assert not any(found.problems for found in report.tables)
    assert table(report, "hosp.labevents").rows == 5


@pytest.mark.slow
def test_a_part_of_a_stated_release_differs_from_its_published_counts(
    small_source: Path, tmp_path: Path
) -> None:
    import_store([small_source], tmp_path / "store", release="3.1")
    report = check_store(Store.open(tmp_path / "store"))
    patients = table(report, "hosp.patients")
    assert not report.ok
    assert (patients.rows, patients.published, patients.status) == (3, 364627, "differs")
    assert patients.source
    assert table(report, "icu.ingredientevents").status == "not compared"
    assert table(report, "note.discharge").status == "not compared"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "name", "problem"),
    [
        ("UPDATE hosp.labevents SET valuenum = 9 WHERE labevent_id = 1", "hosp.labevents", "not the content"),
        ("DELETE FROM hosp.omr", "hosp.omr", "not the content"),
        ("DROP TABLE hosp.omr", "hosp.omr", "missing"),
        ("ALTER TABLE hosp.omr DROP COLUMN eid", "hosp.omr", "other columns or types"),
        ("ALTER TABLE hosp.omr ALTER seq_num TYPE VARCHAR", "hosp.omr", "other columns or types"),
        ("UPDATE icu.outputevents SET eid = 'out:1'", "icu.outputevents", "1 evidence ids stand for several"),
        ("UPDATE hosp.omr SET eid = NULL", "hosp.omr", "without an evidence id"),
        ("UPDATE hosp.patients SET eid = 'lab:1'", "hosp.patients", "3 rows with another evidence id"),
        (
            "UPDATE icu.outputevents SET eid = 'out:' || (10 - substr(eid, 5)::INT)",
            "icu.outputevents",
            "3 rows with another evidence id",
        ),
        (
            "UPDATE icu.outputevents SET eid = 'lab:1' WHERE eid = 'out:1'",
            "icu.outputevents",
            "1 rows with another evidence id",
        ),
        (
            "UPDATE hosp.labevents SET available_at = available_at - INTERVAL 10 YEAR",
            "hosp.labevents",
            "5 rows with another moment of availability",
        ),
        (
            "UPDATE hosp.diagnoses_icd SET available_at = '2100-01-01'",
            "hosp.diagnoses_icd",
            "2 rows with another moment of availability",
        ),
        (
            "CREATE TABLE x AS SELECT * REPLACE ('lab:' || (100 - labevent_id) AS eid) FROM hosp.labevents; "
            "DROP TABLE hosp.labevents; CREATE TABLE hosp.labevents AS FROM x; DROP TABLE x",
            "hosp.labevents",
            "works one out otherwise than an import",
        ),
        (
            "CREATE TABLE x AS FROM hosp.admissions; DROP TABLE hosp.admissions; "
            "CREATE VIEW hosp.admissions AS FROM x",
            "hosp.admissions",
            "a view, not a table",
        ),
        (
            "CREATE TABLE x AS FROM hosp.admissions; DROP TABLE hosp.admissions; "
            "CREATE VIEW hosp.admissions AS FROM x",
            "hosp.diagnoses_icd",
            "not worked out again: it needs hosp.admissions",
        ),
        (
            "DROP TABLE hosp.omr; CREATE VIEW hosp.omr AS SELECT error('raised') AS subject_id",
            "hosp.omr",
            "a view, not a table",
        ),
        ("UPDATE hosp.emar SET available_at = NULL", "hosp.emar", "2 rows with a time but without a moment"),
    ],
)
def test_a_tampered_store_is_found_out(
    small_store: Store, tmp_path: Path, statement: str, name: str, problem: str
) -> None:
    report = check_after(small_store, tmp_path / "store", statement)
    assert not report.ok
    assert any(problem in found for found in table(report, name).problems)


def test_an_official_key_that_is_there_twice_is_reported(tmp_path: Path) -> None:
    rows = small_rows()
    rows["hosp.labevents"][1]["labevent_id"] = 1
    import_store([write_hospital(tmp_path / "source", rows)], tmp_path / "store")
    report = check_store(Store.open(tmp_path / "store"))
    assert not report.ok
    assert table(report, "hosp.labevents").problems == (
        "1 evidence ids stand for several rows of one subject",
    )


def test_a_store_built_by_other_rules_is_reported(small_store: Store, tmp_path: Path) -> None:
    store = shutil.copytree(small_store.path, tmp_path / "store")
    manifest = json.loads((store / MANIFEST_FILE).read_text())
    (store / MANIFEST_FILE).write_text(json.dumps(manifest | {"rules": "other"}))
    report = check_store(Store.open(store))
    assert not report.ok
    assert "built with other rules" in report.problems[0]


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("CREATE TABLE hosp.extra (i INTEGER)", "table hosp.extra"),
        ("CREATE VIEW hosp.extra AS SELECT 1 AS i", "view hosp.extra"),
        ("CREATE SCHEMA more", "schema more"),
        ("CREATE MACRO md5_number(x) AS 0", "macro main.md5_number"),
        ("CREATE MACRO duckdb_tables() AS TABLE SELECT 1 AS i", "macro main.duckdb_tables"),
        ("CREATE SEQUENCE hosp.s", "sequence hosp.s"),
        ("CREATE TYPE hosp.mood AS ENUM ('a')", "type hosp.mood"),
        ("CREATE INDEX by_subject ON hosp.omr (subject_id)", "index hosp.by_subject"),
    ],
)
def test_what_no_import_makes_is_reported_and_changes_nothing_else(
    small_store: Store, tmp_path: Path, statement: str, problem: str
) -> None:
    report = check_after(small_store, tmp_path / "store", statement)
    assert not report.ok
    assert report.problems == (f"holds what no import makes: {problem}",)
    assert not any(found.problems for found in report.tables)


def test_a_second_stamp_is_reported(small_store: Store, tmp_path: Path) -> None:
    report = check_after(small_store, tmp_path / "store", "INSERT INTO store VALUES (1, 'other')")
    assert report.problems == ("main.store has other rows than an import writes",)


def test_a_store_that_the_database_cannot_read_is_a_finding(small_store: Store, tmp_path: Path) -> None:
    copied = shutil.copytree(small_store.path, tmp_path / "store")
    opened = Store.open(copied)
    file = copied / DATABASE_FILE
    data = bytearray(file.read_bytes())
    for place in range(3 * 4096 + 9000, len(data), 4096):
        data[place] ^= 0xFF
    file.write_bytes(data)
    report = check_store(opened)
    assert not report.ok
    said = [*report.problems, *(problem for found in report.tables for problem in found.problems)]
    assert any("cannot be read" in problem for problem in said)


def test_equal_rows_may_share_their_numbers_out_as_they_like(tmp_path: Path) -> None:
    rows = small_rows()
    rows["icu.outputevents"] += [dict(rows["icu.outputevents"][0]) for _ in range(2)]
    import_store([write_hospital(tmp_path / "source", rows)], tmp_path / "store")
    report = check_store(Store.open(tmp_path / "store"))
    assert report.ok, report
    swapped = check_after(
        Store.open(tmp_path / "store"),
        tmp_path / "swapped",
        "UPDATE icu.outputevents SET eid = CASE eid WHEN 'out:1' THEN 'out:2' WHEN 'out:2' THEN 'out:1' ELSE eid END",
    )
    assert swapped.ok, swapped


def test_a_check_leaves_the_store_as_it_was(small_store: Store, tmp_path: Path) -> None:
    copied = shutil.copytree(small_store.path, tmp_path / "store")
    before = {path.name: path.read_bytes() for path in copied.iterdir()}
    check_store(Store.open(copied))
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == before
