"""Disputed cases are left out of a grading where that is asked for, and that is said."""

import json
from pathlib import Path

import pytest

from harness.cli import run
from harness.errors import JobError
from harness.grade import grade_job
from harness.review.comparison import Disputed, read_tasks, write_disputed
from tests.harness.jobs import task_gold, write_plan, write_tasks, write_trial
from tests.harness.scoring.casebook import audit, call

ONE, TWO, THREE = (f"05-lactate-00000000000{n}" for n in (1, 2, 3))
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_tasks(tmp_path / "tasks", [task_gold(ONE), task_gold(TWO, "no"), task_gold(THREE)])


@pytest.fixture
def job(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs" / "first"
    folder.mkdir(parents=True)
    write_plan(folder, [ONE, TWO, THREE], ["oracle"])
    write_trial(folder, ONE)
    write_trial(folder, TWO, lines=audit(call("lab:1"), call("lab:1"), task=TWO))
    return folder


@pytest.fixture
def disputed(tmp_path: Path) -> Path:
    cases = [
        Disputed(TWO, "05-lactate", "no", {"A": "yes", "B": "no"}, {"A": "a, b"}),
        Disputed(THREE, "05-lactate", "yes", {"B": "no"}, {}),
    ]
    write_disputed(cases, ("A", "B"), tmp_path / "disputed.csv")
    return tmp_path / "disputed.csv"


def test_left_out_tasks_are_in_no_number(job: Path, tasks: Path) -> None:
    whole, fewer = grade_job(job, tasks), grade_job(job, tasks, without={TWO, THREE})
    assert (whole.summary["systems"]["oracle"]["accuracy"], len(whole.missing)) == (0.5, 1)
    assert (fewer.summary["systems"]["oracle"]["accuracy"], fewer.missing) == (1.0, ())
    assert fewer.summary["job"]["left_out"] == [TWO, THREE]
    assert fewer.summary["job"]["tasks"] == 1
    assert whole.summary["job"]["left_out"] == []
    assert fewer.gold_digest != whole.gold_digest


def test_the_command_reads_what_the_review_wrote(
    job: Path, tasks: Path, disputed: Path, capsys: Captured
) -> None:
    assert list(read_tasks(disputed)) == [TWO, THREE]
    assert run(["grade", str(job), "--tasks", str(tasks), "--without", str(disputed), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["job"]["left_out"] == [TWO, THREE]
    assert run(["grade", str(job), "--tasks", str(tasks), "--without", str(disputed)]) == 0
    printed = capsys.readouterr().out
    assert "left out: 2 tasks" in printed
    assert "clinician_reviewed = false" in printed


def test_no_disputed_case_leaves_nothing_out(
    job: Path, tasks: Path, tmp_path: Path, capsys: Captured
) -> None:
    write_disputed([], ("A",), tmp_path / "none.csv")
    options = ["--tasks", str(tasks), "--without", str(tmp_path / "none.csv"), "--json"]
    assert run(["grade", str(job), *options]) == 0
    assert json.loads(capsys.readouterr().out)["job"]["tasks"] == 2


def test_leaving_out_everything_is_refused(job: Path, tasks: Path) -> None:
    with pytest.raises(JobError, match="is left out"):
        grade_job(job, tasks, without={ONE, TWO})


def test_tasks_of_another_folder_are_told(job: Path, tasks: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "list.csv").write_text(f"task\n{TWO}\n05-lactate-00000000000f\n")
    options = ["--tasks", str(tasks), "--without", str(tmp_path / "list.csv"), "--json"]
    assert run(["grade", str(job), *options]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["job"]["left_out"] == [TWO]
    assert "1 of 2 tasks is not in" in printed.err
    assert "05-lactate-00000000000f in line 3" in printed.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("case,label\nx,yes\n", "no column task"),
        ('task\n"x\n', "cannot be read as CSV"),
        (None, "cannot be read as CSV"),
    ],
)
def test_a_list_that_does_not_fit_is_one_line_and_a_hint(
    text: str | None, said: str, job: Path, tasks: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "list.csv"
    if text is not None:
        file.write_text(text)
    assert run(["grade", str(job), "--tasks", str(tasks), "--without", str(file)]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert str(file) in error
    assert said in error
    assert hint.startswith("hint: ")
