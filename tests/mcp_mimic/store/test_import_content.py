"""What is stored depends on the content of the files, not on their format or the order of their rows."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_mimic.store.content import content_digest
from mcp_mimic.store.importer import Step, import_store
from mcp_mimic.store.plan import STAGED, create_sql, import_order, needs, out_of_order_sql, sorted_sql
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES
from tests.hospital import ADA, ADA_HADM, BEN, small_rows, write_hospital

Stored = dict[str, list[tuple[Any, ...]]]


def everything(store: Path) -> Stored:
    with duckdb.connect() as connection:
        Store.open(store).attach(connection)
        return {name: connection.sql(f"FROM store.{name}").fetchall() for name in TABLES}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", pytest.param(".parquet", marks=pytest.mark.slow)])
def test_csv_and_parquet_give_the_same_store_as_gzip(tmp_path: Path, small_store: Store, suffix: str) -> None:
    manifest = import_store([write_hospital(tmp_path / "source", suffix=suffix)], tmp_path / "store")
    assert manifest.fingerprint == small_store.manifest.fingerprint
    assert everything(tmp_path / "store") == everything(small_store.path)


def test_the_order_of_the_rows_in_the_files_does_not_matter(tmp_path: Path, small_store: Store) -> None:
    rows = small_rows()
    for table in rows.values():
        random.Random(3).shuffle(table)
    manifest = import_store([write_hospital(tmp_path / "source", rows)], tmp_path / "store")
    assert manifest.fingerprint == small_store.manifest.fingerprint
    assert everything(tmp_path / "store") == everything(small_store.path)


def test_a_file_that_is_in_stored_order_is_not_sorted_again(tmp_path: Path, small_store: Store) -> None:
    rows = small_rows()
    labs = rows["hosp.labevents"]
    rows["hosp.labevents"] = [labs[n] for n in (0, 3, 1, 2, 4)]
    sorted_tables = set()

    def progress(step: Step, table: str, done: int, total: int) -> None:
        if step is Step.SORTING:
            sorted_tables.add(table)

    for name in ("first", "second"):
        sorted_tables.clear()
        import_store([write_hospital(tmp_path / name, rows)], tmp_path / f"{name} store", progress=progress)
        assert ("hosp.labevents" in sorted_tables) is (name == "second")
        assert everything(tmp_path / f"{name} store") == everything(small_store.path)
        rows["hosp.labevents"].reverse()


@pytest.mark.parametrize(
    ("places", "back"),
    [
        ([(1, "2150-01-01", 1), (1, "2150-01-01", 2), (1, "2150-01-02", 1), (2, "2149-01-01", 1)], 0),
        ([(1, None, 2), (1, "2150-01-01", 1), (2, None, 1)], 0),
        ([(2, None, 1), (1, None, 2)], 1),
        ([(1, "2150-01-02", 1), (1, "2150-01-01", 2)], 1),
        ([(1, "2150-01-01", 1), (1, None, 2)], 1),
        ([(1, "2150-01-01", 2), (1, "2150-01-01", 1), (1, "2150-01-01", 1)], 2),
        ([], 0),
    ],
)
def test_rows_out_of_stored_order_are_counted(places: list[tuple[int, str | None, int]], back: int) -> None:
    labs = TABLES["hosp.labevents"]
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA hosp")
        connection.execute(create_sql(labs))
        for subject, time, number in places:
            connection.execute(
                "INSERT INTO hosp.labevents (subject_id, charttime, labevent_id) VALUES (?, ?, ?)",
                [subject, time, number],
            )
        assert connection.execute(out_of_order_sql(labs)).fetchall() == [(back,)]


def test_the_digest_of_known_rows_is_what_it_has_always_been(bench: duckdb.DuckDBPyConnection) -> None:
    # Fingerprints of published results must be found again under every later version of the database.
    numbers = (0.0, -0.0, 7.0, 0.1, 1e-7, 1e15, 1e16, 123456789.123, 5e-324, 1.7976931348623157e308)
    rows: list[dict[str, Any]] = [
        {"subject_id": ADA, "itemid": 226559, "charttime": f"2150-03-01 10:00:{n:02}.5", "value": value}
        for n, value in enumerate(numbers)
    ]
    rows.append({"subject_id": BEN, "valueuom": 'µL, "q"\n', "storetime": "0001-01-01 00:00:00"})
    assert stage(bench, rows) == "4876e82308a4edd108ccd656b509391c6849d5c44b1723f19712c1849242961d"


def test_one_changed_value_changes_the_fingerprint(tmp_path: Path, small_store: Store) -> None:
    rows = small_rows()
    rows["hosp.labevents"][0]["valuenum"] = 0.91
    manifest = import_store([write_hospital(tmp_path / "source", rows)], tmp_path / "store")
    changed = {
        name
        for name, entry in manifest.tables.items()
        if entry.digest != small_store.manifest.tables[name].digest
    }
    assert changed == {"hosp.labevents"}
    assert manifest.fingerprint != small_store.manifest.fingerprint


@pytest.mark.slow
def test_upper_case_and_reordered_columns_are_the_same_table(tmp_path: Path, small_store: Store) -> None:
    source = write_hospital(tmp_path / "source", suffix=".csv")
    file = source / "icu" / "caregiver.csv"
    file.write_text(file.read_text().replace("caregiver_id", "CAREGIVER_ID"))
    omr = source / "hosp" / "omr.csv"
    omr.write_text(
        f"result_name,SUBJECT_ID,chartdate,result_value,seq_num\nWeight (Lbs),{ADA},2149-11-03,165,1\n"
    )
    manifest = import_store([source], tmp_path / "store")
    assert manifest.fingerprint == small_store.manifest.fingerprint


def test_evidence_ids_come_from_official_keys_without_the_subject(small_store: Store) -> None:
    stored = everything(small_store.path)

    def eids(name: str) -> list[str]:
        return [row[-2] for row in stored[name]]

    assert eids("hosp.labevents") == ["lab:1", "lab:4", "lab:2", "lab:3", "lab:5"]
    assert eids("hosp.emar") == ["emar:9", "emar:10"]
    assert eids("hosp.emar_detail") == ["emar:9", "emar:9"]
    assert eids("hosp.poe") == ["ord:1", "ord:2", "ord:1"]
    assert eids("hosp.poe_detail") == ["ord:1"]
    assert eids("hosp.admissions") == [f"adm:{ADA_HADM}", "adm:20000002"]
    assert eids("hosp.microbiologyevents") == ["micro:501"]
    assert eids("icu.procedureevents") == ["proc:8201"]
    assert eids("hosp.prescriptions") == ["rx:1", "rx:2"]
    assert eids("hosp.patients") == [None, None, None]


def test_rows_are_stored_by_subject_and_time(small_store: Store) -> None:
    for name, rows in everything(small_store.path).items():
        table = TABLES[name]
        if table.has_subject:
            subject = table.column_names.index("subject_id")
            time = table.column_names.index(table.time) if table.time else subject
            assert rows == sorted(rows, key=lambda row, s=subject, t=time: (row[s], row[t])), name


def test_every_table_comes_after_the_tables_it_needs() -> None:
    order = import_order()
    assert sorted(order) == sorted(TABLES)
    assert all(order.index(other) < order.index(name) for name in order for other in needs(name))


_times = st.sampled_from(["2150-03-01 10:00:00", "2150-03-01 10:05:00", "2150-03-02 00:00:00"])
_charted = st.fixed_dictionaries(
    {
        "subject_id": st.sampled_from([ADA, BEN]),
        "charttime": _times,
        "storetime": st.none() | _times,
        "itemid": st.sampled_from([226559, 226560]),
        "value": st.sampled_from([None, 0.0, 30.0, 30.5]),
        "valueuom": st.sampled_from([None, "ml", "mL", "é"]),
    }
)


OUTPUT = TABLES["icu.outputevents"]


@pytest.fixture(scope="module")
def bench() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory in which one table can be built again and again."""
    with duckdb.connect() as connection:
        connection.execute("ATTACH ':memory:' AS staging")
        connection.execute("CREATE SCHEMA icu")
        yield connection


def stage(bench: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]) -> str:
    """Stage `rows` of icu.outputevents; returns their content digest."""
    columns = ", ".join(f"{column.name} {column.type}" for column in OUTPUT.columns)
    bench.execute(f"CREATE OR REPLACE TABLE {STAGED} ({columns})")
    values = ", ".join(f"({', '.join('?' * len(OUTPUT.columns))})" for _ in rows)
    if rows:
        bench.execute(
            f"INSERT INTO {STAGED} VALUES {values}",
            [row.get(name) for row in rows for name in OUTPUT.column_names],
        )
    return content_digest(bench, OUTPUT, STAGED)[1]


def build(bench: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """Build icu.outputevents from the staged rows, as an import does."""
    bench.execute(f"DROP TABLE IF EXISTS {OUTPUT.qualified}")
    bench.execute(create_sql(OUTPUT))
    bench.execute(sorted_sql(OUTPUT))
    return bench.execute(f"FROM {OUTPUT.qualified}").fetchall()


few = settings(deadline=None, max_examples=25)


@few
@given(rows=st.lists(_charted, max_size=12), chance=st.randoms(use_true_random=False))
def test_numbers_and_digest_do_not_depend_on_row_order(
    bench: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]], chance: random.Random
) -> None:
    shuffled = rows.copy()
    chance.shuffle(shuffled)
    first = stage(bench, rows), build(bench)
    assert first == (stage(bench, shuffled), build(bench))


@few
@given(rows=st.lists(_charted, max_size=12))
def test_the_numbers_of_the_rows_available_at_any_moment_have_no_gaps(
    bench: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]
) -> None:
    stage(bench, rows)
    stored = build(bench)
    for subject in (ADA, BEN):
        mine = [(row[-1], int(row[-2].removeprefix("out:"))) for row in stored if row[0] == subject]
        for moment, _ in mine:
            known = sorted(number for available, number in mine if available <= moment)
            assert known == list(range(1, len(known) + 1))


@few
@given(rows=st.lists(_charted, min_size=1, max_size=8))
def test_a_row_more_or_less_changes_the_digest(
    bench: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]
) -> None:
    digests = {stage(bench, rows), stage(bench, rows[1:]), stage(bench, [*rows, rows[0]])}
    assert len(digests) == 3
