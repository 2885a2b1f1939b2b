"""What one trial may take, read from the templates of a task directory."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.data import data_folder

TRIALS_AT_A_TIME = 4
"""The concurrency that a machine is measured against."""

_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_ENVIRONMENT_START = 600
"""Seconds that Harbor gives an environment to come up, on top of the task's own timeouts."""


@dataclass(frozen=True)
class Limits:
    """Of one trial: memory of all its containers and disk, in bytes; how long it can last, in seconds."""

    memory: int
    storage: int
    seconds: int


def trial_limits() -> Limits:
    """The limits that tasks are built with."""
    folder = data_folder("docker") / "task"
    composes = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("docker-compose*.yaml"))]
    return read_limits((folder / "task.toml").read_text(encoding="utf-8"), composes)


def read_limits(task: str, composes: Iterable[str]) -> Limits:
    """The limits in a task.toml and its compose files, both templates: their places are not filled yet."""
    memory = max(_numbers("memory_mb", task), default=0) * 2**20  # agent and verifier, one after the other
    memory += sum(_size(found) for text in composes for found in _MEMORY.finditer(text))
    storage = max(_numbers("storage_mb", task), default=0) * 2**20
    seconds = sum(_numbers("timeout_sec", task)) + _ENVIRONMENT_START
    return Limits(memory, storage, seconds)


_MEMORY = re.compile(r"^\s*mem_limit:\s*\"?(\d+)([bkmg]?)b?\"?\s*$", re.MULTILINE | re.IGNORECASE)


def _numbers(key: str, text: str) -> list[int]:
    return [int(found) for found in re.findall(rf"^{key}\s*=\s*(\d+)", text, re.MULTILINE)]


def _size(found: re.Match[str]) -> int:
    return int(found[1]) * _UNITS[found[2].lower()]
