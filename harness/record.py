"""A direct trial as Harbor records one: result.json and config.json by Harbor's own models."""

import traceback
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dirhash import dirhash
from harbor.models.agent.context import AgentContext
from harbor.models.task.id import LocalTaskId
from harbor.models.trial.config import AgentConfig, TaskConfig, TrialConfig
from harbor.models.trial.result import (
    AgentInfo,
    ExceptionInfo,
    TimingInfo,
    TrialResult,
)
from harbor.models.verifier.result import VerifierResult

from harness.place import Place
from harness.systems import System
from harness.taskset import Task
from harness.trajectory import readable
from harness.version import harness_version

MAX_TRIES = 3
"""One try and at most two more, when a trial died and its agent had no part in that."""

_MAX_MESSAGE = 4_000
_MAX_TRACEBACK = 20_000


@dataclass
class Phase:
    """When one phase of a trial began and ended, UTC."""

    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    finished: datetime | None = None

    def end(self) -> None:
        """The phase is over."""
        self.finished = datetime.now(UTC)

    def timing(self) -> TimingInfo:
        """As Harbor writes it."""
        return TimingInfo(started_at=self.started, finished_at=self.finished)


@dataclass(frozen=True)
class Attempt:
    """What one try came to. `error` is the agent's exception, or the cause of death if there are no rewards."""

    phases: Mapping[str, Phase]
    rewards: Mapping[str, float] | None
    error: ExceptionInfo | None


def describe_exception(error: BaseException) -> ExceptionInfo:
    """An exception as Harbor records it: whatever an agent put into it, short and fit for UTF-8."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an agent's exception may refuse to be told
        message = "(an exception without a message)"
    return shortened(
        ExceptionInfo(
            exception_type=type(error).__name__,
            exception_message=readable(message),
            exception_traceback=readable("".join(traceback.format_exception(error, limit=-50))),
            occurred_at=datetime.now(UTC),
        )
    )


def shortened(error: ExceptionInfo) -> ExceptionInfo:
    """The record of an exception, cut so that a trial's record is not too large to be read."""
    return error.model_copy(
        update={
            "exception_message": error.exception_message[:_MAX_MESSAGE],
            "exception_traceback": error.exception_traceback[-_MAX_TRACEBACK:],
        }
    )


def write_record(folder: Path, task: Task, system: System, trial: Path, attempts: Sequence[Attempt]) -> None:
    """Write config.json and result.json of the last attempt, the earlier ones named in its metadata.

    `folder` is where the trial is being written, `trial` where it will be.
    """
    last = attempts[-1]
    config = TrialConfig(
        task=TaskConfig(path=task.folder, source=task.folder.parent.name),
        trial_name=trial.name,
        trials_dir=trial.parent,
        agent=AgentConfig(name=system.tag, import_path=system.agent),
    )
    earlier = [attempt.error.exception_type for attempt in attempts[:-1] if attempt.error]
    result = TrialResult(
        id=uuid.uuid4(),
        task_name=task.id,
        trial_name=trial.name,
        trial_uri=trial.resolve().as_uri(),
        task_id=LocalTaskId(path=task.folder),
        source=task.folder.parent.name,
        task_checksum=folder_checksum(task.folder),
        config=config,
        agent_info=AgentInfo(name=system.tag, version=harness_version()),
        agent_result=AgentContext(metadata=attempt_metadata(system, "direct", len(attempts), earlier)),
        verifier_result=None if last.rewards is None else VerifierResult(rewards=dict(last.rewards)),
        exception_info=last.error,
        started_at=min(
            (phase.started for attempt in attempts for phase in attempt.phases.values()), default=None
        ),
        finished_at=datetime.now(UTC),
        **{name: phase.timing() for name, phase in last.phases.items()},
    )
    (folder / "config.json").write_text(config.model_dump_json(indent=2) + "\n", encoding="utf-8")
    (folder / "result.json").write_text(result.model_dump_json(indent=2) + "\n", encoding="utf-8")


def folder_checksum(folder: Path) -> str:
    """Over every file of a task's directory, as Harbor computes it."""
    return str(dirhash(folder, "sha256"))


def attempt_metadata(
    system: System, place: Place, attempts: int, earlier_causes: Sequence[str]
) -> dict[str, Any]:
    """What the harness adds to Harbor's record of a trial: which system it was, and how often it was tried."""
    return {
        "system": system.tag,
        "runner": place,
        "instrument": system.instrument,
        "sees_gold": system.sees_gold,
        "attempts": attempts,
        "earlier_causes": list(earlier_causes),
    }
