"""A store opens read-only and at once, or says why it cannot."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from mcp_mimic.errors import StoreError
from mcp_mimic.store.manifest import DATABASE_FILE, MANIFEST_FILE
from mcp_mimic.store.store import Store
from mcp_mimic.store.tables import TABLES

COUNT = """
import sys
from pathlib import Path
import duckdb
from mcp_mimic.store.store import Store
connection = duckdb.connect()
Store.open(Path(sys.argv[1])).attach(connection)
print(connection.sql("SELECT count(*) FROM store.hosp.labevents").fetchall()[0][0], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def copied(small_store: Store, tmp_path: Path) -> Path:
    return shutil.copytree(small_store.path, tmp_path / "store")


def edit_manifest(store: Path, **changes: object) -> None:
    file = store / MANIFEST_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_every_official_table_is_there_with_ids_and_availability(small_store: Store) -> None:
    with duckdb.connect() as connection:
        small_store.attach(connection, alias="chart")
        for name, table in TABLES.items():
            columns = [*table.column_names, *(("eid", "available_at") if table.has_subject else ())]
            assert connection.sql(f"FROM chart.{name}").columns == columns


def test_an_attached_store_cannot_be_written_to(small_store: Store) -> None:
    with duckdb.connect() as connection:
        small_store.attach(connection)
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute("DELETE FROM store.hosp.labevents")


def test_several_processes_read_one_store_at_a_time(small_store: Store) -> None:
    command = [sys.executable, "-c", COUNT, str(small_store.path)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        assert [process.stdout and process.stdout.readline().strip() for process in processes] == ["5", "5"]
        assert Store.open(small_store.path).manifest == small_store.manifest
    finally:
        for process in processes:
            process.communicate("")


def test_two_connections_of_one_process_read_one_store(small_store: Store) -> None:
    with duckdb.connect() as one, duckdb.connect() as other:
        small_store.attach(one)
        small_store.attach(other)
        assert one.sql("FROM store.hosp.omr").fetchall() == other.sql("FROM store.hosp.omr").fetchall()


def test_an_absent_store_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here") as caught:
        Store.open(tmp_path / "store")
    assert "mcp-mimic import" in caught.value.remedy


def test_a_store_without_its_database_is_not_whole(copied: Path) -> None:
    (copied / DATABASE_FILE).unlink()
    with pytest.raises(StoreError, match=r"not whole, chart\.duckdb is missing"):
        Store.open(copied)


def test_a_database_cut_short_is_not_a_store(copied: Path) -> None:
    file = copied / DATABASE_FILE
    file.write_bytes(file.read_bytes()[:4096])
    with pytest.raises(StoreError, match="cannot be read as a store"):
        Store.open(copied)


def test_a_store_of_another_format_version_is_refused(copied: Path) -> None:
    edit_manifest(copied, format=99)
    with pytest.raises(StoreError, match="store format 99, this version reads format 2"):
        Store.open(copied)


def test_a_manifest_with_unknown_keys_is_refused(copied: Path) -> None:
    edit_manifest(copied, mood="good")
    with pytest.raises(StoreError, match="not a manifest of store format 2"):
        Store.open(copied)


def test_a_manifest_that_is_no_text_is_refused(copied: Path) -> None:
    (copied / MANIFEST_FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(StoreError, match="not a manifest of store format 2"):
        Store.open(copied)


def test_a_manifest_of_another_import_is_refused(copied: Path) -> None:
    edit_manifest(copied, fingerprint="0" * 64)
    with pytest.raises(StoreError, match="belong to different imports"):
        Store.open(copied)


def test_the_manifest_names_no_folder_of_the_machine(small_store: Store, small_source: Path) -> None:
    text = (small_store.path / MANIFEST_FILE).read_text()
    assert str(small_source.parent) not in text
    assert small_store.manifest.tables["hosp.labevents"].source == "hosp/labevents.csv.gz"
