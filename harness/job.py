"""A job folder: what makes a resume valid, which trials are whole, and one run at a time."""

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.digests import digest_bytes
from harness.errors import JobError
from harness.locks import held
from harness.place import Place
from harness.readers import Reader
from harness.scoring.files import read_file
from harness.systems import System
from harness.taskset import TaskSet
from harness.trial import MAX_RECORD, find_trials
from mcp_mimic.text.slips import first_slip

PARTIAL_SUFFIX = ".partial"
LOCK_FILE = ".lock"
"""Held by the process that runs the job."""
_NEW_NAME = "give the run a new --job-name"


class PlannedSystem(System):
    """A system as a job holds it: what it is, where it runs, and the code that answered."""

    runs_in: Place
    code: str = Field(
        default="", description="digest of the file with the agent's class, if it is a user's own"
    )
    services: str = Field(default="", description="digest of the compose files that join its trials")

    @classmethod
    def of(cls, system: System, place: Place) -> "PlannedSystem":
        """The system with its code as it is now; what it sets in its container is told by digest, as it may be a key."""
        fields = system.model_dump()
        if system.harbor is not None:
            settings = system.harbor.environment.items()
            fields["harbor"]["environment"] = {name: digest_bytes(value.encode()) for name, value in settings}
        return cls(
            **fields,
            runs_in=place,
            code=system.code_digest(place),
            services=system.services_digest(place),
        )

    def change_since(self, begun: "PlannedSystem") -> str | None:
        """What has changed that its answers may depend on; None if nothing has."""
        aside = {"about", "code", "services", "runs_in"}
        if self.runs_in != begun.runs_in:
            return f"where it runs ({begun.runs_in}, now {self.runs_in})"
        if self.model_dump(exclude=aside) != begun.model_dump(exclude=aside):
            return "its definition"
        if self.code != begun.code:
            return "its agent's code"
        return None if self.services == begun.services else "its compose files"


class JobPlan(BaseModel):
    """What a job's trials answer and who answers: the part of config.json that is the harness's own."""

    model_config = ConfigDict(extra="forbid")

    store: str
    classification: str
    release: str
    tasks: dict[str, str] = Field(description="task id → digest of what its agent can see")
    rest: dict[str, str] = Field(default={}, description="task id → digest of what runs and scores it")
    systems: dict[str, PlannedSystem]
    images: dict[str, str] = Field(default={}, description="image → id, once a system runs in containers")
    policies: dict[str, str] = Field(default={}, description="policy document → digest of its text, or empty")
    readers: dict[str, str] = Field(default={}, description="who was named to read it → its agreement")


@dataclass(frozen=True)
class Setting:
    """A run's inputs and outputs, and who may read the store; small enough to hand to a worker process."""

    tasks: Path
    store: Path
    job: Path
    corpus: Path | None = None
    """Folder of policy documents; None is the one that comes with the harness."""
    readers: tuple[Reader, ...] = ()


@dataclass(frozen=True)
class Job:
    """One job folder, laid out as Harbor lays out its own."""

    path: Path

    @property
    def name(self) -> str:
        """The job's name."""
        return self.path.name

    def trial(self, task_id: str, tag: str) -> Path:
        """Where the trial of one task by one system is, once it is whole."""
        return self.path / f"{task_id}__{tag}"

    def partial(self, task_id: str, tag: str) -> Path:
        """Where that trial is written until it is whole: hidden, and one a process."""
        return self.path / f".{task_id}__{tag}.{os.getpid()}{PARTIAL_SUFFIX}"

    def is_done(self, task_id: str, tag: str) -> bool:
        """Whether the trial is whole."""
        return (self.trial(task_id, tag) / "result.json").is_file()

    def has_reward(self, task_id: str, tag: str) -> bool:
        """Whether the whole trial was scored; one that was not is dead."""
        return (self.trial(task_id, tag) / "verifier" / "reward.json").is_file()

    def keep(self, written: Path, task_id: str, tag: str) -> None:
        """Put a trial that this process has written in its place; the first whole one stands."""
        try:
            written.rename(self.trial(task_id, tag))
        except OSError:
            if not self.is_done(task_id, tag):
                raise
            shutil.rmtree(written)

    def require_room(self, task_id: str, tag: str) -> None:
        """JobError if something other than a whole trial is where that trial belongs."""
        trial = self.trial(task_id, tag)
        if os.path.lexists(trial) and not self.is_done(task_id, tag):
            raise JobError(
                f"{trial} is there and is no whole trial: it has no result.json",
                "move it away and run the same command again",
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the job for this process and clear what an interrupted run left; JobError if it is held."""
        busy = JobError(f"job {self.name} is being run by another process", f"wait for it, or {_NEW_NAME}")
        with held(self.path / LOCK_FILE, busy):
            for left in self.path.glob(f".*{PARTIAL_SUFFIX}"):
                shutil.rmtree(left)
            yield

    def holds(self, tasks: TaskSet, chosen: Sequence[str], systems: Mapping[str, PlannedSystem]) -> bool:
        """Whether the job was begun with all of this; JobError if it was begun with anything else."""
        plan, begun = _plan(tasks, chosen, systems), self._begun()
        if begun is None:
            return False
        self._require_same(begun, plan, tasks)
        return plan.tasks.keys() <= begun.tasks.keys() and plan.systems.keys() <= begun.systems.keys()

    def agree(
        self,
        tasks: TaskSet,
        chosen: Sequence[str],
        systems: Mapping[str, PlannedSystem],
        concurrency: int,
        images: Mapping[str, str],
        policies: Mapping[str, str] | None = None,
        readers: Sequence[Reader] = (),
    ) -> JobPlan:
        """Record what this run adds to the job; JobError if the job was begun with anything else.

        `images` are those that its containers run from, none if it needs none; `policies` the documents that
        its tasks may be served, by digest; `readers` who is named to read a credentialed store.
        """
        plan = _plan(tasks, chosen, systems, images, policies, readers)
        begun = self._begun()
        if begun is not None:
            self._require_same(begun, plan, tasks)
            plan = begun.model_copy(
                update={
                    "tasks": begun.tasks | plan.tasks,
                    "rest": begun.rest | plan.rest,
                    "systems": begun.systems | plan.systems,
                    "images": begun.images | plan.images,
                    "policies": begun.policies | plan.policies,
                    "readers": begun.readers | plan.readers,
                }
            )
        config = _harbor_config(self.path, tasks.path, plan, concurrency)
        _write_json(self.path / "config.json", config | {"clinicare": plan.model_dump(mode="json")})
        return plan

    def is_summarised(self) -> bool:
        """Whether result.json is over as many trials as are whole."""
        try:
            told = json.loads((self.path / "result.json").read_bytes())["n_total_trials"]
        except (OSError, ValueError, KeyError, TypeError):
            return False
        whole = [name for name in find_trials(self.path) if (self.path / name / "result.json").is_file()]
        return bool(told == len(whole))

    def summarise(self, started: datetime) -> None:
        """Write result.json over all whole trials, in Harbor's form."""
        from harbor.models.job.result import JobResult, JobStats
        from harbor.models.trial.result import TrialResult

        results = []
        for name in find_trials(self.path):
            record = read_file(self.path, name, "result.json", cap=MAX_RECORD)
            with suppress(ValidationError):  # grading tells of trials whose record cannot be read
                results.append(TrialResult.model_validate_json(record.data or b""))
        stats = JobStats.from_trial_results(results, n_total_trials=len(results))
        finished = datetime.now(UTC)
        summary = JobResult(
            id=uuid.uuid5(uuid.NAMESPACE_URL, self.name),
            started_at=started,
            updated_at=finished,
            finished_at=finished,
            n_total_trials=len(results),
            stats=stats,
        )
        _write_text(self.path / "result.json", summary.model_dump_json(indent=2, exclude={"trial_results"}))

    def _begun(self) -> JobPlan | None:
        file = self.path / "config.json"
        if not file.exists():
            return None
        plan: Any = None
        try:
            plan = json.loads(file.read_bytes())["clinicare"]
            return JobPlan.model_validate(plan)
        except ValidationError as error:
            raise JobError(f"{file}, clinicare: {first_slip(error, JobPlan, plan)}", _NEW_NAME) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise JobError(f"{file} is not the configuration of a job of this harness", _NEW_NAME) from error

    def _require_same(self, begun: JobPlan, plan: JobPlan, tasks: TaskSet) -> None:
        if begun.store != plan.store:
            raise JobError(f"job {self.name} was begun on tasks of another store", _NEW_NAME)
        for task_id, digest in begun.tasks.items():
            entry = tasks.manifest.tasks.get(task_id)
            if entry is None or (entry.agent_digest, entry.rest_digest) != (
                digest,
                begun.rest.get(task_id, entry.rest_digest),
            ):
                change = "is gone from the tasks folder" if entry is None else "has changed"
                raise JobError(f"job {self.name}: task {task_id} {change} since the job was begun", _NEW_NAME)
        for image, number in plan.images.items():
            if begun.images.get(image, number) != number:
                raise JobError(
                    f"job {self.name}: image {image} has changed since the job was begun", _NEW_NAME
                )
        for document, digest in plan.policies.items():
            if begun.policies.get(document, digest) != digest:
                raise JobError(
                    f"job {self.name}: policy document {document} has changed since the job was begun",
                    _NEW_NAME,
                )
        for tag, system in plan.systems.items():
            if altered := system.change_since(begun.systems.get(tag, system)):
                raise JobError(
                    f"job {self.name}: system {tag} has changed since the job was begun: {altered}", _NEW_NAME
                )


def _plan(
    tasks: TaskSet,
    chosen: Sequence[str],
    systems: Mapping[str, PlannedSystem],
    images: Mapping[str, str] | None = None,
    policies: Mapping[str, str] | None = None,
    readers: Sequence[Reader] = (),
) -> JobPlan:
    manifest = tasks.manifest
    return JobPlan(
        store=manifest.store,
        classification=manifest.classification,
        release=manifest.release,
        tasks={task_id: manifest.tasks[task_id].agent_digest for task_id in chosen},
        rest={task_id: manifest.tasks[task_id].rest_digest for task_id in chosen},
        systems=dict(systems),
        images=dict(images or {}),
        policies=dict(policies or {}),
        readers={reader.model: reader.agreement for reader in readers},
    )


def _harbor_config(job: Path, tasks: Path, plan: JobPlan, concurrency: int) -> dict[str, Any]:
    """The keys of Harbor's own job configuration, so that its viewer can open the job."""
    return {
        "schema_version": 1,
        "job_name": job.name,
        "jobs_dir": str(job.parent),
        "n_concurrent_trials": concurrency,
        "agents": [_harbor_agent(system) for system in plan.systems.values()],
        "datasets": [{"path": str(tasks)}],
    }


def _harbor_agent(system: PlannedSystem) -> dict[str, Any]:
    if system.harbor is None or system.runs_in == "direct":
        return {"name": system.tag, "import_path": system.agent}
    return {"name": system.harbor.agent, "model_name": system.harbor.model}


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    _write_text(path, json.dumps(value, indent=2, ensure_ascii=False))


def _write_text(path: Path, text: str) -> None:
    """Write whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text + "\n", encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
