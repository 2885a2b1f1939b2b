"""Systems that only call tools, run in this process against the same server code as in containers.

The slice of a task is opened once for all its systems; each trial has its own server, audit and folder.
"""

import asyncio
import errno
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from harbor.models.trial.result import ExceptionInfo
from harbor.trial.errors import AgentTimeoutError

from harness.agents.base import Agent, Answer, Gold, Instrument, TaskView
from harness.agents.recording import RecordingClient
from harness.errors import RunError
from harness.job import Job, Setting
from harness.policies import corpus_folder
from harness.record import MAX_TRIES, Attempt, Phase, describe_exception, write_record
from harness.scoring.files import MAX_REPORT
from harness.scoring.verify import Evidence, score_files, write_scores
from harness.systems import System
from harness.taskset import Task, TaskSet
from harness.trajectory import trajectory
from harness.version import harness_version
from mcp_mimic.chart.slice import Slice, open_slice
from mcp_mimic.contract import Grant
from mcp_mimic.policies.corpus import Corpus, open_corpus
from mcp_mimic.server import ChartServer, create_server
from mcp_mimic.store.store import Store

_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

Tell = Callable[[str, str], None]
"""Told `"start"` or `"done"`, and the system's tag."""


@dataclass(frozen=True)
class Batch:
    """The trials of one task that run one after another on one slice."""

    task_id: str
    systems: tuple[System, ...]


class DirectRunner:
    """Runs batches of trials in this process; store, tasks and policy documents are opened once."""

    def __init__(self, setting: Setting) -> None:
        self._tasks = TaskSet.open(setting.tasks)
        self._store = Store.open(setting.store)
        self._job = Job(setting.job)
        self._corpus = open_corpus(corpus_folder(setting.corpus))
        self._tasks.require_store(self._store.manifest.fingerprint)

    def run(self, batch: Batch, tell: Tell = lambda _what, _tag: None) -> None:
        """Run the batch's trials and leave each whole trial in the job folder."""
        asyncio.run(self._run(self._tasks.task(batch.task_id), batch.systems, tell))

    async def _run(self, task: Task, systems: Sequence[System], tell: Tell) -> None:
        desk = _Desk(task, self._store, self._corpus, self._job)
        try:
            for system in systems:
                if self._job.is_done(task.id, system.tag):
                    continue  # its worker died between the trial's end and the news of it
                tell("start", system.tag)
                await desk.run(system)
                tell("done", system.tag)
        finally:
            desk.close()


def bury(setting: Setting, task_id: str, system: System, cause: str, tries: int) -> None:
    """Leave a dead trial for a system whose worker process died `tries` times."""
    task, job = TaskSet.open(setting.tasks).task(task_id), Job(setting.job)
    death = describe_exception(ChildProcessError(cause))
    folder = job.partial(task_id, system.tag)
    folder.mkdir(parents=True)
    write_record(folder, task, system, job.trial(task_id, system.tag), [Attempt({}, None, death)] * tries)
    job.keep(folder, task_id, system.tag)


class _Desk:
    """Runs one task's trials; opens its slice when the first one needs it."""

    def __init__(self, task: Task, store: Store, corpus: Corpus, job: Job) -> None:
        self._task = task
        self._store = store
        self._corpus = corpus
        self._job = job
        self._slice: Slice | None = None

    def close(self) -> None:
        """Let the slice go."""
        if self._slice is not None:
            self._slice.close()

    async def run(self, system: System) -> None:
        """Run one trial, again if it died, and put it in its place when it is whole."""
        folder = self._job.partial(self._task.id, system.tag)
        attempts: list[Attempt] = []
        while not attempts or (attempts[-1].rewards is None and len(attempts) < MAX_TRIES):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            attempts.append(await _Trial(self._task, system, folder).attempt(self._chart, self._corpus))
        write_record(folder, self._task, system, self._job.trial(self._task.id, system.tag), attempts)
        self._job.keep(folder, self._task.id, system.tag)

    def _chart(self, grant: Grant) -> Slice:
        if self._slice is None:
            self._slice = open_slice(self._store, grant.subject_id, grant.as_of, grant.sealed_hadm_id)
        return self._slice


class _Trial:
    """One try of one trial."""

    def __init__(self, task: Task, system: System, folder: Path) -> None:
        self._task = task
        self._system = system
        self._folder = folder
        self._audit = folder / "artifacts" / "audit"
        self._workspace = folder / "artifacts" / "workspace"
        self._phases: dict[str, Phase] = {}

    async def attempt(self, chart: Callable[[Grant], Slice], corpus: Corpus) -> Attempt:
        """Serve, ask, seal, score. What the agent raises is its own; anything else is the trial's death."""
        try:
            self._begin("environment_setup")
            grant = self._task.grant()
            for place in (self._audit, self._workspace, self._folder / "agent", self._folder / "verifier"):
                place.mkdir(parents=True)
            server = create_server(chart(grant), grant, audit_dir=self._audit, corpus=corpus)
            self._begin("agent_setup")
            agent = self._system.create()
            self._begin("agent_execution")
            error = await self._ask(server, agent)
            server.seal()
            self._begin("verifier")
            rewards = self._verify()
            self._phases["verifier"].end()
        except Exception as death:  # noqa: BLE001 - whatever killed the trial is its recorded cause
            _require_disk(death)
            return Attempt(self._phases, None, describe_exception(death))
        return Attempt(self._phases, rewards, error)

    def _verify(self) -> dict[str, float]:
        """Score the trial as the verifier's container does, and return the rewards that it wrote."""
        out = self._folder / "verifier"
        evidence = Evidence(
            gold=self._task.gold_path,
            report=self._workspace / "report.md",
            submission=self._audit / "report.md",
            audit=self._audit / "audit.jsonl",
        )
        write_scores(score_files(evidence), out)
        rewards: dict[str, float] = json.loads((out / "reward.json").read_bytes())
        return rewards

    def _begin(self, name: str) -> None:
        for phase in self._phases.values():
            if phase.finished is None:
                phase.end()
        self._phases[name] = Phase()

    async def _ask(self, server: ChartServer, agent: object) -> ExceptionInfo | None:
        """Let the agent answer; returns what it raised, a timeout included."""
        view = TaskView(self._task.id, self._task.instruction)
        gold = self._task.gold() if self._system.sees_gold else None
        seconds = self._task.agent_seconds()
        async with RecordingClient(server.mcp) as client:
            # a task of its own, so that an agent that cancels itself cancels nothing else
            work = asyncio.create_task(_answer(agent, view, client, gold))
            await asyncio.wait({work}, timeout=seconds)
            late = work.cancel()
            outcome = (await asyncio.gather(work, return_exceptions=True))[0]
        report = None
        if isinstance(outcome, Answer):
            report = self._write_report(outcome)
        self._write_trajectory(client, report)
        if late:
            return describe_exception(AgentTimeoutError(f"no answer within {seconds:g} s"))
        return describe_exception(outcome) if isinstance(outcome, BaseException) else None

    def _write_report(self, answer: Answer) -> str | None:
        """Write what the agent answered, as far as a report may go and a byte more; returns it as text.

        What UTF-8 cannot hold is written all the same, for the score to find: it is the agent's mistake.
        """
        if answer.report is None:
            return None
        data = answer.report.encode("utf-8", errors="surrogatepass")[: MAX_REPORT + 1]
        (self._workspace / "report.md").write_bytes(data)
        return data.decode("utf-8", errors="replace")

    def _write_trajectory(self, client: RecordingClient, report: str | None) -> None:
        record = trajectory(
            session=f"{self._task.id}__{self._system.tag}",
            tag=self._system.tag,
            version=harness_version(),
            instruction=self._task.instruction,
            calls=client.calls,
            report=report,
        )
        text = json.dumps(record.to_json_dict(), indent=2, ensure_ascii=False)
        (self._folder / "agent" / "trajectory.json").write_text(text + "\n", encoding="utf-8")


def _require_disk(death: BaseException) -> None:
    """RunError if the trial died of a full disk: the next one would too, and none of them is to be kept."""
    cause: BaseException | None = death
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _DISK:
            raise RunError(
                f"the trials cannot be written: {cause.strerror}",
                "free disk space and run the same command again; whole trials are kept",
            ) from death
        cause = cause.__cause__


async def _answer(agent: object, view: TaskView, client: RecordingClient, gold: Gold | None) -> Answer:
    """What the agent answers; whatever it does instead is an exception of its own."""
    try:
        if gold is None:
            answer: object = await cast(Agent, agent).answer(view, client)
        else:
            answer = await cast(Instrument, agent).answer_knowing(view, client, gold)
    except (KeyboardInterrupt, SystemExit, GeneratorExit) as error:
        raise RuntimeError(f"the agent tried to end the process: {type(error).__name__}") from error
    if not isinstance(answer, Answer) or not isinstance(answer.report, str | None):
        raise TypeError(f"the agent returned no Answer with a text or None, but {type(answer).__name__}")
    return answer
