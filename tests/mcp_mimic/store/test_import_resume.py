"""An interrupted import leaves no store, and the next one goes on from it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mcp_mimic.errors import StoreError
from mcp_mimic.store.build import BuildFolder, Journal
from mcp_mimic.store.check import check_store
from mcp_mimic.store.importer import Step, import_store
from mcp_mimic.store.manifest import MANIFEST_FILE
from mcp_mimic.store.store import Store
from tests.hospital import small_rows, write_hospital, write_table

# Imports for real, and is killed as hard as a process can be when it comes to a step of a table.
KILLED_AT = """
import os, signal, sys
from pathlib import Path
from mcp_mimic.store.importer import import_store
source, store, step, table = sys.argv[1:]
def progress(now, name, done, total):
    if (now.value, name) == (step, table):
        os.kill(os.getpid(), signal.SIGKILL)
import_store([Path(source)], Path(store), progress=progress)
"""

COMMAND = [sys.executable, "-c", "from mcp_mimic.cli import main; main()"]


@pytest.fixture(scope="module")
def long_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small hospital with so many results that its import is still going on when it is interrupted."""
    source = write_hospital(tmp_path_factory.mktemp("long") / "source")
    labs = small_rows()["hosp.labevents"]
    many = [labs[n % len(labs)] | {"labevent_id": 1_000_000 + n} for n in range(300_000)]
    write_table(source, "hosp.labevents", many)
    return source


def import_and_count(source: Path, store: Path) -> dict[str, Step]:
    """Import, and say for every table whether it was built or kept."""
    steps: dict[str, Step] = {}

    def progress(step: Step, table: str, done: int, total: int) -> None:
        steps[table] = step

    import_store([source], store, progress=progress)
    return steps


@pytest.mark.parametrize(
    ("step", "table"),
    [
        ("checking", "hosp.labevents"),
        pytest.param("sorting", "hosp.labevents", marks=pytest.mark.slow),
        pytest.param("reading", "hosp.poe", marks=pytest.mark.slow),
        pytest.param("done", "hosp.emar", marks=pytest.mark.slow),
        pytest.param("sorting", "hosp.prescriptions", marks=pytest.mark.slow),
    ],
)
def test_a_killed_import_leaves_no_store_and_is_taken_up_again(
    small_source: Path, small_store: Store, tmp_path: Path, step: str, table: str
) -> None:
    store = tmp_path / "store"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_AT, small_source, store, step, table], check=False, capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not store.exists()
    with pytest.raises(StoreError, match="no store here"):
        Store.open(store)
    finished = set(BuildFolder.beside(store).journal().finished)

    steps = import_and_count(small_source, store)
    kept = {name for name, last in steps.items() if last is Step.KEPT}
    assert finished <= kept
    assert (table in kept) == (step == "done")
    assert Store.open(store).manifest == small_store.manifest
    assert sorted(file.name for file in tmp_path.iterdir()) == ["store"]


@pytest.mark.slow
def test_the_command_can_be_killed_and_given_again(long_source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = [*COMMAND, "import", str(long_source), "--store", str(store)]
    journal = BuildFolder.beside(store).root / "journal.json"
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        while not journal.exists() and running.poll() is None:
            time.sleep(0.002)
        running.kill()
    assert not store.exists()
    again = subprocess.run(command, check=False, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert again.stderr == ""
    manifest = Store.open(store).manifest
    assert manifest.fingerprint in again.stdout
    assert manifest == import_store([long_source], tmp_path / "uninterrupted")


@pytest.mark.slow
def test_an_import_interrupted_at_the_keyboard_says_how_to_go_on(long_source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    command = [*COMMAND, "import", str(long_source), "--store", str(store)]
    journal = BuildFolder.beside(store).root / "journal.json"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        while not journal.exists() and running.poll() is None:
            time.sleep(0.002)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert running.returncode == 130
    assert err.splitlines() == [
        "error: interrupted",
        "hint: run the same command again; an import goes on where it stopped",
    ]
    assert not store.exists()
    assert journal.exists()


@pytest.mark.slow
def test_a_file_that_changed_meanwhile_is_read_again_with_what_depends_on_it(tmp_path: Path) -> None:
    source, store = write_hospital(tmp_path / "source"), tmp_path / "store"
    subprocess.run(
        [sys.executable, "-c", KILLED_AT, source, store, "reading", "icu.chartevents"],
        check=False,
        capture_output=True,
    )
    before = set(BuildFolder.beside(store).journal().finished)
    assert {"hosp.poe", "hosp.poe_detail", "hosp.pharmacy", "hosp.emar"} <= before
    orders = small_rows()["hosp.poe"]
    orders[0]["ordertime"] = "2150-03-01 12:11:00"
    write_table(source, "hosp.poe", orders)

    steps = import_and_count(source, store)
    built = {name for name, last in steps.items() if last is Step.DONE} & before
    assert built >= {"hosp.poe", "hosp.poe_detail", "hosp.pharmacy"}
    assert "hosp.emar" not in built
    fresh = import_store([source], tmp_path / "fresh")
    assert Store.open(store).manifest == fresh


def test_a_table_that_an_interrupted_import_touched_is_not_taken_for_finished(
    small_source: Path, small_store: Store, tmp_path: Path
) -> None:
    store, other = tmp_path / "store", write_hospital(tmp_path / "other")
    write_table(other, "hosp.labevents", small_rows()["hosp.labevents"][1::-1])
    for source, step, table in (
        (small_source, "done", "hosp.labevents"),
        (other, "sorting", "hosp.labevents"),
    ):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED_AT, source, store, step, table], check=False, capture_output=True
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    # The first files are back, of which the journal had said that they are finished.
    assert import_store([small_source], store) == small_store.manifest
    assert check_store(Store.open(store)).ok


def test_a_journal_or_a_database_that_cannot_be_read_starts_the_import_anew(
    small_source: Path, small_store: Store, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    build = BuildFolder.beside(store)
    build.half_made.mkdir(parents=True)
    (build.root / "journal.json").write_text('{"version": 1, "finished": {"hosp.patients": {}}}')
    (build.half_made / "chart.duckdb").write_bytes(b"half a database")
    assert import_store([small_source], store) == small_store.manifest


def test_a_second_import_into_the_same_folder_is_refused(small_source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with BuildFolder.beside(store).locked():
        second = subprocess.run(
            [*COMMAND, "import", str(small_source), "--store", str(store)],
            check=False,
            capture_output=True,
            text=True,
        )
    assert second.returncode == 2
    assert second.stderr.splitlines() == [
        "error: another import into store is running",
        "hint: wait for it to end, or choose another --store folder",
    ]


def test_the_same_files_again_leave_the_store_alone(small_source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    manifest = import_store([small_source], store)
    before = (store / MANIFEST_FILE).stat().st_mtime_ns
    assert import_and_count(small_source, store)[""] is Step.UNCHANGED
    assert import_store([small_source], store) == manifest
    assert (store / MANIFEST_FILE).stat().st_mtime_ns == before


def test_other_files_do_not_replace_a_store(small_store: Store, tmp_path: Path) -> None:
    rows = small_rows()
    rows["hosp.omr"] = []
    source = write_hospital(tmp_path / "source", rows)
    with pytest.raises(StoreError, match="already a store of release unknown, of other files"):
        import_store([source], small_store.path)
    assert Store.open(small_store.path).manifest == small_store.manifest


@pytest.mark.slow
@pytest.mark.parametrize("target_exists", [True, False])
def test_a_link_may_lead_to_the_store(
    small_source: Path, small_store: Store, tmp_path: Path, target_exists: bool
) -> None:
    disk, link = tmp_path / "disk", tmp_path / "link"
    disk.mkdir()
    if target_exists:
        (disk / "store").mkdir()
    link.symlink_to(disk / "store")
    assert import_store([small_source], link) == small_store.manifest
    assert link.is_symlink()
    assert [entry.name for entry in disk.iterdir()] == ["store"]


@pytest.mark.slow
def test_the_folder_one_stands_in_may_become_the_store(
    small_source: Path, small_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert import_store([small_source.absolute()], Path()) == small_store.manifest


@pytest.mark.slow
def test_an_empty_folder_may_become_the_store(small_source: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    import_store([small_source], store)
    assert Store.open(store).manifest.modules == {"hosp", "icu"}


@pytest.mark.slow
def test_a_full_disk_or_too_little_memory_is_said_and_can_be_gone_on_from(
    small_source: Path, small_store: Store, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with pytest.raises(StoreError) as caught:
        import_store([small_source], store, memory="1MB")
    assert caught.value.code == "work_failed"
    assert "--memory" in caught.value.remedy
    assert not store.exists()
    assert import_store([small_source], store) == small_store.manifest


# Too little room for one file of the database, wherever DuckDB comes to notice it.
SHORT_OF_DISK = """
import resource, sys
from mcp_mimic.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("bytes_", [100_000, 800_000])
def test_a_disk_that_fills_is_not_blamed_on_the_source(
    small_source: Path, small_store: Store, tmp_path: Path, bytes_: int
) -> None:
    store = tmp_path / "store"
    command = [sys.executable, "-c", SHORT_OF_DISK, str(bytes_), "import", str(small_source)]
    full = subprocess.run([*command, "--store", str(store)], check=False, capture_output=True, text=True)
    assert full.returncode == 1
    assert f"error: {store}: not enough memory or disk space" in full.stderr
    assert not store.exists()
    assert import_store([small_source], store) == small_store.manifest


def test_a_memory_that_is_no_size_is_refused(small_source: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="--memory lots"):
        import_store([small_source], tmp_path / "store", memory="lots")
    assert list(tmp_path.iterdir()) == []


def test_a_store_cannot_be_built_where_nothing_can_be_written(small_source: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written to"):
        import_store([small_source], tmp_path / "file" / "store")


@pytest.mark.slow
def test_a_journal_is_read_as_it_was_written(tmp_path: Path, small_source: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", KILLED_AT, small_source, tmp_path / "store", "reading", "hosp.emar"],
        check=False,
        capture_output=True,
    )
    file = BuildFolder.beside(tmp_path / "store").root / "journal.json"
    assert len(Journal.read(file).finished) == len(json.loads(file.read_text())["finished"]) > 1
    assert [entry.name for entry in tmp_path.iterdir()] == [".store.importing"]
