"""Systems that run in containers: Harbor runs each trial, this decides what a dead one is and keeps the rest."""

import asyncio
import logging
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from harness.containers.agent import agent_config
from harness.containers.compose import write_joining
from harness.containers.engine import docker, follow_engine
from harness.containers.leftovers import remove_leftovers, trial_name
from harness.errors import EngineError, HarnessError, RunError
from harness.job import Job, Setting
from harness.policies import corpus_folder
from harness.readers import readers_json, readers_of
from harness.systems import System
from harness.taskset import Task, TaskSet

# isort: split
# after the agent's module, which says how Harbor is to behave
from harbor.models.agent.context import AgentContext
from harbor.models.trial.config import EnvironmentConfig, TaskConfig, TrialConfig
from harbor.models.trial.error_policy import ERROR_POLICIES, ErrorPolicyOverride
from harbor.models.trial.result import TrialResult
from harbor.trial.hooks import TrialEvent, TrialHookEvent
from harbor.trial.trial import Trial

from harness.containers.environment import EnvironmentLostError, TrialEnvironment
from harness.record import MAX_TRIES, attempt_metadata, shortened

# stderr is the run's: asyncio warns of commands that end while they are being ended, and a log that cannot be
# written is a full disk, which is told once
logging.getLogger("asyncio").setLevel(logging.ERROR)
logging.raiseExceptions = False

_ENVIRONMENT = f"{TrialEnvironment.__module__}:{TrialEnvironment.__name__}"
_LEAST_FREE = 256 << 20
_ENGINE_SECONDS = 1.0
_RESUME = "mend the cause and run the same command again; whole trials are kept"
_GO_ON = "see to the disk and run the same command again; whole trials are kept"

_GRADED: dict[str, ErrorPolicyOverride] = {
    **{
        name: ErrorPolicyOverride(should_grade=True)
        for name, policy in ERROR_POLICIES.items()
        if not policy.should_grade
    },
    EnvironmentLostError.__name__: ErrorPolicyOverride(should_grade=False),
}
"""Harbor reads some failures out of an agent's output, and would not score them: the agent would have bought
itself another try. Whatever is raised while the agent runs is scored, unless a container was lost."""


def run_trials(
    setting: Setting, trials: Sequence[tuple[str, System]], concurrency: int, advance: Callable[[], None]
) -> None:
    """Run the trials, so many at a time, and leave each one that is whole in the job's folder.

    RunError if the engine or the disk failed on the way, KeyboardInterrupt if a signal asked to end: trials
    that were whole by then are kept, and nothing else is left on the engine, if there still is one.
    """
    remove_leftovers(setting.job)
    try:
        asyncio.run(_run_all(setting, trials, concurrency, advance))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        for left in setting.job.glob(f".*.{os.getpid()}.partial"):
            shutil.rmtree(left, ignore_errors=True)
        with suppress(EngineError):
            remove_leftovers(setting.job)


async def _run_all(
    setting: Setting, trials: Sequence[tuple[str, System]], concurrency: int, advance: Callable[[], None]
) -> None:
    _end_on_signals()
    tasks, job = TaskSet.open(setting.tasks), Job(setting.job)
    places = asyncio.Semaphore(concurrency)

    async def run(task_id: str, system: System) -> None:
        async with places:
            await _Desk(tasks.task(task_id), system, setting, job).run()
            advance()

    try:
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_watch_engine())
            await asyncio.wait([group.create_task(run(task_id, system)) for task_id, system in trials])
            watching.cancel()
    except* Exception as errors:  # noqa: BLE001 - which of them is told is decided there
        raise _first(_causes(errors), setting.job) from None


async def _watch_engine() -> None:
    """RunError as soon as the engine is gone: each trial would find out by itself, after waiting for it in vain."""
    while True:
        await follow_engine()
        await asyncio.to_thread(_require_engine)
        await asyncio.sleep(_ENGINE_SECONDS)


def _end_on_signals() -> None:
    """Let a termination signal and a closed terminal do what Ctrl-C does, unless they are to be ignored."""
    this = asyncio.current_task()
    assert this is not None  # noqa: S101
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, this.cancel)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What was raised, out of the groups that it was put in."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    else:
        yield error


def _first(errors: Iterable[BaseException], job: Path) -> BaseException:
    """The error to tell of several that have one cause."""
    causes = list(errors)
    told = [error for error in causes if isinstance(error, HarnessError)]
    if told:
        return told[0]
    first = causes[0]
    if isinstance(first, OSError):
        return RunError(f"{job} cannot be written to: {first.strerror or first}", _GO_ON)
    return RunError(f"a trial could not be run: {type(first).__name__}: {_one_line(first)}", _RESUME)


def _one_line(told: object) -> str:
    return " ".join(str(told).split())


class _Desk:
    """One trial, tried until it is whole or has died too often."""

    def __init__(self, task: Task, system: System, setting: Setting, job: Job) -> None:
        self._task = task
        self._system = system
        self._setting = setting
        self._job = job
        self._partial = job.partial(task.id, system.tag)

    async def run(self) -> None:
        """Run it, again if it died, and put it in its place."""
        results: list[TrialResult] = []
        while not results or (_is_dead(results[-1]) and len(results) < MAX_TRIES):
            shutil.rmtree(self._partial, ignore_errors=True)
            results.append(await self._attempt())
            if _is_dead(results[-1]):
                await asyncio.to_thread(_require_machine, self._job.path)
        folder = self._partial / results[-1].trial_name
        _write_result(folder, results, self._system, self._job.trial(self._task.id, self._system.tag))
        self._job.keep(folder, self._task.id, self._system.tag)
        shutil.rmtree(self._partial, ignore_errors=True)

    def _compose(self) -> list[Path]:
        """The system's compose files as Compose is given them, in the folder that goes when the trial is whole."""
        self._partial.mkdir()
        return write_joining(
            self._system.harbor.compose if self._system.harbor else (), self._partial.resolve()
        )

    async def _attempt(self) -> TrialResult:
        trial = await Trial.create(self._config())
        environment = trial.agent_environment
        assert isinstance(environment, TrialEnvironment)  # noqa: S101

        following: list[asyncio.Task[None]] = []

        async def begin(_event: TrialHookEvent) -> None:
            await environment.require_chart()
            following.append(asyncio.create_task(environment.follow_chart()))

        async def end(_event: TrialHookEvent) -> None:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
            await environment.freeze()

        async def score(_event: TrialHookEvent) -> None:
            environment.require_whole()

        _let_logs_be_anything(trial)
        trial.logger.addFilter(_on_one_line)
        trial.add_hook(TrialEvent.AGENT_START, begin)
        trial.add_hook(TrialEvent.AGENT_END, end)
        trial.add_hook(TrialEvent.VERIFICATION_START, score)
        return await trial.run()

    def _config(self) -> TrialConfig:
        return TrialConfig(
            task=TaskConfig(path=self._task.folder.resolve(), source=self._task.folder.parent.name),
            trial_name=trial_name(self._job.path),
            trials_dir=self._partial.resolve(),
            agent=agent_config(self._system),
            environment=EnvironmentConfig(
                import_path=_ENVIRONMENT,
                kwargs={
                    "store": str(self._setting.store.resolve()),
                    "store_user": f"{os.getuid()}:{os.getgid()}",
                    "corpus": str(corpus_folder(self._setting.corpus).resolve()),
                    "readers": readers_json(readers_of(self._system, "docker", self._setting.readers)),
                },
                extra_docker_compose=self._compose(),
            ),
            override_error_policy=_GRADED,
        )


def _let_logs_be_anything(trial: Trial) -> None:
    """Harbor reads usage out of what the agent left; if that cannot be read, there is none, and the trial goes on."""
    read_logs = trial._sync_agent_output

    async def read_if_possible(target: TrialResult) -> None:
        try:
            await read_logs(target)
        except Exception as error:  # noqa: BLE001 - an agent decides what its logs are
            trial.logger.warning(f"what the agent left cannot be read: {type(error).__name__}")

    trial._sync_agent_output = read_if_possible


def _on_one_line(record: logging.LogRecord) -> bool:
    """An agent that left no report, say, is a line in the trial's log, without where in Harbor it was noticed."""
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        record.msg, record.args = _one_line(f"{record.getMessage()}: {type(error).__name__}: {error}"), ()
        record.exc_info = None
    return True


def _is_dead(result: TrialResult) -> bool:
    return result.verifier_result is None or not result.verifier_result.rewards


def _write_result(folder: Path, results: Sequence[TrialResult], system: System, place: Path) -> None:
    """Write Harbor's record of the last attempt anew: where the trial will be, and the attempts before it."""
    last = results[-1]
    causes = [result.exception_info.exception_type for result in results[:-1] if result.exception_info]
    context = last.agent_result or AgentContext()
    metadata = (context.metadata or {}) | attempt_metadata(system, "docker", len(results), causes)
    compose = list(system.harbor.compose) if system.harbor else []
    config = last.config.model_copy(
        update={
            "trial_name": place.name,
            "trials_dir": place.parent,
            "environment": last.config.environment.model_copy(update={"extra_docker_compose": compose}),
        }
    )
    result = last.model_copy(
        update={
            "trial_name": place.name,
            "trial_uri": place.resolve().as_uri(),
            "agent_result": context.model_copy(update={"metadata": metadata}),
            "exception_info": last.exception_info and shortened(last.exception_info),
            "config": config,
        }
    )
    for name, record in (("config.json", config), ("result.json", result)):
        (folder / name).write_text(record.model_dump_json(indent=4) + "\n", encoding="utf-8")


def _require_machine(job: Path) -> None:
    """RunError if a trial died because the engine is gone or the disk is full: the next one would too."""
    _require_engine()
    free = shutil.disk_usage(job).free
    if free < _LEAST_FREE:
        raise RunError(f"the disk is full: {free >> 20} MB are free where {job} is", _GO_ON)


def _require_engine() -> None:
    try:
        docker("version", "--format", "{{.Server.Version}}")
    except EngineError as error:
        raise RunError(
            f"the container engine went away: {error.message}",
            "start it and run the same command again; whole trials are kept",
        ) from error
