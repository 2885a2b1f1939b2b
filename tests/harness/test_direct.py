"""A direct trial: the same server and scoring as in containers, and a folder as Harbor writes it."""

import json
import resource
import shutil
from pathlib import Path

import pytest
from harbor.models.trajectories import Trajectory
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult

from harness.direct import Batch, DirectRunner
from harness.errors import RunError, TaskError
from harness.job import Setting
from harness.record import folder_checksum
from harness.systems import System, load_systems
from harness.trial import read_trial
from mcp_mimic.contract import read_audit
from tests.harness.tiny import TinyWorld

YES_TASK = "05-tiny-00000000aaaa"
NO_TASK = "05-tiny-00000000bbbb"


def _system(name: str) -> System:
    return System(tag=name.lower(), agent=f"tests.harness.direct_agents:{name}", about="for tests")


def _trial(tiny: TinyWorld, job: Path, system: System, task: str = YES_TASK) -> Path:
    DirectRunner(Setting(tiny.tasks, tiny.store, job)).run(Batch(task, (system,)))
    return job / f"{task}__{system.tag}"


def _result(trial: Path) -> TrialResult:
    return TrialResult.model_validate_json((trial / "result.json").read_bytes())


def _score(trial: Path) -> dict[str, object]:
    score: dict[str, object] = json.loads((trial / "verifier" / "score.json").read_bytes())
    return score


@pytest.mark.parametrize("task", [YES_TASK, NO_TASK])
def test_the_oracle_leaves_a_whole_trial_with_every_axis_full(
    tiny: TinyWorld, tmp_path: Path, task: str
) -> None:
    trial = _trial(tiny, tmp_path, load_systems()["oracle"], task)
    files = {path.relative_to(trial).as_posix() for path in trial.rglob("*") if path.is_file()}
    assert files == {
        "config.json",
        "result.json",
        "agent/trajectory.json",
        "artifacts/workspace/report.md",
        "artifacts/audit/audit.jsonl",
        "verifier/reward.json",
        "verifier/score.json",
    }
    result = _result(trial)
    assert result.verifier_result.rewards == {
        "reward": 1.0,
        "verdict": 1.0,
        "supported": 1.0,
        "evidence_recall": 1.0,
        "citation_precision": 1.0,
    }
    assert result.exception_info is None
    assert result.task_checksum == folder_checksum(tiny.tasks / task)
    assert result.agent_info.name == "oracle"
    assert result.agent_result.metadata["instrument"] is True
    assert result.agent_execution.started_at <= result.agent_execution.finished_at
    assert TrialConfig.model_validate_json((trial / "config.json").read_bytes()) == result.config


def test_the_trajectory_tells_the_calls_of_the_audit_in_its_order(tiny: TinyWorld, tmp_path: Path) -> None:
    trial = _trial(tiny, tmp_path, _system("Careless"))
    trajectory = Trajectory.model_validate_json((trial / "agent" / "trajectory.json").read_bytes())
    told = [call for step in trajectory.steps for call in step.tool_calls or ()]
    audit = read_audit((trial / "artifacts" / "audit" / "audit.jsonl").read_text().splitlines())
    assert audit.sealed
    assert [call.function_name for call in told] == [call["tool"] for call in audit.calls]
    assert [call["outcome"] for call in audit.calls] == ["ok", "error", "error", "error", "ok"]
    observed = [step.observation.results[0].content for step in trajectory.steps if step.observation]
    assert all(f"search:{number}" in text for number, text in enumerate(observed, start=1))
    assert trajectory.steps[0].message == "Was lactate measured?\n"
    assert trajectory.steps[-1].message == "## Answer: YES\n"


def test_a_report_sent_with_the_tool_is_the_trials_report(tiny: TinyWorld, tmp_path: Path) -> None:
    trial = _trial(tiny, tmp_path, _system("Submits"))
    assert (trial / "artifacts" / "audit" / "report.md").read_text().startswith("## Answer: YES")
    assert not (trial / "artifacts" / "workspace" / "report.md").exists()
    assert _score(trial)["supported"] == 1.0


def test_an_agent_that_raises_is_an_agent_error_and_is_scored(tiny: TinyWorld, tmp_path: Path) -> None:
    trial = _trial(tiny, tmp_path, _system("Raises"))
    result = _result(trial)
    assert result.exception_info.exception_type == "RuntimeError"
    assert result.verifier_result.rewards["verdict"] == 0.0
    assert _score(trial)["outcome"] == "no_answer"
    assert result.agent_result.metadata["attempts"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "AsksWhatJsonCannotHold",
        "RaisesWhatUtf8CannotHold",
        "RaisesWhatCannotBeTold",
        "ReturnsNothing",
        "ReturnsANumber",
        "Exits",
        "CancelsItself",
    ],
)
def test_however_an_agent_breaks_it_is_wrong_and_not_dead_and_gets_no_second_try(
    tiny: TinyWorld, tmp_path: Path, name: str
) -> None:
    trial = _trial(tiny, tmp_path, _system(name))
    result = _result(trial)
    assert result.exception_info is not None
    assert result.agent_result.metadata["attempts"] == 1
    read = read_trial(tmp_path, trial.name)
    assert (read.status, read.task) == ("agent_error", YES_TASK)
    assert _score(trial)["outcome"] == "no_answer"


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("WritesWhatUtf8CannotHold", "bad_report"),
        ("WritesTooMuch", "bad_report"),
        ("AsksWhatUtf8CannotHold", "right"),
    ],
)
def test_what_no_file_can_hold_is_the_agents_mistake_and_scored(
    tiny: TinyWorld, tmp_path: Path, name: str, outcome: str
) -> None:
    trial = _trial(tiny, tmp_path, _system(name))
    assert read_trial(tmp_path, trial.name).status == "ok"
    assert _score(trial)["outcome"] == outcome
    assert sum(path.stat().st_size for path in trial.rglob("*") if path.is_file()) < 300_000
    Trajectory.model_validate_json((trial / "agent" / "trajectory.json").read_bytes())


def test_a_full_disk_ends_the_run_and_buries_no_trial(tiny: TinyWorld, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(RunError, match="the trials cannot be written: File too large"):
            _trial(tiny, tmp_path, _system("FillsTheDisk"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [path for path in tmp_path.iterdir() if not path.name.startswith(".")]


def test_a_trial_that_is_whole_is_not_run_a_second_time(tiny: TinyWorld, tmp_path: Path) -> None:
    trial = _trial(tiny, tmp_path, _system("Submits"))
    before = (trial / "result.json").read_bytes()
    assert _trial(tiny, tmp_path, _system("Submits")) == trial
    assert (trial / "result.json").read_bytes() == before


def test_an_agent_that_takes_too_long_is_stopped_and_scored(tiny: TinyWorld, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(tiny.tasks, tasks)
    (tasks / YES_TASK / "task.toml").write_text("[agent]\ntimeout_sec = 0.05\n")
    hurried = TinyWorld(tiny.store, tiny.fingerprint, tasks)
    result = _result(_trial(hurried, tmp_path / "job", _system("Sleeps")))
    assert result.exception_info.exception_type == "AgentTimeoutError"
    assert result.verifier_result.rewards["reward"] == 0.0


def test_a_trial_that_cannot_be_scored_is_dead_after_three_tries_with_its_cause(
    tiny: TinyWorld, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(tiny.tasks, tasks)
    (tasks / YES_TASK / "tests" / "gold.json").write_text('{"verdict": "perhaps"}')
    broken = TinyWorld(tiny.store, tiny.fingerprint, tasks)
    trial = _trial(broken, tmp_path / "job", load_systems()["always-yes"])
    result = _result(trial)
    assert result.verifier_result is None
    assert result.exception_info.exception_type == "GoldError"
    assert result.agent_result.metadata["attempts"] == 3
    assert result.agent_result.metadata["earlier_causes"] == ["GoldError", "GoldError"]
    assert not (trial / "verifier" / "reward.json").exists()


def test_nothing_half_made_is_left_beside_the_trials(tiny: TinyWorld, tmp_path: Path) -> None:
    trial = _trial(tiny, tmp_path, _system("Raises"))
    assert [path.name for path in tmp_path.iterdir()] == [trial.name]


def test_tasks_of_another_store_are_refused(tiny: TinyWorld, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(tiny.tasks, tasks)
    manifest = json.loads((tasks / "manifest.json").read_text())
    (tasks / "manifest.json").write_text(json.dumps(manifest | {"store": "sha256:another"}))
    other = TinyWorld(tiny.store, tiny.fingerprint, tasks)
    with pytest.raises(TaskError, match="built from another store"):
        _trial(other, tmp_path / "job", load_systems()["oracle"])
