"""A sweep: systems × tasks, run where each system runs, resumed where it stopped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import JobError
from harness.job import Job, PlannedSystem, Setting
from harness.place import Place
from harness.policies import corpus_folder, document_digests
from harness.readers import Reader, require_readers
from harness.systems import System
from harness.taskset import TaskSet
from harness.trial import read_exception
from mcp_mimic.store.store import Store

Trial = tuple[str, System]
"""One to be run: the id of its task, and its system."""

Advance = Callable[[], None]
"""Called once for each trial that becomes whole."""

Progress = Callable[[int], AbstractContextManager[Advance]]
"""Opens a display of so many trials."""


@dataclass(frozen=True)
class Sweep:
    """What to run. `tasks` and `job` are folders; `store` is where direct systems read charts from."""

    tasks: Path
    store: Path
    job: Path
    systems: tuple[System, ...]
    task_ids: tuple[str, ...] | None = None
    concurrency: int = 1
    environment: Place | None = None
    """Where to run; None is where each system can, see `System.place`."""
    corpus: Path | None = None
    """Folder of policy documents; None is the one that comes with the harness."""
    readers: tuple[Reader, ...] = ()
    """Who may read the store if it is credentialed."""

    @property
    def setting(self) -> Setting:
        """What the runners take of it."""
        return Setting(self.tasks, self.store, self.job, self.corpus, self.readers)


@dataclass(frozen=True)
class SweepSummary:
    """How many trials the sweep asked for, how many of them were run now, and how many are dead.

    `errors` are the scored trials whose agent raised: what it raised, by the trial's record. `deaths` are the
    dead ones, with what was raised if anything was.
    """

    trials: int
    ran: int
    errors: Mapping[Path, str]
    deaths: Mapping[Path, str]

    @property
    def dead(self) -> int:
        """How many trials are dead."""
        return len(self.deaths)


def silent(_trials: int) -> AbstractContextManager[Advance]:
    """No display."""
    return nullcontext(lambda: None)


def run_sweep(sweep: Sweep, progress: Progress = silent) -> SweepSummary:
    """Run the trials that the job does not have yet. If it has them all, neither agents nor an engine are needed.

    TaskError if the tasks are of another store, JobError if the job was begun with other inputs, is being run,
    or would have a credentialed chart read by what nobody is named for, UnknownSystemError if an agent cannot
    be loaded, SettingsError if the corpus cannot be served: all before the first trial.
    """
    tasks, job = TaskSet.open(sweep.tasks), Job(sweep.job)
    tasks.require_store(Store.open(sweep.store).manifest.fingerprint)
    chosen = list(sorted(tasks.manifest.tasks) if sweep.task_ids is None else sweep.task_ids)
    if not chosen:
        raise JobError(f"no task in {sweep.tasks}", "build tasks from a cohort that has cases")
    for task_id in chosen:
        tasks.task(task_id).require_as_built()
    planned = {
        system.tag: PlannedSystem.of(system, system.place(sweep.environment)) for system in sweep.systems
    }
    asked = [(task_id, system) for task_id in chosen for system in sweep.systems]
    missing, held = _missing(job, asked), job.holds(tasks, chosen, planned)
    if missing or not held:
        for plan in planned.values():
            require_readers(tasks.manifest.classification, plan, plan.runs_in, sweep.readers)
        named = {name for task_id in chosen for name in tasks.task(task_id).grant().documents}
        policies = document_digests(corpus_folder(sweep.corpus), named)
        images = _require_runnable([planned[tag] for tag in {system.tag: None for _, system in missing}])
        with job.locked():
            job.agree(tasks, chosen, planned, sweep.concurrency, images, policies, sweep.readers)
            missing = _missing(job, missing)
            _run(sweep, planned, missing, progress)
    elif not job.is_summarised():
        with suppress(JobError), job.locked():  # another process that holds the job will do it
            job.summarise(datetime.now(UTC))
    return _summary(job, [(task_id, system.tag) for task_id, system in asked], len(missing))


def _missing(job: Job, trials: Sequence[Trial]) -> list[Trial]:
    return [(task_id, system) for task_id, system in trials if not job.is_done(task_id, system.tag)]


def _run(
    sweep: Sweep, planned: Mapping[str, PlannedSystem], trials: Sequence[Trial], progress: Progress
) -> None:
    """Run the trials where their systems run, then write the job's summary."""
    job, started = Job(sweep.job), datetime.now(UTC)
    for task_id, system in trials:
        job.require_room(task_id, system.tag)
    if not trials:
        return
    with progress(len(trials)) as advance:
        for place, run in _RUNNERS.items():
            here = [(task_id, system) for task_id, system in trials if planned[system.tag].runs_in == place]
            if here:
                run(sweep, here, advance)
    job.summarise(started)


def _summary(job: Job, asked: Sequence[tuple[str, str]], ran: int) -> SweepSummary:
    errors, deaths = {}, {}
    for trial in asked:
        folder = job.trial(*trial)
        told = read_exception(job.path, folder.name)
        if not job.has_reward(*trial):
            deaths[folder / "result.json"] = told or "no verifier result"
        elif told:
            errors[folder / "result.json"] = told
    return SweepSummary(len(asked), ran, errors, deaths)


def _require_runnable(systems: Iterable[PlannedSystem]) -> Mapping[str, str]:
    """Every agent can be had, and so can the engine and its images if one runs in containers; their ids by tag."""
    images: Mapping[str, str] = {}
    for system in systems:
        if system.runs_in == "direct":
            system.create()
            continue
        from harness.containers.agent import require_agent
        from harness.containers.images import require_images

        require_agent(system)
        images = images or require_images()
    return images


def _run_in_containers(sweep: Sweep, trials: Sequence[Trial], advance: Advance) -> None:
    from harness.containers.trials import run_trials

    run_trials(sweep.setting, trials, sweep.concurrency, advance)


def _run_direct(sweep: Sweep, trials: Sequence[Trial], advance: Advance) -> None:
    from harness.direct import Batch
    from harness.workers import Pool

    by_task: dict[str, list[System]] = {}
    for task_id, system in trials:
        by_task.setdefault(task_id, []).append(system)
    batches = [Batch(task_id, tuple(systems)) for task_id, systems in by_task.items()]
    Pool(sweep.setting, sweep.concurrency).run(batches, lambda _task, _tag: advance())


_RUNNERS: dict[Place, Callable[[Sweep, Sequence[Trial], Advance], None]] = {
    "docker": _run_in_containers,
    "direct": _run_direct,
}
"""Where a system runs → what runs its missing trials into the job folder."""
