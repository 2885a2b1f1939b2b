"""Claude Code in containers, driven by a scripted model: a whole trial, and trials that fail in every part.

What Claude Code does in this image, and what that means for a trial, is in docs/containers.md.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cli import run
from harness.digests import digest_files, task_files
from tests.containers.claude_code import KEY, TAG, answering_script, write_system, writing_steps
from tests.containers.conftest import Ward
from tests.containers.scripted_model.server import Step
from tests.harness.calls import as_logged, called, logged

# Harbor warns of its own use of it
pytestmark = pytest.mark.filterwarnings("ignore:Task.checksum:DeprecationWarning")

GONE = {
    "never starts": {"command": ["no-such-command"]},
    "looks healthy": {
        "entrypoint": ["sleep", "600"],
        "command": [],
        "healthcheck": {"test": ["CMD", "true"]},
    },
}
"""Chart servers that are not there: the trial cannot start, or the agent starts and finds no tools."""

DIES = {
    "entrypoint": [
        "bash", "-c",
        'mcp-mimic "$$@" & until [ "$$(wc -l </audit/audit.jsonl)" -ge 2 ]; do sleep 0.05; done; kill -9 $$!',
        "mcp-mimic",
    ]
}  # fmt: skip
"""A chart server that is killed once it has noted its first call."""


@pytest.fixture(scope="module")
def task(ward: Ward) -> Path:
    """A task whose answer rests on rows and on an absence."""
    plans = {
        ward.tasks / task_id: (ward.tasks / task_id / "solution" / "plan.tsv").read_text()
        for task_id in ward.task_ids
    }
    return next(folder for folder, plan in plans.items() if "\nrows\t" in plan and "\nabsence\t" in plan)


class Cases:
    """Runs `harness case` on the task, and reads what it prints and leaves."""

    def __init__(self, ward: Ward, task: Path, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self._ward, self._task, self._folder, self._capfd = ward, task, folder, capfd

    def case(
        self,
        script: list[Step],
        *,
        chart_server: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        systems = write_system(self._folder, script, environment=environment)
        tasks = self._tasks_with(chart_server) if chart_server else self._ward.tasks
        place = ["--tasks", str(tasks), "--store", str(self._ward.store)]
        job = ["--jobs-dir", str(self._folder / "jobs"), "--job-name", "job"]
        chosen = ["--system", TAG, "--systems-file", str(systems), "--task-id", self._task.name]
        assert run(["case", *chosen, *place, *job]) == 0
        (line,) = self._capfd.readouterr().out.splitlines()
        told: dict[str, Any] = json.loads(line)
        return told

    def _tasks_with(self, chart_server: Mapping[str, Any]) -> Path:
        """The task alone, as if it had been built with another chart server, in a folder of its own."""
        tasks = self._folder / "tasks"
        shutil.copytree(self._task, tasks / self._task.name)
        file = tasks / self._task.name / "environment" / "docker-compose.yaml"
        compose = yaml.safe_load(file.read_bytes())
        service = compose["services"]["mimic"]
        healthcheck = service["healthcheck"] | chart_server.get("healthcheck", {})
        compose["services"]["mimic"] = {**service, **chart_server, "healthcheck": healthcheck}
        file.write_text(json.dumps(compose), encoding="utf-8")
        manifest = json.loads((self._ward.tasks / "manifest.json").read_bytes())
        entry = manifest["tasks"][self._task.name]
        entry |= digest_files(task_files(tasks / self._task.name))
        manifest["tasks"] = {self._task.name: entry}
        (tasks / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        return tasks


@pytest.fixture
def cases(ward: Ward, task: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Cases:
    return Cases(ward, task, tmp_path, capfd)


def _record(told: Mapping[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((Path(told["trial_dir"]) / "result.json").read_bytes())
    return record


def _report(told: Mapping[str, Any]) -> str:
    return (Path(told["trial_dir"]) / "artifacts" / "workspace" / "report.md").read_text()


def _first_call(task: Path) -> Step:
    return answering_script(task)[0]


def test_a_task_is_solved_over_mcp_with_the_evidence_that_came_back(cases: Cases, task: Path) -> None:
    told = cases.case(answering_script(task))
    assert (told["status"], told["graded"], told["exception_type"]) == ("ok", True, None)
    assert (told["agent_name"], told["agent_version"]) == ("claude-code", "2.1.332")
    assert told["model_name"] == "scripted"
    assert told["grading"] == {
        "reward": 1, "verdict": 1, "supported": 1, "evidence_recall": 1, "citation_precision": 1,
    }  # fmt: skip
    assert _record(told)["agent_result"]["metadata"]["attempts"] == 1

    trial = Path(told["trial_dir"])
    audit = trial / "artifacts" / "audit" / "audit.jsonl"
    assert json.loads(audit.read_text().splitlines()[-1])["sealed"]
    noted = logged(audit)
    assert noted
    assert as_logged(called(trial / "agent" / "trajectory.json", prefix="mcp__mimic__"), noted) == noted
    with_the_key = [path for path in trial.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert with_the_key == []


@pytest.mark.parametrize("way", GONE)
def test_without_a_chart_server_a_trial_is_dead_and_no_answer_is_wrong(
    cases: Cases, task: Path, way: str
) -> None:
    told = cases.case([_first_call(task), *writing_steps("## Answer: NO\n")], chart_server=GONE[way])
    assert (told["status"], told["graded"], told["grading"]) == ("dead", False, None)
    metadata = _record(told)["agent_result"]["metadata"]
    assert metadata["attempts"] == 3
    assert metadata["earlier_causes"] == [told["exception_type"]] * 2


def test_a_chart_server_that_dies_midway_ends_the_agent_and_kills_the_trial(cases: Cases, task: Path) -> None:
    forever = "until [ -e /workspace/never ]; do sleep 1; done"  # it refuses to run a sleep alone
    wait: Step = {"tool": "Bash", "input": {"command": forever, "description": "wait"}}
    told = cases.case(
        [_first_call(task), wait, *writing_steps("## Answer: NO\n")],
        chart_server=DIES,
    )
    assert (told["status"], told["graded"], told["grading"]) == ("dead", False, None)
    assert told["exception_type"] == "EnvironmentLostError"
    assert _record(told)["agent_result"]["metadata"]["attempts"] == 3


@pytest.mark.parametrize("status", [429, 500])
def test_what_the_provider_is_said_to_refuse_is_an_agents_error_and_no_second_try(
    cases: Cases, task: Path, status: int
) -> None:
    refusal: Step = {"error": status, "message": "rate limit exceeded"}
    told = cases.case([_first_call(task), refusal], environment={"CLAUDE_CODE_MAX_RETRIES": "0"})
    assert (told["status"], told["graded"]) == ("agent_error", True)
    assert told["exception_type"]
    assert told["grading"]["verdict"] == 0
    metadata = _record(told)["agent_result"]["metadata"]
    assert (metadata["attempts"], metadata["earlier_causes"]) == (1, [])
