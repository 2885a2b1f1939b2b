"""The command line: data on stdout, words on stderr, exit codes, and mistakes in two lines."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import run
from harness.taskset import TaskSet
from tests.harness.tiny import GOLDS, TinyWorld

COMMANDS = ("synthetic", "cohort", "build", "run", "case", "grade", "demo")
Captured = pytest.CaptureFixture[str]


def _run(tiny: TinyWorld, jobs: Path, *arguments: str) -> int:
    places = ["--tasks", str(tiny.tasks), "--store", str(tiny.store), "--jobs-dir", str(jobs)]
    return run([arguments[0], *places, "--job-name", "first", *arguments[1:]])


def test_every_command_has_an_example_in_its_help(capsys: Captured) -> None:
    for command in COMMANDS:
        assert run([command, "--help"]) == 0
        assert f"Example: harness {command}" in capsys.readouterr().out


def test_without_a_command_the_help_is_printed_and_names_them_all(capsys: Captured) -> None:
    assert run([]) == 0
    printed = capsys.readouterr().out
    assert all(f"  {command} " in printed for command in COMMANDS)


def test_help_loads_neither_database_nor_server_nor_harbor() -> None:
    code = (
        "import sys; from harness.cli import run; run(['run', '--help']); "
        "print([name for name in ('duckdb', 'fastmcp', 'harbor') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "No such command"),
        (["run"], "Missing option"),
        (["run", "--systems", "oracle", "--store", "s", "--job-name", "../up"], "letters, digits"),
        (["build", "--store", "s", "--cohort", "c", "--map", "gold"], "no store here"),
        (["grade", "nowhere", "--tasks", "nowhere"], "not a tasks folder"),
    ],
)
def test_a_mistake_is_one_line_and_a_hint(arguments: list[str], message: str, capsys: Captured) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    error, hint = printed.err.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert hint.startswith("hint: ")


def test_a_case_is_one_line_of_json_and_the_same_trial_the_second_time(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    task = sorted(GOLDS)[0]
    lines = []
    for _ in range(2):
        assert _run(tiny, tmp_path, "case", "--system", "always-yes", "--task-id", task) == 0
        (line,) = capsys.readouterr().out.splitlines()
        lines.append(json.loads(line))
    assert lines[0] == lines[1]
    assert lines[0] == {
        "status": "ok",
        "trial_dir": str(tmp_path / "first" / f"{task}__always-yes"),
        "task_id": task,
        "model_name": None,
        "agent_name": "always-yes",
        "agent_version": lines[0]["agent_version"],
        "exception_type": None,
        "task_checksum": TaskSet.open(tiny.tasks).task(task).entry.agent_digest,
        "graded": True,
        "grading": {
            "reward": 1.0,
            "verdict": 1.0,
            "supported": 0.0,
            "evidence_recall": 0.0,
            "citation_precision": 0.0,
        },
    }


def test_a_run_is_graded_to_json_and_a_table(tiny: TinyWorld, tmp_path: Path, capsys: Captured) -> None:
    assert _run(tiny, tmp_path, "run", "--systems", "always-yes, always-defer", "-n", "1") == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "4 trials run, 0 kept, 0 dead" in printed.err
    grade = ["grade", str(tmp_path / "first"), "--tasks", str(tiny.tasks)]
    assert run([*grade, "--json", "--report", str(tmp_path / "report")]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["systems"]["always-yes"]["accuracy"] == 0.5
    assert scores["systems"]["always-yes"]["instrument"] is True
    assert scores["systems"]["always-defer"]["accuracy"] == 0.0
    assert json.loads((tmp_path / "report" / "scores.json").read_text()) == scores
    assert run(grade) == 0
    assert "always-yes" in capsys.readouterr().out


def test_dead_trials_are_told_by_the_exit_code(tiny: TinyWorld, tmp_path: Path, capsys: Captured) -> None:
    task = sorted(GOLDS)[0]
    dead = tmp_path / "first" / f"{task}__always-yes"
    assert _run(tiny, tmp_path, "case", "--system", "always-yes", "--task-id", task) == 0
    (dead / "verifier" / "reward.json").unlink()
    assert _run(tiny, tmp_path, "run", "--systems", "always-yes", "-n", "1") == 1
    assert "1 trials run, 1 kept, 1 dead" in capsys.readouterr().err


@pytest.mark.parametrize("after", [0.03, 0.1, 0.2])
def test_ctrl_c_is_two_lines_inside_a_query_too(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured, after: float
) -> None:
    asked = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        code = run(["cohort", "--store", str(tiny.store), "--out", str(tmp_path / "cohort.csv")])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, asked)
    assert code == 130
    assert capsys.readouterr().err.splitlines() == [
        "error: interrupted",
        "hint: run the same command again: what is whole is kept",
    ]
    assert not (tmp_path / "cohort.csv").exists()


@pytest.mark.parametrize("command", ["cohort", "build"])
def test_a_store_with_torn_pages_is_two_lines(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured, command: str
) -> None:
    store, cohort = tmp_path / "store", tmp_path / "cohort.csv"
    shutil.copytree(tiny.store, store)
    file = next(store.glob("*.duckdb"))
    with file.open("r+b") as pages:
        for place in range(file.stat().st_size * 2 // 3, file.stat().st_size - 4096, 8192):
            pages.seek(place)
            pages.write(b"\xff" * 100)
    cohort.write_text(
        "scenario,subject_id,index_time,as_of,gold\n"
        "05-lactate-remeasurement-six-hours,10000001,2150-03-01T08:00:00,2150-03-02T08:00:00,yes\n"
    )
    given = ["--out", str(tmp_path / "x.csv")]
    if command == "build":
        given = ["--cohort", str(cohort), "--out", str(tmp_path / "tasks")]
    assert run([command, "--store", str(store), *given]) in (1, 2)  # as far as it could be opened
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")


def test_a_names_control_codes_do_not_reach_the_terminal(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "job" / "evil__\x1b[31mred\n\u202e").mkdir(parents=True)
    assert run(["grade", str(tmp_path / "job"), "--tasks", str(tiny.tasks)]) == 2
    printed = capsys.readouterr().err
    assert len(printed.splitlines()) == 2
    assert "\x1b" not in printed
    assert "\u202e" not in printed


def test_an_unwritable_place_is_one_line_and_exit_1(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "jobs").write_text("a file")
    assert _run(tiny, tmp_path / "jobs", "run", "--systems", "oracle") == 1
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: ")
    assert str(tmp_path / "jobs") in error
    assert hint.startswith("hint: check the path")
