"""A case's line is the trial that the job has, or there is none and the exit code is 2."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import run
from harness.digests import digest_files, task_files
from tests.harness.tiny import GOLDS, TinyWorld

TASK = min(GOLDS)
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def world(tiny: TinyWorld, tmp_path: Path) -> TinyWorld:
    """The tiny world with tasks that may be changed."""
    shutil.copytree(tiny.tasks, tmp_path / "tasks")
    return TinyWorld(tiny.store, tiny.fingerprint, tmp_path / "tasks")


def _case(world: TinyWorld, jobs: Path, *more: str) -> int:
    places = ["--tasks", str(world.tasks), "--store", str(world.store), "--jobs-dir", str(jobs)]
    return run(["case", "--system", "always-yes", "--task-id", TASK, *places, *more])


@pytest.fixture
def jobs(world: TinyWorld, tmp_path: Path, capsys: Captured) -> Path:
    """A jobs folder with the trial, and nothing printed yet."""
    assert _case(world, tmp_path / "jobs") == 0
    capsys.readouterr()
    return tmp_path / "jobs"


def _trial(jobs: Path) -> Path:
    return jobs / "run" / f"{TASK}__always-yes"


def _refused(captured: Captured) -> str:
    """The one line and its hint, with nothing on stdout."""
    printed = captured.readouterr()
    assert printed.out == ""
    error, hint = printed.err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    return error


def _append(name: str) -> Callable[[Path], None]:
    def change(task: Path) -> None:
        with (task / name).open("a") as file:
            file.write("# changed\n")

    return change


def _later_as_of(task: Path) -> None:
    file = task / "environment" / "grant.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"as_of": "2150-03-09T00:00:00"}))


def _add(name: str) -> Callable[[Path], None]:
    def change(task: Path) -> None:
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text("added\n")

    return change


CHANGES = {
    "instruction": _append("instruction.md"),
    "compose": _append("environment/docker-compose.yaml"),
    "settings": _append("task.toml"),
    "grant": _later_as_of,
    "test script": _append("tests/test.sh"),
    "a file for the chart server": _add("environment/more/extra.txt"),
    "a file for the oracle": _add("solution/extra.txt"),
    "a file for the verifier": _add("tests/harness/__init__.py"),
    "a file beside all": _add("Dockerfile"),
}


def _snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    found = {str(path): path.lstat() for path in folder.rglob("*")}
    return {name: (entry.st_ino, entry.st_mtime_ns) for name, entry in found.items()}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_task_that_changed_since_its_trial_is_refused_and_the_trial_stays(
    world: TinyWorld, jobs: Path, capsys: Captured, change: Callable[[Path], None]
) -> None:
    before = _snapshot(_trial(jobs))
    change(world.tasks / TASK)
    assert _case(world, jobs) == 2
    assert "not as it was built" in _refused(capsys)
    _build_again(world.tasks)
    assert _case(world, jobs) == 2
    assert f"task {TASK} has changed since the job was begun" in _refused(capsys)
    assert _snapshot(_trial(jobs)) == before


def test_a_trial_that_was_scored_against_another_gold_is_refused(
    world: TinyWorld, jobs: Path, capsys: Captured
) -> None:
    """The job as such goes on: a changed gold needs a new grading, no new run."""
    _append("solution/plan.tsv")(world.tasks / TASK)
    _build_again(world.tasks)
    assert _case(world, jobs) == 0
    capsys.readouterr()
    gold = world.tasks / TASK / "tests" / "gold.json"
    gold.write_text(json.dumps(json.loads(gold.read_text()) | {"rule": "another"}))
    _build_again(world.tasks)
    assert _case(world, jobs) == 2
    assert f"the gold of task {TASK} has changed since {TASK}__always-yes was scored" in _refused(capsys)
    places = ["--tasks", str(world.tasks), "--store", str(world.store), "--jobs-dir", str(jobs)]
    assert run(["run", "--systems", "always-yes", "--only", TASK, *places]) == 0


def test_what_a_file_manager_leaves_in_a_task_is_no_part_of_it(world: TinyWorld, jobs: Path) -> None:
    _add("tests/.DS_Store")(world.tasks / TASK)
    assert _case(world, jobs) == 0


def _build_again(tasks: Path) -> None:
    """Let the manifest say that the task as it is now is the one that was built."""
    manifest = json.loads((tasks / "manifest.json").read_text())
    manifest["tasks"][TASK] |= digest_files(task_files(tasks / TASK))
    (tasks / "manifest.json").write_text(json.dumps(manifest))


def test_the_second_time_nothing_is_run_or_written_in_the_trial(
    world: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    jobs = tmp_path / "jobs"
    assert _case(world, jobs) == 0
    first, before = capsys.readouterr().out, _snapshot(_trial(jobs))
    assert _case(world, jobs) == 0
    assert capsys.readouterr().out == first
    assert _snapshot(_trial(jobs)) == before


def test_a_dead_trial_is_a_line_that_can_be_trusted(world: TinyWorld, jobs: Path, capsys: Captured) -> None:
    record = _trial(jobs) / "result.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"verifier_result": None}))
    assert _case(world, jobs) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["status"], line["graded"], line["grading"]) == ("dead", False, None)


def test_a_case_says_what_its_label_is_worth_until_and_after_it_is_signed(
    world: TinyWorld, jobs: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert _case(world, jobs) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["label"], line["clinician_reviewed"]) == ("rule-derived", False)
    gold = world.tasks / TASK / "tests" / "gold.json"
    gold.write_text(json.dumps(json.loads(gold.read_text()) | {"label": "clinician-signed"}))
    _build_again(world.tasks)
    assert _case(world, tmp_path / "others") == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["label"], line["clinician_reviewed"]) == ("clinician-signed", True)


@pytest.mark.parametrize("record", ["", "{", "[]", "{}", '{"agent_info": 1, "exception_info": 0}'])
def test_a_record_that_is_none_is_refused(
    world: TinyWorld, jobs: Path, capsys: Captured, record: str
) -> None:
    (_trial(jobs) / "result.json").write_text(record)
    assert _case(world, jobs) == 2
    assert "is no record of a trial" in _refused(capsys)


def test_a_trial_that_is_a_link_to_another_one_is_refused(
    world: TinyWorld, jobs: Path, tmp_path: Path, capsys: Captured
) -> None:
    trial = _trial(jobs)
    trial.rename(tmp_path / "elsewhere")
    trial.symlink_to(tmp_path / "elsewhere")
    assert _case(world, jobs) == 2
    assert "is no record of a trial" in _refused(capsys)


def test_a_run_that_fails_on_the_way_gives_no_line(
    world: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    """What `harness run` ends with 1 for, a case ends with 2 for."""
    (tmp_path / "jobs").write_text("a file where the jobs folder should be")
    assert _case(world, tmp_path / "jobs") == 2
    assert str(tmp_path / "jobs") in _refused(capsys)
