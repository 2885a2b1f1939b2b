"""What a run in containers makes of trials that die, of an engine that goes away and of a disk that fills."""

import errno
import json
import logging
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.containers import trials
from harness.containers.leftovers import job_prefix, remove_leftovers, trial_name
from harness.containers.trials import run_trials
from harness.errors import EngineError, RunError
from harness.job import Job, Setting
from harness.readers import parse_readers
from harness.systems import HarborAgent, System
from tests.harness.containers.fake_engine import KINDS, FakeEngine
from tests.harness.containers.fake_trial import SCORED, Act, FakeTrial
from tests.harness.tiny import GOLDS, TinyWorld

FIRST, SECOND = sorted(GOLDS)
NOTHING: dict[str, set[str]] = {kind: set() for kind in KINDS}
SYSTEM = System(tag="fake", about="for tests", harbor=HarborAgent(agent="oracle"))


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    engine = FakeEngine(tmp_path / "engine")
    monkeypatch.setenv("PATH", str(engine.folder), prepend=os.pathsep)
    return engine


class Stage(NamedTuple):
    """Where trials are played: `run` plays the acts on tasks, one trial at a time unless told otherwise."""

    job: Path
    run: Callable[..., None]

    def record(self, task: str) -> dict[str, Any]:
        """The record of the task's trial."""
        record: dict[str, Any] = json.loads((self.job / f"{task}__fake" / "result.json").read_bytes())
        return record

    def metadata(self, task: str) -> tuple[int, list[str]]:
        """How often the task was tried, and of what the tries before the last one died."""
        metadata = self.record(task)["agent_result"]["metadata"]
        return metadata["attempts"], metadata["earlier_causes"]

    def entries(self) -> list[str]:
        """Of the job's folder."""
        return sorted(path.name for path in self.job.iterdir())


@pytest.fixture
def stage(
    tiny: TinyWorld, tmp_path: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    job = tmp_path / "jobs" / "first"
    job.mkdir(parents=True)
    monkeypatch.setattr(trials, "Trial", FakeTrial)

    def run(*acts: Act, tasks: Sequence[str] = (FIRST,), concurrency: int = 1) -> None:
        FakeTrial.plays, FakeTrial.began = iter(acts), []
        done: list[str] = []
        setting = Setting(tiny.tasks, tiny.store, job)
        run_trials(setting, [(task, SYSTEM) for task in tasks], concurrency, partial(done.append, "one"))
        assert len(done) == len(tasks)

    yield Stage(job, run)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (None, [{"model": "none", "agreement": "no model reads this"}]),
        ("maker/m", [{"model": "maker/m", "agreement": "a=b"}]),
    ],
)
def test_the_chart_server_is_told_its_policies_and_who_of_the_named_reads(
    stage: Stage, tiny: TinyWorld, tmp_path: Path, model: str | None, said: list[dict[str, str]]
) -> None:
    FakeTrial.plays, FakeTrial.began = iter(["ok"]), []
    system = SYSTEM.model_copy(update={"harbor": HarborAgent(agent="oracle", model=model)})
    named = parse_readers(["maker/other=c", "maker/m=a=b"])
    setting = Setting(tiny.tasks, tiny.store, stage.job, tmp_path / "policies", named)
    run_trials(setting, [(FIRST, system)], 1, lambda: None)
    told = stage.record(FIRST)["config"]["environment"]["kwargs"]
    assert told["corpus"] == str(tmp_path / "policies")
    assert json.loads(told["readers"]) == said


def test_a_trial_that_is_scored_is_tried_once(stage: Stage) -> None:
    stage.run("ok", "agent_error", tasks=(FIRST, SECOND))
    assert stage.entries() == [f"{FIRST}__fake", f"{SECOND}__fake"]
    assert stage.metadata(FIRST) == stage.metadata(SECOND) == (1, [])
    assert stage.record(FIRST)["exception_info"] is None
    assert stage.record(SECOND)["exception_info"]["exception_type"] == "RuntimeError"
    assert stage.record(SECOND)["verifier_result"]["rewards"] == SCORED


@pytest.mark.parametrize("death", ["no_chart", "killed"])
def test_a_trial_that_lost_a_container_is_tried_again(stage: Stage, death: str) -> None:
    stage.run(death, "ok")
    assert stage.metadata(FIRST) == (2, ["EnvironmentLostError"])
    assert stage.record(FIRST)["verifier_result"]["rewards"] == SCORED


def test_a_trial_is_dead_after_three_tries_and_says_of_what_the_last_one_died(stage: Stage) -> None:
    stage.run("killed", "dead", "no_chart")
    assert stage.metadata(FIRST) == (3, ["EnvironmentLostError"])
    assert stage.record(FIRST)["verifier_result"] is None
    assert stage.record(FIRST)["exception_info"]["exception_message"] == "no chart server"


def test_what_is_kept_is_the_last_try_under_the_trials_own_name(stage: Stage) -> None:
    stage.run("dead", "ok")
    folder = stage.job / f"{FIRST}__fake"
    assert (folder / "artifacts" / "attempt.txt").read_text() == FakeTrial.began[1] != FakeTrial.began[0]
    record, config = stage.record(FIRST), json.loads((folder / "config.json").read_bytes())
    assert record["config"] == config
    assert record["trial_name"] == config["trial_name"] == folder.name
    assert record["trial_uri"] == folder.as_uri()
    assert config["trials_dir"] == str(stage.job)
    assert record["agent_result"]["metadata"]["runner"] == "docker"
    assert not list(folder.parent.glob(".*"))


def test_no_two_trials_have_one_name_on_the_engine(stage: Stage, tmp_path: Path) -> None:
    stage.run("dead", "dead", "ok", "ok", tasks=(FIRST, SECOND))
    assert len(set(FakeTrial.began)) == len(FakeTrial.began)
    assert all(name.startswith(job_prefix(stage.job)) for name in FakeTrial.began)
    same_name_elsewhere = tmp_path / "others" / stage.job.name
    assert not trial_name(same_name_elsewhere).startswith(job_prefix(stage.job))


def test_an_engine_that_goes_away_ends_the_run_and_is_no_trials_death(
    stage: Stage, engine: FakeEngine
) -> None:
    with pytest.raises(RunError, match=r"^the container engine went away") as caught:
        stage.run("ok", engine.go_away, tasks=(FIRST, SECOND))
    assert "run the same command again" in caught.value.remedy
    assert stage.entries() == [f"{FIRST}__fake"]
    engine.come_back()
    stage.run("ok", tasks=(SECOND,))
    assert stage.metadata(SECOND) == (1, [])


def test_an_engine_that_goes_away_ends_the_trials_that_run_beside(stage: Stage, engine: FakeEngine) -> None:
    with pytest.raises(RunError, match=r"^the container engine went away"):
        stage.run("waits", engine.go_away, tasks=(FIRST, SECOND), concurrency=2)
    assert stage.entries() == []


def test_an_engine_that_is_gone_is_told_while_every_trial_still_waits_for_it(
    stage: Stage, engine: FakeEngine
) -> None:
    def go_away_later() -> None:
        while len(FakeTrial.began) < 2:
            time.sleep(0.01)
        engine.go_away()

    FakeTrial.began = []
    threading.Thread(target=go_away_later, daemon=True).start()
    with pytest.raises(RunError, match=r"^the container engine went away: no Docker engine answers at "):
        stage.run("waits", "waits", tasks=(FIRST, SECOND), concurrency=2)
    assert stage.entries() == []


def test_an_exception_is_a_line_in_a_trials_log(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    def fail_to_collect() -> None:
        error = RuntimeError("/workspace/report.md cannot be copied:\nno such path")
        logging.getLogger("harbor.fake").debug("Failed to download '%s'\n", "report.md", exc_info=error)

    with caplog.at_level(logging.DEBUG, "harbor.fake"):
        stage.run(fail_to_collect, "ok")
    (record,) = caplog.records
    said = (
        "Failed to download 'report.md' : RuntimeError: /workspace/report.md cannot be copied: no such path"
    )
    assert (record.getMessage(), record.exc_info) == (said, None)


def test_an_engine_that_is_back_at_once_costs_one_try(stage: Stage, engine: FakeEngine) -> None:
    def restart() -> None:
        engine.go_away()
        engine.come_back()

    stage.run(restart, "ok")
    assert stage.metadata(FIRST)[0] == 2


def test_a_run_without_an_engine_does_not_begin(stage: Stage, engine: FakeEngine) -> None:
    engine.go_away()
    with pytest.raises(EngineError, match="no Docker engine answers"):
        stage.run("ok")
    assert FakeTrial.began == []


def test_a_disk_that_fills_ends_the_run_in_one_error_however_many_trials_saw_it(stage: Stage) -> None:
    def full() -> OSError:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(RunError, match="cannot be written to: No space left on device") as caught:
        stage.run(full(), full(), tasks=(FIRST, SECOND), concurrency=2)
    assert "run the same command again" in caught.value.remedy
    assert stage.entries() == []


def test_a_disk_with_no_room_for_a_trial_is_no_trials_death(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(stage.job)._replace(free=3 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    with pytest.raises(RunError, match="the disk is full: 3 MB are free"):
        stage.run("dead")
    assert stage.entries() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_end_ends_all_trials_and_keeps_the_whole_ones(
    stage: Stage, engine: FakeEngine, number: signal.Signals
) -> None:
    def send() -> None:
        engine.add(FakeTrial.began[-1])
        os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        stage.run("ok", send, tasks=(FIRST, SECOND))
    assert stage.entries() == [f"{FIRST}__fake"]
    assert engine.names() == NOTHING


def test_a_run_that_hangups_do_not_reach_goes_on(stage: Stage) -> None:
    """As under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stage.run(lambda: os.kill(os.getpid(), signal.SIGHUP), "ok")
    assert stage.metadata(FIRST)[0] == 2


def test_what_runs_of_the_job_left_is_removed_and_nothing_else(stage: Stage, engine: FakeEngine) -> None:
    mine = job_prefix(stage.job)
    others = {f"x{mine}1", "clinicare-00000000-1", "clinicare-doctor-1", "somebodys"}
    engine.add(f"{mine}1__env-main-1", f"{mine}2__verifier__trial-main-1", *others)
    stage.run(lambda: engine.add(f"{mine}3__env-mimic-1"), "ok")
    assert engine.names() == dict.fromkeys(KINDS, others)


def test_a_removal_that_another_command_was_faster_with_is_no_failure(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.containers.leftovers._PAUSE", 0)
    engine.add(trial_name(tmp_path))
    engine.refuse_removals(2)
    remove_leftovers(tmp_path)
    assert engine.names() == NOTHING


def test_what_cannot_be_removed_is_told(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.containers.leftovers._PATIENCE", 0)
    monkeypatch.setattr("harness.containers.leftovers._PAUSE", 0)
    engine.add(trial_name(tmp_path))
    engine.refuse_removals(1000)
    with pytest.raises(EngineError, match="docker container failed: Error: No such container"):
        remove_leftovers(tmp_path)


def test_of_two_runs_that_ran_the_same_trial_the_first_one_stands(stage: Stage, tiny: TinyWorld) -> None:
    stage.run("ok")
    before = (stage.job / f"{FIRST}__fake" / "result.json").read_bytes()
    stage.run("agent_error")
    assert (stage.job / f"{FIRST}__fake" / "result.json").read_bytes() == before
    assert Job(stage.job).is_done(FIRST, "fake")


def test_what_harbor_or_an_agent_raises_is_one_error_with_its_cause(stage: Stage) -> None:
    raised = ExceptionGroup("of ours", [ExceptionGroup("of Harbor's", [ValueError("no such\noption")])])
    with pytest.raises(RunError) as caught:
        stage.run(raised, "ok", tasks=(FIRST, SECOND), concurrency=2)
    assert caught.value.message == "a trial could not be run: ValueError: no such option"
    assert "run the same command again" in caught.value.remedy
