"""A folder of built tasks, as a run reads it: its manifest, and each task's files."""

import fnmatch
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.digests import digest_files, task_files
from harness.errors import TaskError
from mcp_mimic.contract import ContractError, Grant
from mcp_mimic.text.near import did_you_mean
from mcp_mimic.text.slips import slip_in_json

_PARTS = {
    "agent_digest": "what its agent sees",
    "gold_digest": "its gold",
    "plan_digest": "its solution",
    "rest_digest": "what runs or scores it",
}
"""The digests of a task, and of what they are."""

_REBUILD = "build the tasks again with `harness build`"


class TaskEntry(BaseModel):
    """What the manifest says of one task: its scenario and the digests of its parts, see `harness.digests`."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    scenario: str
    agent_digest: str
    gold_digest: str
    plan_digest: str
    rest_digest: str


class TasksManifest(BaseModel):
    """tasks/manifest.json: the store that the tasks were built from, and the tasks by id."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    store: str
    classification: str
    release: str
    tasks: Mapping[str, TaskEntry]


@dataclass(frozen=True)
class Task:
    """One task directory."""

    id: str
    folder: Path
    entry: TaskEntry

    @property
    def instruction(self) -> str:
        """What the agent is told."""
        return self._text("instruction.md")

    @property
    def gold_path(self) -> Path:
        """The gold, for the verifier and for instruments."""
        return self.folder / "tests" / "gold.json"

    def gold(self) -> dict[str, Any]:
        """The gold as data."""
        gold: dict[str, Any] = self._json("tests/gold.json")
        return gold

    def grant(self) -> Grant:
        """What the chart server may serve in this task."""
        try:
            return Grant.from_json(self._json("environment/grant.json"))
        except ContractError as error:
            raise TaskError(f"task {self.id}: {error}", _REBUILD) from error

    def agent_seconds(self, default: float = 600.0) -> float:
        """How long an agent may take, from task.toml."""
        try:
            config = tomllib.loads(self._text("task.toml"))
        except tomllib.TOMLDecodeError as error:
            raise TaskError(f"task {self.id}: task.toml is not TOML: {error}", _REBUILD) from error
        return float(config.get("agent", {}).get("timeout_sec", default))

    def require_as_built(self) -> None:
        """TaskError unless every file is what the manifest says was built, and no other file is there."""
        try:
            found = digest_files(task_files(self.folder))
        except OSError as error:
            where = Path(error.filename or self.folder).relative_to(self.folder)
            raise TaskError(f"task {self.id}: {where} cannot be read ({error.strerror})", _REBUILD) from error
        except KeyError as error:
            raise TaskError(f"task {self.id}: {error.args[0]} is missing", _REBUILD) from error
        except ValueError as error:
            raise TaskError(f"task {self.id}: environment/grant.json is not JSON", _REBUILD) from error
        for name, what in _PARTS.items():
            if found[name] != getattr(self.entry, name):
                raise TaskError(f"task {self.id}: {what} is not as it was built", _REBUILD)

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self._text(name))
        except ValueError as error:
            raise TaskError(f"task {self.id}: {name} is not JSON", _REBUILD) from error

    def _text(self, name: str) -> str:
        try:
            return self._read(name).decode("utf-8")
        except UnicodeDecodeError as error:
            raise TaskError(f"task {self.id}: {name} is not UTF-8", _REBUILD) from error

    def _read(self, name: str) -> bytes:
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise TaskError(f"task {self.id}: {name} cannot be read ({error.strerror})", _REBUILD) from error


@dataclass(frozen=True)
class TaskSet:
    """A tasks folder and its manifest."""

    path: Path
    manifest: TasksManifest

    @classmethod
    def open(cls, path: Path) -> "TaskSet":
        """Read the folder's manifest; TaskError if it is not a whole tasks folder."""
        file = path / "manifest.json"
        try:
            text = file.read_bytes()
            manifest = TasksManifest.model_validate_json(text)
        except OSError as error:
            raise TaskError(f"{path} is not a tasks folder: {file.name} cannot be read", _REBUILD) from error
        except ValidationError as error:
            raise TaskError(f"{file}: {slip_in_json(error, TasksManifest, text)}", _REBUILD) from error
        return cls(path, manifest)

    def task(self, task_id: str) -> Task:
        """One task by id; TaskError if the folder does not have it."""
        if task_id not in self.manifest.tasks:
            meant = did_you_mean(task_id, self.manifest.tasks, most=2)
            raise TaskError(
                f"no task {task_id} in {self.path}",
                f"{meant} list the folder, or build it again from the cohort".strip(),
            )
        return Task(task_id, self.path / task_id, self.manifest.tasks[task_id])

    def choose(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """Ids of the tasks that the patterns name, each an id or with * ? [] in it, sorted.

        TaskError for one that names none.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            if not set(pattern) & set("*?["):
                chosen.add(self.task(pattern).id)
                continue
            matching = fnmatch.filter(self.manifest.tasks, pattern)
            if not matching:
                raise TaskError(
                    f"no task in {self.path} is named by {pattern}",
                    f"task ids are like {min(self.manifest.tasks, default='SCENARIO__NUMBER')}",
                )
            chosen.update(matching)
        return tuple(sorted(chosen))

    def require_store(self, fingerprint: str) -> None:
        """TaskError unless the tasks were built from the store with this fingerprint."""
        if self.manifest.store != fingerprint:
            raise TaskError(
                f"tasks in {self.path} were built from another store ({self.manifest.store[:12]}…, not {fingerprint[:12]}…)",
                "name the store that they were built from with --store, or build the tasks again",
            )
