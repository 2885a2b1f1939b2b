"""Harbor's trial without containers: it plays what it is told, and leaves a trial's folder.

Its hooks are called as Harbor calls them, on an environment that knows what was lost and nothing else.
"""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from harbor.models.agent.context import AgentContext
from harbor.models.task.id import LocalTaskId
from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import AgentInfo, ExceptionInfo, TrialResult
from harbor.models.verifier.result import VerifierResult
from harbor.trial.hooks import TrialEvent

from harness.containers.environment import EnvironmentLostError, TrialEnvironment

Act = str | BaseException | Callable[[], None]
"""ok, dead (nothing was raised, and no reward came), no_chart, killed (the agent's container is gone), agent_error,
waits (for ever); or what is raised out of Harbor itself, or done before a trial that dies."""

SCORED = {"reward": 1.0}


class FakeEnvironment(TrialEnvironment):
    """Reaches its chart server, and can be frozen, unless the act is that it cannot."""

    def __init__(self, act: Act) -> None:
        self.act = act

    async def require_chart(self) -> None:
        if self.act == "no_chart":
            raise EnvironmentLostError("no chart server")

    async def follow_chart(self) -> None:
        """It does not end."""

    async def freeze(self) -> None:
        if self.act == "killed":
            raise EnvironmentLostError("no container")


class FakeTrial:
    """One attempt. `plays` holds what the next attempts come to, `began` the names of those that were made."""

    plays: Iterator[Act]
    began: list[str]

    def __init__(self, config: TrialConfig) -> None:
        self.config = config
        self.act = next(self.plays)
        self.agent_environment = FakeEnvironment(self.act)
        self.logger = logging.getLogger("harbor.fake")
        self.hooks: dict[TrialEvent, Callable[[Any], Awaitable[None]]] = {}
        self.folder = config.trials_dir / config.trial_name
        self.began.append(config.trial_name)

    @classmethod
    async def create(cls, config: TrialConfig) -> "FakeTrial":
        return cls(config)

    def add_hook(self, event: TrialEvent, hook: Callable[[Any], Awaitable[None]]) -> None:
        self.hooks[event] = hook

    async def _sync_agent_output(self, target: TrialResult) -> None:
        """Of no matter here."""

    async def run(self) -> TrialResult:
        (self.folder / "artifacts").mkdir(parents=True)
        (self.folder / "artifacts" / "attempt.txt").write_text(self.config.trial_name)
        if isinstance(self.act, BaseException):
            raise self.act
        if callable(self.act):
            self.act()
        raised = await self._run_agent()
        scored = self.act in ("ok", "agent_error")
        await self.hooks[TrialEvent.VERIFICATION_START](None)
        result = self._result(SCORED if scored else None, raised)
        (self.folder / "result.json").write_text(result.model_dump_json())
        return result

    async def _run_agent(self) -> Exception | None:
        try:
            await self.hooks[TrialEvent.AGENT_START](None)
            if self.act == "waits":
                await asyncio.Event().wait()
            await self.hooks[TrialEvent.AGENT_END](None)
        except EnvironmentLostError as error:
            return error
        return RuntimeError("the agent gave up") if self.act == "agent_error" else None

    def _result(self, rewards: dict[str, float] | None, raised: Exception | None) -> TrialResult:
        path = self.config.task.path
        assert path is not None
        return TrialResult(
            id=uuid.uuid4(),
            task_name=f"clinicare/{path.name}",
            trial_name=self.config.trial_name,
            trial_uri=self.folder.as_uri(),
            task_id=LocalTaskId(path=path),
            source="tasks",
            task_checksum="c",
            config=self.config,
            agent_info=AgentInfo(name="fake", version="1"),
            agent_result=AgentContext(),
            verifier_result=VerifierResult(rewards=rewards) if rewards else None,
            exception_info=ExceptionInfo(
                exception_type=type(raised).__name__,
                exception_message=str(raised),
                exception_traceback="",
                occurred_at=datetime.now(UTC),
            )
            if raised
            else None,
        )
