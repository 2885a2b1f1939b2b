import os
from pathlib import Path
from typing import Any

import pytest

from harness.errors import JobError
from harness.trial import find_trials, read_trial
from tests.harness.jobs import RIGHT, write_trial
from tests.harness.scoring.casebook import audit, call

TASK = "05-lactate-000000000001"
NAME = f"{TASK}__oracle"


def test_a_whole_trial_is_ok_and_gives_its_parts(tmp_path: Path) -> None:
    write_trial(tmp_path, TASK)
    trial = read_trial(tmp_path, NAME)
    assert (trial.task, trial.system, trial.status, trial.cause) == (TASK, "oracle", "ok", None)
    assert trial.report.data == RIGHT.encode()
    assert trial.submission.missing


def test_an_agent_that_raised_over_a_sealed_result_is_an_agent_error(tmp_path: Path) -> None:
    write_trial(tmp_path, TASK, raised="too\n late \x1b[31m")
    trial = read_trial(tmp_path, NAME)
    assert (trial.status, trial.cause) == ("agent_error", "AgentTimeoutError: too late [31m")


def test_an_exception_of_a_step_is_one_of_the_trial(tmp_path: Path) -> None:
    step = {"exception_info": {"exception_type": "E", "exception_message": "m" * 9999}}
    write_trial(tmp_path, TASK, result={"step_results": [{}, step]})
    trial = read_trial(tmp_path, NAME)
    assert trial.status == "agent_error"
    assert len(str(trial.cause)) == 300


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        ({"rewards": {}}, "no verifier result"),
        ({"result": {"verifier_result": None}}, "no verifier result"),
        ({"rewards": {}, "raised": "boom"}, "AgentTimeoutError: boom"),
        ({"lines": audit(call("lab:1"), task=TASK, seal=False)}, "the audit cannot be trusted: no seal"),
        ({"lines": []}, "the audit cannot be trusted: line 1 is not JSON"),
        ({"lines": ["\udcff"]}, "the audit cannot be trusted: line 1 is not JSON"),
    ],
)
def test_without_a_verifier_result_or_a_seal_a_trial_is_dead(
    tmp_path: Path, options: dict[str, Any], cause: str
) -> None:
    lines = options.pop("lines", None)
    folder = write_trial(tmp_path, TASK, **options)
    if lines is not None:
        text = "\n".join(lines).encode("utf-8", "surrogateescape")
        (folder / "artifacts" / "audit" / "audit.jsonl").write_bytes(text)
    trial = read_trial(tmp_path, NAME)
    assert (trial.status, trial.cause) == ("dead", cause)


def test_a_missing_audit_and_a_missing_or_broken_result_are_deaths(tmp_path: Path) -> None:
    folder = write_trial(tmp_path, TASK)
    (folder / "artifacts" / "audit" / "audit.jsonl").unlink()
    assert read_trial(tmp_path, NAME).cause == "the audit is missing"
    for content in ("{", "[]", "[" * 100_000):
        (folder / "result.json").write_text(content)
        trial = read_trial(tmp_path, NAME)
        assert (trial.status, trial.task, trial.system) == ("dead", TASK, "oracle")
        assert trial.cause == "the trial did not end (no readable result.json)"


def test_without_a_result_the_configuration_still_names_task_and_system(tmp_path: Path) -> None:
    folder = tmp_path / "cut-name__x7Yz"
    folder.mkdir()
    (folder / "config.json").write_text('{"task": {"path": "/tasks/05-b-1/"}, "agent": {"name": "codex"}}')
    trial = read_trial(tmp_path, folder.name)
    assert (trial.task, trial.system, trial.status) == ("05-b-1", "codex", "dead")


def test_a_model_is_part_of_the_systems_name(tmp_path: Path) -> None:
    info = {"agent_info": {"name": "codex", "version": "1", "model_info": {"name": "m-1"}}}
    write_trial(tmp_path, TASK, result=info | {"task_name": f"org/{TASK}"})
    trial = read_trial(tmp_path, NAME)
    assert (trial.task, trial.system) == (TASK, "codex@m-1")


def test_trials_are_the_folders_with_a_trials_name(tmp_path: Path) -> None:
    write_trial(tmp_path, TASK)
    (tmp_path / f".{NAME}.12.partial").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "file__x").write_text("")
    (tmp_path / "link__x").symlink_to(tmp_path / NAME)
    assert find_trials(tmp_path) == [NAME, "link__x"]


def test_a_job_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="is not a job's folder"):
        find_trials(tmp_path / "none")


def test_a_trial_folder_that_is_a_link_is_dead_and_not_opened(tmp_path: Path) -> None:
    write_trial(tmp_path / "elsewhere", TASK)
    job = tmp_path / "job"
    job.mkdir()
    (job / NAME).symlink_to(tmp_path / "elsewhere" / NAME)
    trial = read_trial(job, NAME)
    assert (trial.status, trial.cause) == ("dead", "the trial's folder is a link")
    assert trial.report.missing


def test_links_and_pipes_that_an_agent_left_are_bad_reports_and_not_followed(tmp_path: Path) -> None:
    folder = write_trial(tmp_path, TASK)
    report = folder / "artifacts" / "workspace" / "report.md"
    secret = tmp_path / "secret.md"
    secret.write_text(RIGHT)
    report.unlink()
    report.symlink_to(secret)
    assert read_trial(tmp_path, NAME).report.problem
    report.unlink()
    os.mkfifo(report)
    assert read_trial(tmp_path, NAME).report.problem
    report.unlink()
    report.parent.rmdir()
    report.parent.symlink_to(tmp_path)
    assert read_trial(tmp_path, NAME).report.problem


def test_a_forged_audit_behind_a_link_is_no_audit(tmp_path: Path) -> None:
    folder = write_trial(tmp_path, TASK)
    audit_file = folder / "artifacts" / "audit" / "audit.jsonl"
    audit_file.rename(tmp_path / "good.jsonl")
    audit_file.symlink_to(tmp_path / "good.jsonl")
    assert read_trial(tmp_path, NAME).status == "dead"
