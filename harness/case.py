"""What became of one trial, as one flat JSON object."""

import json
from pathlib import Path
from typing import Any

from harness.job import Job
from harness.trial import read_trial


def read_case(job: Path, task_id: str, tag: str) -> dict[str, Any]:
    """The status of a whole trial, who ran it, and how it was scored; `graded` is false if it is dead."""
    folder = Job(job).trial(task_id, tag)
    trial = read_trial(job, folder.name)
    result = json.loads((folder / "result.json").read_bytes())
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
