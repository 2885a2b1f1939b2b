import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from harness.errors import JobError, TaskError
from harness.grade import grade_job
from tests.harness.jobs import RIGHT, task_gold, write_plan, write_tasks, write_trial
from tests.harness.scoring.casebook import audit, call

ONE, TWO, THREE = (f"05-lactate-00000000000{n}" for n in (1, 2, 3))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write_tasks(
        tmp_path / "tasks", [task_gold(ONE), task_gold(TWO, "no"), task_gold(THREE, "lack_of_data")]
    )


@pytest.fixture
def job(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs" / "first"
    folder.mkdir(parents=True)
    return folder


def test_trials_are_scored_from_what_they_left_and_the_folders_gold(job: Path, tasks: Path) -> None:
    write_trial(job, ONE, rewards={"reward": 0.0})
    write_trial(job, TWO, report="## Answer: YES")
    scores = grade_job(job, tasks)
    numbers = scores.summary["systems"]["oracle"]
    assert (numbers["trials"], numbers["accuracy"], numbers["supported_accuracy"]) == (2, 0.5, 0.5)
    assert scores.trials[0].cluster == f"subject of {ONE}"
    assert (scores.classification, scores.release) == ("synthetic", "3.1")


def test_dead_trials_keep_their_cause_and_missing_ones_are_named(job: Path, tasks: Path) -> None:
    write_plan(job, [ONE, TWO], ["oracle", "always-yes"])
    write_trial(job, ONE)
    write_trial(job, TWO, lines=audit(call("lab:1"), task=TWO, seal=False))
    scores = grade_job(job, tasks)
    assert scores.missing == ((ONE, "always-yes"), (TWO, "always-yes"))
    oracle, absent = scores.summary["systems"].values()
    assert (oracle["dead"], oracle["accuracy"], oracle["accuracy_dead_wrong"]) == (1, 1.0, 0.5)
    assert oracle["causes"] == {"the audit cannot be trusted: no seal": 1}
    assert (absent["trials"], absent["missing"], absent["accuracy"]) == (0, 2, None)
    assert oracle["about"] == "about oracle"
    assert scores.summary["job"]["missing"] == [f"{ONE}__always-yes", f"{TWO}__always-yes"]


def test_the_audit_of_another_task_is_a_death(job: Path, tasks: Path) -> None:
    write_trial(job, ONE, lines=audit(call("lab:1"), task=TWO))
    [trial] = grade_job(job, tasks).trials
    assert (trial.status, trial.cause) == ("dead", f"the audit is of task {TWO}, the gold of {ONE}")


def test_a_mended_gold_needs_no_new_run_and_is_said(job: Path, tasks: Path) -> None:
    old = (tasks / ONE / "tests" / "gold.json").read_bytes()
    folder = write_trial(job, ONE)
    (folder / "verifier").mkdir()
    digest = "sha256:" + sha256(old).hexdigest()
    (folder / "verifier" / "score.json").write_text(json.dumps({"gold_digest": digest}))
    before = grade_job(job, tasks)
    assert (before.gold_changed, before.trials[0].value("verdict")) == (0, 1.0)
    shutil.rmtree(tasks)
    write_tasks(tasks, [task_gold(ONE, "no")])
    after = grade_job(job, tasks)
    assert (after.gold_changed, after.trials[0].value("verdict")) == (1, 0.0)
    assert after.gold_digest != before.gold_digest
    assert after.summary["job"]["gold_changed_since_run"] == 1


def test_nothing_in_the_job_is_changed(job: Path, tasks: Path) -> None:
    write_trial(job, ONE)
    before = {path: path.read_bytes() for path in job.rglob("*") if path.is_file()}
    assert grade_job(job, tasks).trials
    assert {path: path.read_bytes() for path in job.rglob("*") if path.is_file()} == before


def test_an_answer_to_another_version_of_the_task_cannot_be_graded(job: Path, tasks: Path) -> None:
    write_plan(job, [ONE], ["oracle"])
    write_trial(job, ONE)
    manifest = json.loads((tasks / "manifest.json").read_text())
    manifest["tasks"][ONE]["agent_digest"] = "sha256:changed"
    (tasks / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(JobError, match="is another one, as its agent saw it"):
        grade_job(job, tasks)


def test_the_copy_of_another_systems_audit_kills_both_trials(job: Path, tasks: Path) -> None:
    lines = audit(call("lab:1"), task=ONE)
    write_trial(job, ONE)
    write_trial(job, ONE, "copycat", lines=[line.replace(":", ": ", 1) for line in lines])
    write_trial(job, ONE, "idle", lines=audit(task=ONE))
    write_trial(job, ONE, "idle-too", lines=audit(task=ONE))
    causes = {trial.system: trial.cause for trial in grade_job(job, tasks).trials}
    assert causes == {
        "oracle": f"its audit is also that of {ONE}__copycat",
        "copycat": f"its audit is also that of {ONE}__oracle",
        "idle": None,
        "idle-too": None,
    }


def test_a_second_try_slipped_into_a_job_stops_the_grading(job: Path, tasks: Path) -> None:
    write_plan(job, [ONE, TWO], ["oracle"])
    write_trial(job, ONE)
    write_trial(job, ONE, name=f"{ONE}__again")
    with pytest.raises(JobError, match=f"and so does {ONE}__again"):
        grade_job(job, tasks)


@pytest.mark.parametrize("said", [{"task_name": THREE}, {"agent_info": {"name": "another"}}])
def test_a_trial_that_the_job_did_not_plan_stops_the_grading(
    job: Path, tasks: Path, said: dict[str, object]
) -> None:
    write_plan(job, [ONE, TWO], ["oracle"])
    write_trial(job, ONE, result=said)
    with pytest.raises(JobError, match=f"did not plan trial {ONE}__oracle"):
        grade_job(job, tasks)


def test_a_trial_of_an_unknown_task_is_an_error(job: Path, tasks: Path) -> None:
    write_trial(job, "05-lactate-ffffffffffff")
    with pytest.raises(JobError, match="has a trial of task 05-lactate-ffffffffffff"):
        grade_job(job, tasks)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "gold.json is missing"),
        ("{", "its gold is damaged"),
        (json.dumps(task_gold(ONE, requirements=[])), "its gold is damaged: requirements: empty"),
        (json.dumps(task_gold(TWO)), f"its gold is that of {TWO}"),
        (json.dumps(task_gold(ONE, "no")), "its gold is not as it was built"),
    ],
)
def test_damaged_gold_stops_the_grading(job: Path, tasks: Path, content: str | None, says: str) -> None:
    write_trial(job, ONE)
    gold = tasks / ONE / "tests" / "gold.json"
    gold.unlink()
    if content is not None:
        gold.write_text(content)
    with pytest.raises(TaskError, match=says) as caught:
        grade_job(job, tasks)
    assert caught.value.remedy


def test_a_folder_that_is_no_tasks_folder_or_an_empty_job_is_an_error(job: Path, tasks: Path) -> None:
    with pytest.raises(JobError, match="holds no trials"):
        grade_job(job, tasks)
    with pytest.raises(TaskError, match=r"manifest\.json cannot be read"):
        grade_job(job, job)


def test_progress_is_told(job: Path, tasks: Path) -> None:
    write_trial(job, ONE)
    write_trial(job, TWO)
    told: list[tuple[int, int]] = []
    grade_job(job, tasks, lambda done, everything: told.append((done, everything)))
    assert told == [(1, 2), (2, 2)]


def test_a_report_that_an_agent_swapped_for_a_link_is_a_bad_report(job: Path, tasks: Path) -> None:
    folder = write_trial(job, ONE, report=None)
    (job / "elsewhere.md").write_text(RIGHT)
    (folder / "artifacts" / "workspace" / "report.md").symlink_to(job / "elsewhere.md")
    [trial] = grade_job(job, tasks).trials
    assert trial.score is not None
    assert trial.score["outcome"] == "bad_report"
