"""Grades a job: every trial scored anew from what it left behind, against the tasks folder's gold."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.digests import digest_bytes, digest_gold
from harness.errors import JobError, TaskError
from harness.scoring.files import MAX_GOLD, read_file
from harness.scoring.gold import Gold, GoldError, read_gold
from harness.scoring.score import UnsealedError
from harness.scoring.verify import score_parts
from harness.stats.record import TrialScore
from harness.stats.summary import summarise
from harness.trial import Trial, find_trials, read_trial

Tell = Callable[[int, int], None]
"""Told how many of how many trials are graded."""

_MAX_RECORD = 64 * 1024 * 1024
_REBUILD = "build the tasks again with `harness build`, or name the tasks folder that the job was run on"


@dataclass(frozen=True)
class Plan:
    """What a job's configuration says: its trials as (task, system), and its systems; nothing if it says nothing."""

    trials: frozenset[tuple[str, str]]
    systems: Mapping[str, Mapping[str, Any]]
    agent_digests: Mapping[str, str]

    def require_planned(self, trial: Trial, before: Mapping[tuple[str, str], str]) -> None:
        """JobError for a trial that the job did not plan, or planned once and `before` has already."""
        pair = (trial.task, trial.system)
        twin = before.get(pair)
        if self.trials and (twin or pair not in self.trials):
            rest = f", and so does {twin}" if twin else ""
            raise JobError(
                f"the job did not plan trial {trial.name}, which says that it is {trial.system} on {trial.task}{rest}",
                "move the folder that is not the job's own out of it",
            )


@dataclass(frozen=True)
class JobScores:
    """A job's graded trials, and what its numbers rest on.

    `missing` are planned trials that are not there. `gold_digest` stands for the gold of all tasks that were
    graded; `gold_changed` trials were scored by another gold when they were run; `left_out` are tasks that
    were to be left out.
    """

    job: str
    classification: str
    release: str
    gold_digest: str
    gold_changed: int
    systems: Mapping[str, Mapping[str, Any]]
    trials: tuple[TrialScore, ...]
    missing: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...] = ()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The numbers, as `--json` prints them."""
        missing = Counter(system for _, system in self.missing)
        about = {
            "name": self.job,
            "classification": self.classification,
            "release": self.release,
            "tasks": len({trial.task for trial in self.trials}),
            "gold_digest": self.gold_digest,
            "gold_changed_since_run": self.gold_changed,
            "missing": [f"{task}__{system}" for task, system in self.missing],
            "left_out": list(self.left_out),
        }
        return summarise(self.trials, missing=missing, about=about, declared=self.systems)


def grade_job(
    job_dir: Path,
    tasks_dir: Path,
    tell: Tell = lambda _done, _all: None,
    *,
    without: Collection[str] = (),
) -> JobScores:
    """Score every trial of a job but those of the tasks `without`; nothing is run again or changed in the job.

    JobError if the job has no trials, one that it did not plan, or was run on other tasks; TaskError if a
    gold file is damaged.
    """
    tasks = _Tasks(tasks_dir)
    plan = _read_plan(job_dir)
    for task, digest in plan.agent_digests.items():
        tasks.require_unchanged(task, digest)
    names = find_trials(job_dir)
    if not names and not plan.trials:
        raise _nothing_in(job_dir)
    graded: list[TrialScore] = []
    there: dict[tuple[str, str], str] = {}
    changed = 0
    for number, name in enumerate(names, start=1):
        trial = read_trial(job_dir, name)
        plan.require_planned(trial, there)
        there[trial.task, trial.system] = name
        graded.append(_grade(trial, tasks))
        changed += trial.task not in without and trial.gold_digest not in (None, tasks.gold(trial.task)[2])
        tell(number, len(names))
    graded = [trial for trial in _without_copies(graded) if trial.task not in without]
    if names and without and not graded:
        raise JobError(f"every trial of {job_dir} is left out", "leave out fewer tasks")
    return JobScores(
        job=job_dir.resolve().name,
        classification=tasks.classification,
        release=tasks.release,
        gold_digest=tasks.digest({trial.task for trial in graded}),
        gold_changed=changed,
        systems=plan.systems,
        trials=tuple(graded),
        missing=tuple(pair for pair in sorted(plan.trials - there.keys()) if pair[0] not in without),
        left_out=tuple(sorted(without)),
    )


def _nothing_in(folder: Path) -> JobError:
    jobs = sorted(path.parent.name for path in folder.glob("*/config.json"))
    if jobs:
        some = ", ".join(jobs[:3]) + (", …" if len(jobs) > 3 else "")
        return JobError(f"{folder} is a folder of jobs, not a job", f"name a job below {folder}/: {some}")
    return JobError(f"{folder} holds no trials", "run systems first: harness run")


def _grade(trial: Trial, tasks: "_Tasks") -> TrialScore:
    data, gold, _ = tasks.gold(trial.task)
    status, cause, score = trial.status, trial.cause, None
    if status != "dead":
        try:
            score = score_parts(data, trial.report, trial.submission, trial.audit)
        except UnsealedError as error:
            status, cause = "dead", str(error)
    return TrialScore(
        trial=trial.name,
        task=trial.task,
        scenario=gold.scenario,
        system=trial.system,
        cluster=tasks.cluster(trial.task),
        gold=gold.verdict,
        fragile=gold.fragile,
        definition_fragile=gold.definition_fragile,
        label=gold.label,
        status=status,
        cause=cause,
        attempts=trial.attempts,
        score=score,
    )


def _without_copies(graded: Sequence[TrialScore]) -> list[TrialScore]:
    """The trials, dead where two are one: the same audit, the same calls to the millisecond."""
    owners: dict[str, list[str]] = {}
    for trial in graded:
        if trial.score and (last := trial.score["audit"]["last_call"]):
            owners.setdefault(last, []).append(trial.trial)
    cause = {
        name: f"its audit is also that of {next(other for other in names if other != name)}"
        for names in owners.values()
        for name in names
        if len(names) > 1
    }
    return [
        replace(trial, status="dead", cause=cause[trial.trial], score=None) if trial.trial in cause else trial
        for trial in graded
    ]


class _Tasks:
    """A tasks folder, as grading needs it: gold files, clusters, digests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        manifest = _json(folder, "manifest.json")
        if manifest is None:
            raise TaskError(f"{folder} is not a tasks folder: manifest.json cannot be read", _REBUILD)
        self.classification = str(manifest.get("classification", "credentialed"))
        self.release = str(manifest.get("release", ""))
        tasks = manifest.get("tasks")
        self._entries: dict[str, Mapping[str, Any]] = tasks if isinstance(tasks, dict) else {}
        self._golds: dict[str, tuple[bytes, Gold, str]] = {}

    def gold(self, task: str) -> tuple[bytes, Gold, str]:
        """A task's gold file: its bytes, its content, its digest."""
        if task not in self._golds:
            if task not in self._entries:
                raise JobError(f"the job has a trial of task {task}, which {self._folder} has not", _REBUILD)
            reading = read_file(self._folder, task, "tests", "gold.json", cap=MAX_GOLD)
            if reading.data is None:
                raise TaskError(f"task {task}: gold.json {reading.problem or 'is missing'}", _REBUILD)
            try:
                gold = read_gold(json.loads(reading.data))
            except (GoldError, ValueError, RecursionError) as error:
                raise TaskError(f"task {task}: its gold is damaged: {error}", _REBUILD) from error
            if gold.task != task:
                raise TaskError(f"task {task}: its gold is that of {gold.task}", _REBUILD)
            digest = digest_gold(reading.data)
            if digest != self._entries[task].get("gold_digest"):
                raise TaskError(f"task {task}: its gold is not as it was built", _REBUILD)
            self._golds[task] = (reading.data, gold, digest)
        return self._golds[task]

    def cluster(self, task: str) -> str:
        """The opaque name of the task's subject; the task's own where the manifest has none."""
        return str(self._entries[task].get("cluster") or task)

    def digest(self, tasks: set[str]) -> str:
        """One digest over the gold of these tasks."""
        lines = "".join(f"{task} {self.gold(task)[2]}\n" for task in sorted(tasks))
        return digest_bytes(lines.encode())

    def require_unchanged(self, task: str, agent_digest: str) -> None:
        """JobError if the task that was answered is not the one that is in the folder now."""
        entry = self._entries.get(task)
        if entry is None or entry.get("agent_digest") != agent_digest:
            change = "is not there" if entry is None else "is another one, as its agent saw it,"
            raise JobError(f"task {task} {change} in {self._folder}", _REBUILD)


def _read_plan(job: Path) -> Plan:
    config = _json(job, "config.json") or {}
    own = config.get("clinicare")
    own = own if isinstance(own, dict) else {}
    tasks, systems = own.get("tasks"), own.get("systems")
    if not isinstance(tasks, dict) or not isinstance(systems, dict):
        return Plan(frozenset(), {}, {})
    trials = frozenset((str(task), str(tag)) for task in tasks for tag in systems)
    return Plan(trials, systems, tasks)


def _json(folder: Path, name: str) -> dict[str, Any] | None:
    reading = read_file(folder, name, cap=_MAX_RECORD)
    try:
        value = json.loads(reading.data or b"null")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
