"""A trial's folder, as Harbor or a direct run leaves it. What an agent put there is hostile input.

Every file is opened without following links, must be regular, and is read up to a cap; a folder that is a
link is refused.
"""

import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.errors import JobError
from harness.scoring.files import MAX_AUDIT, MAX_REPORT, FileReading, read_file
from harness.scoring.trail import read_trail

Status = Literal["ok", "agent_error", "dead"]

MAX_RECORD = 16 * 1024 * 1024
_MAX_CAUSE = 300


@dataclass(frozen=True)
class Trial:
    """One trial: whose it is, whether it can be scored, and the parts to score it from.

    `status` is ok, agent_error (the agent raised, yet there is a sealed result) or dead; `cause` says what
    was raised or what killed it. `gold_digest` is the gold's at the time of the run, if it was recorded.
    """

    name: str
    task: str
    system: str
    status: Status
    cause: str | None
    attempts: int
    report: FileReading
    submission: FileReading
    audit: FileReading
    gold_digest: str | None


def find_trials(job: Path) -> list[str]:
    """The names of a job's trial folders, sorted; a link among them is named too, and reads as dead."""
    try:
        entries = sorted(os.scandir(job), key=lambda entry: entry.name)
    except OSError as error:
        raise JobError(
            f"{job} is not a job's folder ({error.strerror})", "name a folder below jobs/"
        ) from error
    shown = [entry for entry in entries if not entry.name.startswith(".") and "__" in entry.name]
    return [entry.name for entry in shown if entry.is_symlink() or entry.is_dir(follow_symlinks=False)]


def read_trial(job: Path, name: str) -> Trial:
    """Read the trial `name` of a job; whatever is wrong with it makes it dead, with the cause."""
    if not stat.S_ISDIR((job / name).lstat().st_mode):
        return _refused(name)
    named_task, _, named_system = name.rpartition("__")
    result, config = _record(job, name, "result.json"), _record(job, name, "config.json")
    audit = read_file(job, name, "artifacts", "audit", "audit.jsonl", cap=MAX_AUDIT)
    status, cause = _status(result, audit)
    metadata = _inner(result, "agent_result", "metadata")
    attempts = metadata.get("attempts")
    score = _record(job, name, "verifier", "score.json")
    return Trial(
        name=name,
        task=_task(result, config) or named_task,
        system=_words(metadata, "system") or _system(result, config) or named_system,
        status=status,
        cause=cause,
        attempts=attempts if isinstance(attempts, int) else 1,
        report=read_file(job, name, "artifacts", "workspace", "report.md", cap=MAX_REPORT),
        submission=read_file(job, name, "artifacts", "audit", "report.md", cap=MAX_REPORT),
        audit=audit,
        gold_digest=_words(score, "gold_digest"),
    )


def read_exception(job: Path, name: str) -> str | None:
    """What the record of the trial `name` says was raised, on one short line; None if nothing was."""
    return _raised(_record(job, name, "result.json"))


def _refused(name: str) -> Trial:
    """A trial whose folder is a link: nothing behind it is opened."""
    task, _, system = name.rpartition("__")
    no = FileReading()
    cause = "the trial's folder is a link"
    return Trial(name, task, system, "dead", cause, 1, report=no, submission=no, audit=no, gold_digest=None)


def _status(result: Mapping[str, Any], audit: FileReading) -> tuple[Status, str | None]:
    raised = _raised(result)
    if not result:
        return "dead", "the trial did not end (no readable result.json)"
    if not _inner(result, "verifier_result").get("rewards"):
        return "dead", raised or "no verifier result"
    problem = _unsealed(audit)
    if problem is not None:
        return "dead", problem
    return ("agent_error", raised) if raised else ("ok", None)


def _unsealed(audit: FileReading) -> str | None:
    """Why the audit cannot be trusted; None if it is whole and sealed."""
    if audit.data is None:
        return f"the audit {audit.problem or 'is missing'}"
    trail = read_trail(audit_lines(audit.data))
    return None if trail.sealed else f"the audit cannot be trusted: {trail.problem}"


def audit_lines(data: bytes) -> list[str]:
    """An audit's lines; bytes that are not UTF-8 break the line that they are in, and with it the chain."""
    return data.decode("utf-8", errors="replace").removesuffix("\n").split("\n")


def _raised(result: Mapping[str, Any]) -> str | None:
    """The exception that the trial or one of its steps recorded, on one short line."""
    steps = result.get("step_results")
    holders: Iterable[Any] = [result, *(steps if isinstance(steps, list) else [])]
    for holder in holders:
        info = _inner(holder, "exception_info") if isinstance(holder, dict) else {}
        if info:
            words = f"{info.get('exception_type')}: {info.get('exception_message')}".split()
            return _shown("".join(character for character in " ".join(words) if character.isprintable()))
    return None


def _shown(line: str) -> str:
    """A line that is not too long: of a longer one its start and its end, where an engine says why."""
    if len(line) <= _MAX_CAUSE:
        return line
    start = _MAX_CAUSE // 3
    return f"{line[:start]} … {line[start + 3 - _MAX_CAUSE :]}"


def _task(result: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    name = _words(result, "task_name") or _words(_inner(config, "task"), "path")
    return name.rstrip("/").rpartition("/")[2] if name else None


def _system(result: Mapping[str, Any], config: Mapping[str, Any]) -> str | None:
    name = _words(_inner(result, "agent_info"), "name") or _words(_inner(config, "agent"), "name")
    model = _words(_inner(result, "agent_info", "model_info"), "name")
    return f"{name}@{model}" if name and model else name


def _record(job: Path, *parts: str) -> Mapping[str, Any]:
    """A JSON object of the trial's folder; empty if it is missing or none."""
    reading = read_file(job, *parts, cap=MAX_RECORD)
    try:
        value = json.loads(reading.data or b"null")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _inner(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        value = data.get(name)
        if not isinstance(value, dict):
            return {}
        data = value
    return data


def _words(data: Mapping[str, Any], name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) and value else None
