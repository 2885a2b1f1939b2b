"""The open demo, imported from its real files."""

import duckdb
import pytest

from mcp_mimic.store.check import check_store
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES

pytestmark = [pytest.mark.demo, pytest.mark.slow]

COUNTS = {
    "hosp": "patients 100 admissions 275 transfers 1190 services 319 labevents 107727 microbiologyevents 2899 "
    "omr 2964 prescriptions 18087 pharmacy 15306 emar 35835 emar_detail 72018 poe 45154 poe_detail 3795 "
    "diagnoses_icd 4506 procedures_icd 722 drgcodes 454 hcpcsevents 61 d_labitems 1622 "
    "d_icd_diagnoses 109775 d_icd_procedures 85257 d_hcpcs 89200 provider 40508",
    "icu": "icustays 140 chartevents 668862 inputevents 20404 ingredientevents 25728 outputevents 9362 "
    "procedureevents 1468 datetimeevents 15280 d_items 4014 caregiver 15468",
}


@pytest.fixture(scope="module")
def demo(demo_store: Store) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    demo_store.attach(connection)
    return connection


def test_the_counts_are_those_of_the_demo(demo: duckdb.DuckDBPyConnection, demo_store: Store) -> None:
    for schema, text in COUNTS.items():
        words = text.split()
        for name, rows in zip(words[::2], map(int, words[1::2]), strict=True):
            assert demo.sql(f"SELECT count(*) FROM store.{schema}.{name}").fetchall() == [(rows,)], name
            assert demo_store.manifest.tables[f"{schema}.{name}"].rows == rows


def test_nothing_differs_and_every_count_is_compared(demo_store: Store) -> None:
    report = check_store(demo_store)
    assert report.ok
    compared = {table.table for table in report.tables if table.status == "same"}
    assert compared == {name for name, table in TABLES.items() if table.schema in ("hosp", "icu")}


def test_the_upper_case_columns_of_procedures_are_read(demo: duckdb.DuckDBPyConnection) -> None:
    ((rows, amounts),) = demo.sql(
        "SELECT count(*), count(originalamount) FROM store.icu.procedureevents"
    ).fetchall()
    assert rows == amounts


def test_details_carry_the_id_of_their_order_or_administration(demo: duckdb.DuckDBPyConnection) -> None:
    for parent, detail, key in (("emar", "emar_detail", "emar_id"), ("poe", "poe_detail", "poe_id")):
        query = (
            f"SELECT count(*) FROM store.hosp.{detail} d JOIN store.hosp.{parent} p USING (subject_id, {key}) "
            "WHERE d.eid <> p.eid"
        )
        assert demo.sql(query).fetchall() == [(0,)]


def test_no_evidence_id_holds_its_subject(demo: duckdb.DuckDBPyConnection) -> None:
    for name, table in TABLES.items():
        if table.has_subject and table.kind:
            query = f"SELECT count(*) FROM store.{name} WHERE contains(eid, subject_id::VARCHAR)"
            assert demo.sql(query).fetchall() == [(0,)], name


def test_rows_lie_in_the_order_of_subject_and_time(demo: duckdb.DuckDBPyConnection) -> None:
    for name, table in TABLES.items():
        if not table.has_subject:
            continue
        time = f", coalesce({table.time}::TIMESTAMP, '-infinity')" if table.time else ""
        query = (
            f"SELECT count(*) FROM (SELECT (subject_id{time}) < lag((subject_id{time})) OVER (ORDER BY rowid) "
            f"AS back FROM store.{name}) WHERE back"
        )
        assert demo.sql(query).fetchall() == [(0,)], name
