"""Small hand-made jobs and tasks folders, laid out as Harbor and the builder lay them out."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.harness.scoring.casebook import audit, call, gold, write_trial_parts

RIGHT = "## Answer: YES\n\nThe lactate was measured again [lab:1].\n"


def write_tasks(folder: Path, golds: Sequence[dict[str, Any]], **clusters: str) -> Path:
    """A tasks folder with these golds."""
    tasks = {}
    for data in golds:
        tests = folder / data["task"] / "tests"
        tests.mkdir(parents=True)
        text = json.dumps(data)
        (tests / "gold.json").write_text(text)
        tasks[data["task"]] = {
            "scenario": data["scenario"],
            "cluster": clusters.get(data["task"], f"subject of {data['task']}"),
            "agent_digest": "sha256:agent",
            "gold_digest": f"sha256:{sha256(text.encode()).hexdigest()}",
            "plan_digest": "sha256:plan",
            "rest_digest": "sha256:rest",
        }
    manifest = {"tasks": tasks, "store": "f", "classification": "synthetic", "release": "3.1"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def task_gold(task: str, verdict: str = "yes", **more: Any) -> dict[str, Any]:
    return gold(verdict, **({"task": task, "scenario": task.rpartition("-")[0]} | more))


def write_trial(
    job: Path,
    task: str,
    system: str = "oracle",
    *,
    name: str | None = None,
    report: str | None = RIGHT,
    lines: Sequence[str] | None = None,
    rewards: dict[str, float] | None = None,
    raised: str | None = None,
    result: dict[str, Any] | None = None,
) -> Path:
    """A trial's folder."""
    folder = job / (name or f"{task}__{system}")
    write_trial_parts(folder, report, lines if lines is not None else audit(call("lab:1"), task=task))
    error = {"exception_type": "AgentTimeoutError", "exception_message": raised} if raised else None
    record = {
        "task_name": task,
        "agent_info": {"name": system, "version": "1", "model_info": None},
        "agent_result": {"metadata": {"attempts": 1}},
        "verifier_result": {"rewards": {"reward": 1.0} if rewards is None else rewards},
        "exception_info": error,
    }
    (folder / "result.json").write_text(json.dumps(record | (result or {})))
    return folder


def write_plan(job: Path, tasks: Sequence[str], systems: Sequence[str]) -> None:
    """A job's configuration, as far as grading reads it."""
    plan = {
        "tasks": dict.fromkeys(tasks, "sha256:agent"),
        "systems": {tag: {"tag": tag, "instrument": True, "about": f"about {tag}"} for tag in systems},
    }
    (job / "config.json").write_text(json.dumps({"job_name": job.name, "clinicare": plan}))
