"""The command line: data on stdout, words on stderr, exit codes, and mistakes in two lines."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from harness.cli import AGAIN, app, run
from harness.progress import trial_progress
from harness.record import folder_checksum
from harness.scenario import load_scenarios
from tests.harness.tiny import GOLDS, TinyWorld

COMMANDS = ("synthetic", "cohort", "build", "run", "case", "grade", "demo", "images", "doctor")
Captured = pytest.CaptureFixture[str]


def _run(tiny: TinyWorld, jobs: Path, *arguments: str) -> int:
    places = ["--tasks", str(tiny.tasks), "--store", str(tiny.store), "--jobs-dir", str(jobs)]
    return run([arguments[0], *places, "--job-name", "first", *arguments[1:]])


def test_every_command_has_an_example_in_its_help(capsys: Captured) -> None:
    for command in COMMANDS:
        assert run([command, "--help"]) == 0
        assert f"Example: harness {command}" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["cohort", "review"])
def test_each_example_begins_a_line(command: str, capsys: Captured) -> None:
    assert run([command, "--help"]) == 0
    assert capsys.readouterr().out.count("\n  Example: ") == 2


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
        "task_checksum": folder_checksum(tiny.tasks / task),
        "graded": True,
        "grading": {
            "reward": 1.0,
            "verdict": 1.0,
            "supported": 0.0,
            "evidence_recall": 0.0,
            "citation_precision": 0.0,
        },
        "label": "rule-derived",
        "clinician_reviewed": False,
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
    assert "1 trial run, 1 kept, 1 dead" in capsys.readouterr().err


OWN = """
import os

from harness.agents.base import Answer


class Keyless:
    async def answer(self, task, client):
        raise RuntimeError("api key missing")


class Settled:
    def __init__(self):
        self.verdict = os.environ["OWN_VERDICT"]

    async def answer(self, task, client):
        return Answer(f"## Answer: {self.verdict}")


class NotAsync:
    def answer(self, task, client):
        return Answer("## Answer: YES")
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A systems file with its agents in a module beside it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "own_agents.py").write_text(OWN)
    tables = [
        f'[[system]]\ntag = "{name.lower()}"\nagent = "own_agents:{name}"\nabout = "mine"\n'
        for name in ("Keyless", "Settled", "NotAsync")
    ]
    (folder / "systems.toml").write_text("\n".join(tables))
    return folder / "systems.toml"


def _script(tiny: TinyWorld, place: Path, own: Path, systems: str) -> subprocess.CompletedProcess[str]:
    """`harness run` as it is installed, in a folder that is not the systems file's."""
    script = [str(Path(sys.executable).with_name("harness")), "run", "--systems", systems, "-n", "2"]
    places = ["--tasks", str(tiny.tasks), "--store", str(tiny.store), "--systems-file", str(own)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "OWN_VERDICT": "YES"}
    return subprocess.run(
        [*script, *places, "--job-name", "first", "--reader", "none=a test"],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        env=environment,
    )


@pytest.mark.slow
def test_agents_beside_the_systems_file_run_and_what_they_raise_is_told(
    tiny: TinyWorld, tmp_path: Path, own: Path, capsys: Captured
) -> None:
    done = _script(tiny, tmp_path, own, "settled,keyless")
    assert done.returncode == 0, done.stderr
    record = f"jobs/first/{min(GOLDS)}__keyless/result.json"
    assert done.stderr.splitlines()[-2] == (
        "jobs/first: 4 trials run, 0 kept, 0 dead, "
        f"2 agent errors (RuntimeError: api key missing; see {record})"
    )
    assert (tmp_path / record).is_file()
    assert run(["grade", str(tmp_path / "jobs" / "first"), "--tasks", str(tiny.tasks)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert next(row for row in rows if "errors" in row)
    assert next(row for row in rows if row[:1] == ["settled"])[:4] == ["settled", "2", "0", "0"]
    assert next(row for row in rows if row[:1] == ["keyless"])[:4] == ["keyless", "2", "0", "2"]


def test_an_agent_that_cannot_be_awaited_is_refused_before_the_first_trial(
    tiny: TinyWorld, tmp_path: Path, own: Path
) -> None:
    done = _script(tiny, tmp_path, own, "settled,notasync")
    assert done.returncode == 2
    error, hint = done.stderr.splitlines()
    assert "own_agents:NotAsync is no coroutine function" in error
    assert "async def answer" in hint
    assert not (tmp_path / "jobs").exists()


def test_a_scenario_may_be_named_by_its_number(tiny: TinyWorld, tmp_path: Path, capsys: Captured) -> None:
    known = load_scenarios()[0]
    cohort = ["cohort", "--store", str(tiny.store), "--out", str(tmp_path / "c.csv")]
    assert run([*cohort, "--scenario", known.number.lstrip("0"), "--scenario", known.slug]) == 0
    assert {line.split("\t")[0] for line in capsys.readouterr().out.splitlines()} == {known.id}
    assert run([*cohort, "--scenario", "99"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: unknown scenario '99'"
    assert known.id in hint


def test_a_folder_of_jobs_is_not_graded_and_its_jobs_are_named(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    assert _run(tiny, tmp_path / "jobs", "run", "--systems", "always-yes", "-n", "1") == 0
    capsys.readouterr()
    assert run(["grade", str(tmp_path / "jobs"), "--tasks", str(tiny.tasks)]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == f"error: {tmp_path / 'jobs'} is a folder of jobs, not a job"
    assert hint == f"hint: name a job below {tmp_path / 'jobs'}/: first"


def test_an_unknown_task_is_told_with_close_ones(tiny: TinyWorld, tmp_path: Path, capsys: Captured) -> None:
    close = min(GOLDS)
    assert _run(tiny, tmp_path, "case", "--system", "always-yes", "--task-id", close[:-1]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: no task {close[:-1]} in ")
    assert hint.startswith(f"hint: did you mean {close}")


def test_a_folder_with_a_store_in_it_is_told_with_the_stores_path(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    demo = tmp_path / "demo"
    demo.mkdir()
    (demo / "store").symlink_to(tiny.store)
    assert run(["cohort", "--store", str(demo), "--out", str(tmp_path / "c.csv")]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"error: {demo}: no store here",
        f"hint: there is one in it: --store {demo / 'store'}",
    ]


# The harness's own command line with one command more, whose query never ends by itself.
ENDLESS = """
import sys
import duckdb
from harness.cli import app, run

@app.command()
def endless():
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
    duckdb.sql("select sum(a.range * b.range) from range(10000000) a, range(10000000) b").fetchall()

sys.exit(run(["endless"]))
"""


def told_when_interrupted(program: str, *arguments: str) -> list[str]:
    """The lines on stderr of a program that got Ctrl-C once it was ready, and ended with 130."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    return told.splitlines()


def test_ctrl_c_is_two_lines_inside_a_query_too() -> None:
    assert told_when_interrupted(ENDLESS) == [
        "error: interrupted",
        "hint: run the same command again",
    ]


def test_grade_asks_for_a_job_below_the_folder_of_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    (tmp_path / "jobs" / "first").mkdir(parents=True)
    (tmp_path / "jobs" / "first" / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert run(["grade", "first"]) == 2
    assert capsys.readouterr().err == "error: first: no such folder\nhint: did you mean jobs/first?\n"


SLOW_SYNTHETIC = """
import sys
import harness.synthetic
from harness.cli import run
write = harness.synthetic.write_hospital

def told(done, patients):
    if done == 1:
        print("ready", flush=True)

harness.synthetic.write_hospital = lambda out, **how: write(out, progress=told, **how)
sys.exit(run(["synthetic", "--out", sys.argv[1]]))
"""


def test_ctrl_c_keeps_nothing_of_a_hospital_and_says_so(tmp_path: Path) -> None:
    assert told_when_interrupted(SLOW_SYNTHETIC, str(tmp_path / "hospital")) == [
        "error: interrupted",
        "hint: run the same command again: nothing of an unfinished hospital is kept",
    ]
    assert not list(tmp_path.iterdir())


def test_every_command_says_what_ctrl_c_leaves() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(AGAIN) == set(commands) - {"doctor"}  # which makes nothing


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


def test_progress_is_a_line_now_and_then_where_no_terminal_is(capsys: Captured) -> None:
    with trial_progress(3, seconds=0) as advance:
        for _ in range(3):
            advance()
    assert capsys.readouterr().err.splitlines() == ["1 of 3 trials, 0 s", "2 of 3 trials, 0 s"]
    with trial_progress(3, seconds=3600) as advance:
        advance()
    assert capsys.readouterr().err == ""


def test_only_some_tasks_are_run_and_the_job_grows_by_the_others(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    first, second = sorted(GOLDS)
    yes = ["run", "--systems", "always-yes", "-n", "1"]
    assert _run(tiny, tmp_path, *yes, "--only", first) == 0
    assert "1 trial run, 0 kept" in capsys.readouterr().err
    assert not (tmp_path / "first" / f"{second}__always-yes").exists()
    assert _run(tiny, tmp_path, *yes, "--only", f"{first[:2]}*,{second}") == 0
    assert "1 trial run, 1 kept" in capsys.readouterr().err
    assert _run(tiny, tmp_path, *yes) == 0
    assert "0 trials run, 2 kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("only", "message", "remedy"),
    [
        ("no-such-*", "no task in {tasks} is named by no-such-*", "task ids are like {first}"),
        ("{first}x", "no task {first}x in {tasks}", "did you mean {first}"),
        (",", "no task in {tasks}", "build tasks"),
    ],
)
def test_tasks_that_are_not_there_are_told_before_anything_runs(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured, only: str, message: str, remedy: str
) -> None:
    known = {"tasks": tiny.tasks, "first": min(GOLDS)}
    assert _run(tiny, tmp_path, "run", "--systems", "always-yes", "--only", only.format(**known)) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith(f"error: {message.format(**known)}")
    assert hint.startswith(f"hint: {remedy.format(**known)}")
    assert not (tmp_path / "first").exists()


def test_an_unknown_place_is_told_in_words_of_its_own(capsys: Captured) -> None:
    assert run(["run", "--systems", "oracle", "--env", "moon"]) == 2
    error = capsys.readouterr().err.splitlines()[0]
    assert error == "error: Invalid value for '--env': 'moon' is not one of 'direct', 'docker'."


def test_a_system_that_cannot_run_in_containers_is_not_run_outside_of_them(
    tiny: TinyWorld, tmp_path: Path, capsys: Captured
) -> None:
    for command in (["run", "--systems"], ["case", "--task-id", min(GOLDS), "--system"]):
        assert _run(tiny, tmp_path, *command, "always-yes", "--env", "docker") == 2
        error, hint = capsys.readouterr().err.splitlines()
        assert error == "error: always-yes cannot run in containers"
        assert hint.startswith("hint: these can: oracle;")
    assert not (tmp_path / "first").exists()
