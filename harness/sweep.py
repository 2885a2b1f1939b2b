"""A sweep: systems × tasks, run where each system runs, resumed where it stopped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.errors import JobError
from harness.job import Job, PlannedSystem, Setting
from harness.place import Place
from harness.systems import System
from harness.taskset import TaskSet
from harness.trial import read_exception
from mcp_mimic.store.store import Store

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
    """Where to run what can run in more than one place; see `System.place`."""

    @property
    def setting(self) -> Setting:
        """Its folders, as the runners take them."""
        return Setting(self.tasks, self.store, self.job)


@dataclass(frozen=True)
class SweepSummary:
    """How many trials the sweep asked for, how many of them were run now, and how many are dead.

    `errors` are the scored trials whose agent raised: what it raised, by the trial's record.
    """

    trials: int
    ran: int
    dead: int
    errors: Mapping[Path, str]


def silent(_trials: int) -> AbstractContextManager[Advance]:
    """No display."""
    return nullcontext(lambda: None)


def run_sweep(sweep: Sweep, progress: Progress = silent) -> SweepSummary:
    """Run the trials that the job does not have yet.

    TaskError if the tasks are of another store, JobError if the job was begun with other inputs or is
    being run, UnknownSystemError if an agent cannot be loaded: all before the first trial.
    """
    tasks, job = TaskSet.open(sweep.tasks), Job(sweep.job)
    tasks.require_store(Store.open(sweep.store).manifest.fingerprint)
    chosen = list(sweep.task_ids or sorted(tasks.manifest.tasks))
    if not chosen:
        raise JobError(f"no task in {sweep.tasks}", "build tasks from a cohort that has cases")
    for task_id in chosen:
        tasks.task(task_id).require_as_built()
    planned = {
        system.tag: PlannedSystem.of(system, system.place(sweep.environment)) for system in sweep.systems
    }
    _require_leave(tasks.manifest.classification, planned.values())
    images = _require_runnable(planned.values())
    started = datetime.now(UTC)
    with job.locked():
        job.agree(tasks, chosen, planned, sweep.concurrency, images)
        missing = [
            (task_id, system)
            for task_id in chosen
            for system in sweep.systems
            if not job.is_done(task_id, system.tag)
        ]
        for task_id, system in missing:
            job.require_room(task_id, system.tag)
        if missing:
            with progress(len(missing)) as advance:
                for place, run in _RUNNERS.items():
                    here = [
                        (task, system) for task, system in missing if planned[system.tag].runs_in == place
                    ]
                    if here:
                        run(sweep, here, advance)
            job.summarise(started)
    asked = [(task_id, system.tag) for task_id in chosen for system in sweep.systems]
    scored = [trial for trial in asked if job.has_reward(*trial)]
    raised = {job.trial(*trial): read_exception(job.path, job.trial(*trial).name) for trial in scored}
    errors = {folder / "result.json": told for folder, told in raised.items() if told}
    return SweepSummary(len(asked), len(missing), len(asked) - len(scored), errors)


def _require_leave(classification: str, systems: Iterable[PlannedSystem]) -> None:
    """JobError if a credentialed chart would be opened to a model, or to services that nobody has vouched for."""
    if classification != "credentialed":
        return
    for system in systems:
        harbor = system.harbor
        if system.runs_in != "direct" and harbor is not None and (harbor.model or harbor.compose):
            raise JobError(
                f"system {system.tag} brings a model or services of its own, and the store is credentialed",
                "run it on the synthetic hospital or the open demo; DATA_ACCESS.md says what a model may read",
            )


def _require_runnable(systems: Iterable[PlannedSystem]) -> Mapping[str, str]:
    """Every agent can be had, and so can the engine and its images if one runs in containers; their ids by tag."""
    images: Mapping[str, str] = {}
    for system in systems:
        if system.runs_in == "direct":
            system.create()
            continue
        from harness.containers.images import require_images
        from harness.containers.trials import require_agent

        require_agent(system)
        images = images or require_images()
    return images


def _run_in_containers(sweep: Sweep, trials: Sequence[tuple[str, System]], advance: Advance) -> None:
    from harness.containers.trials import run_trials

    run_trials(sweep.setting, trials, sweep.concurrency, advance)


def _run_direct(sweep: Sweep, trials: Sequence[tuple[str, System]], advance: Advance) -> None:
    from harness.direct import Batch
    from harness.workers import Pool

    by_task: dict[str, list[System]] = {}
    for task_id, system in trials:
        by_task.setdefault(task_id, []).append(system)
    batches = [Batch(task_id, tuple(systems)) for task_id, systems in by_task.items()]
    Pool(sweep.setting, sweep.concurrency).run(batches, lambda _task, _tag: advance())


_RUNNERS: dict[Place, Callable[[Sweep, Sequence[tuple[str, System]], Advance], None]] = {
    "docker": _run_in_containers,
    "direct": _run_direct,
}
"""Where a system runs → what runs its missing trials into the job folder."""
