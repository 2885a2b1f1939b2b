"""What became of one trial, as one flat JSON object."""

import json
from pathlib import Path
from typing import Any

from harness.errors import JobError
from harness.job import Job
from harness.scoring.files import read_file
from harness.stats.summary import RULE_DERIVED
from harness.taskset import Task
from harness.trial import MAX_RECORD, Trial, read_trial


def read_case(job: Path, task: Task, tag: str) -> dict[str, Any]:
    """The status of a whole trial, who ran it, and how it was scored; `graded` is false if it is dead.

    `label` and `clinician_reviewed` say what the gold is worth. JobError if the trial's record is not one of a
    trial, or if it was scored against another gold.
    """
    folder = Job(job).trial(task.id, tag)
    trial = read_trial(job, folder.name)
    if trial.gold_digest not in (None, task.entry.gold_digest):
        raise JobError(
            f"job {job.name}: the gold of task {task.id} has changed since {folder.name} was scored",
            f"score the job anew with `harness grade {job}`, or give the run a new --job-name",
        )
    label = task.gold()["label"]
    worth = {"label": label, "clinician_reviewed": label != RULE_DERIVED}
    try:
        return _case(folder, task.id, trial, _record(job, folder.name)) | worth
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise JobError(
            f"{folder / 'result.json'} is no record of a trial", "move the trial away and run it again"
        ) from error


def _record(job: Path, name: str) -> Any:
    return json.loads(read_file(job, name, "result.json", cap=MAX_RECORD).data or b"")


def _case(folder: Path, task_id: str, trial: Trial, result: Any) -> dict[str, Any]:
    agent, raised = result["agent_info"], result["exception_info"]
    model = agent.get("model_info") or {}
    rewards = (result["verifier_result"] or {}).get("rewards")
    return {
        "status": trial.status,
        "trial_dir": str(folder),
        "task_id": task_id,
        "model_name": model.get("name"),
        "agent_name": agent["name"],
        "agent_version": agent["version"],
        "exception_type": raised["exception_type"] if raised else None,
        "task_checksum": result["task_checksum"],
        "graded": trial.status != "dead",
        "grading": rewards if trial.status != "dead" else None,
    }
