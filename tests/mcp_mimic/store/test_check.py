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
