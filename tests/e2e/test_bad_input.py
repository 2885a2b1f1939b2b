"""Whatever a person may get wrong is one line and a remedy, exit 2, and nothing half-made."""

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import harness.cli
import mcp_mimic.cli
from mcp_mimic.contract import Grant
from mcp_mimic.store.store import Store
from tests.harness.tiny import AS_OF, write_tasks
from tests.hospital import ADA

HARNESS, SERVER = harness.cli.run, mcp_mimic.cli.run
COHORT = "scenario,subject_id,index_time,as_of,gold,rule\n"
Command = Callable[[list[str]], int]


@pytest.fixture
def refuse(capfd: pytest.CaptureFixture[str]) -> Callable[[Command, Sequence[object]], tuple[str, str]]:
    """Run a command that must refuse; gives the error and the hint."""

    def refused(command: Command, arguments: Sequence[object]) -> tuple[str, str]:
        assert command([str(argument) for argument in arguments]) == 2
        printed = capfd.readouterr()
        assert printed.out == ""
        error, hint = printed.err.splitlines()
        assert error.startswith("error: ")
        assert hint.startswith("hint: ")
        return error.removeprefix("error: "), hint.removeprefix("hint: ")

    return refused


Refuse = Callable[[Command, Sequence[object]], tuple[str, str]]


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (SERVER, ["check"]),
        (SERVER, ["serve", "--patient", ADA, "--as-of", "2150-03-01"]),
        (HARNESS, ["cohort", "--out", "cohort.csv"]),
        (HARNESS, ["build", "--cohort", "cohort.csv"]),
    ],
)
def test_no_store(refuse: Refuse, tmp_path: Path, command: Command, arguments: list[object]) -> None:
    error, hint = refuse(command, [*arguments, "--store", tmp_path / "nowhere"])
    assert "no store here" in error
    assert "mcp-mimic import" in hint


def test_a_store_of_another_format(refuse: Refuse, small_store: Store, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(small_store.path, store)
    manifest = json.loads((store / "manifest.json").read_text())
    (store / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    error, hint = refuse(HARNESS, ["cohort", "--store", store, "--out", tmp_path / "cohort.csv"])
    assert "store format 99" in error
    assert "mcp-mimic import" in hint


def test_a_grant_made_for_a_store_of_another_release(
    refuse: Refuse, small_store: Store, tmp_path: Path
) -> None:
    grant = Grant(grant="g", task="t", subject_id=ADA, as_of=AS_OF, store="sha256:another")
    (tmp_path / "grant.json").write_text(json.dumps(grant.to_json()))
    error, _ = refuse(SERVER, ["serve", "--store", small_store.path, "--grant", tmp_path / "grant.json"])
    assert "another store" in error


def test_a_missing_table(refuse: Refuse, small_source: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(small_source, source, ignore=shutil.ignore_patterns("chartevents.csv.gz"))
    error, _ = refuse(SERVER, ["import", source, "--store", tmp_path / "store"])
    assert "chartevents" in error
    assert not (tmp_path / "store").exists()


def test_a_file_cut_in_half(refuse: Refuse, small_source: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(small_source, source)
    file = next(source.rglob("labevents.csv.gz"))
    whole = gzip.compress(gzip.decompress(file.read_bytes()), compresslevel=1)
    file.write_bytes(whole[: len(whole) // 2])
    error, _ = refuse(SERVER, ["import", source, "--store", tmp_path / "store"])
    assert "labevents.csv.gz" in error
    assert not (tmp_path / "store").exists()


def test_a_grant_for_an_absent_subject(refuse: Refuse, small_store: Store) -> None:
    store = small_store.path
    whose = ["--patient", 99999999, "--as-of", "2150-03-01"]
    error, _ = refuse(SERVER, ["serve", "--store", store, *whose, "--reader", "none=a test"])
    assert "99999999" in error


def test_a_credentialed_store_that_nobody_may_read(refuse: Refuse, small_store: Store) -> None:
    whose = ["--patient", ADA, "--as-of", "2150-03-01"]
    for command in (["serve"], ["inspect", "claude-code"]):
        error, hint = refuse(SERVER, [*command, "--store", small_store.path, *whose])
        assert "no model is named that may read it" in error
        assert "--reader 'MODEL=AGREEMENT'" in hint


def test_an_as_of_before_birth(refuse: Refuse, small_store: Store) -> None:
    store = small_store.path
    whose = ["--patient", ADA, "--as-of", "1999-01-01"]
    error, _ = refuse(SERVER, ["serve", "--store", store, *whose, "--reader", "none=a test"])
    assert "before the patient's birth" in error


def test_an_unknown_system(refuse: Refuse, small_store: Store, tmp_path: Path) -> None:
    places = ["--store", small_store.path, "--tasks", tmp_path, "--jobs-dir", tmp_path, "--job-name", "j"]
    error, hint = refuse(HARNESS, ["run", "--systems", "oracle,oracel", *places])
    assert error == "unknown system 'oracel'"
    assert hint.startswith("did you mean oracle?")


def test_a_cohort_row_whose_patient_is_not_in_the_store(
    refuse: Refuse, small_store: Store, tmp_path: Path
) -> None:
    cohort = tmp_path / "cohort.csv"
    row = "05-lactate-remeasurement-six-hours,99999999,2150-03-01T08:00:00,2150-03-01T20:00:00,yes,R1\n"
    cohort.write_text(COHORT + row)
    arguments = ["build", "--store", small_store.path, "--cohort", cohort, "--out", tmp_path / "tasks"]
    error, _ = refuse(HARNESS, arguments)
    assert "99999999" in error
    assert not (tmp_path / "tasks").exists()


def test_tasks_built_from_another_store(refuse: Refuse, small_store: Store, tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks", "sha256:another")
    places = ["--tasks", tmp_path / "tasks", "--jobs-dir", tmp_path / "jobs", "--job-name", "j"]
    error, hint = refuse(HARNESS, ["run", "--systems", "oracle", "--store", small_store.path, *places])
    assert "built from another store" in error
    assert "--store" in hint
    assert not (tmp_path / "jobs").exists()


@pytest.mark.parametrize("script", ["harness", "mcp-mimic"])
def test_the_installed_scripts_say_it_the_same_way(script: str, tmp_path: Path) -> None:
    command = {"harness": ["cohort", "--out", "c.csv"], "mcp-mimic": ["check"]}[script]
    path = Path(sys.executable).with_name(script)
    done = subprocess.run(
        [path, *command, "--store", tmp_path / "nowhere"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
