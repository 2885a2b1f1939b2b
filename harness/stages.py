"""Stages that are skipped when what they would write is there already, made from the same inputs."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import JobError
from harness.locks import held

_FILE, _LOCK = "stages.json", ".lock"


@dataclass(frozen=True)
class Stage:
    """One step: its name, what decides its output besides the stages before it, its outputs, and its work.

    `work` returns a few words on what it made. A stage that resumes by itself keeps its outputs when it
    is started again on the same inputs.
    """

    name: str
    inputs: str
    outputs: tuple[Path, ...]
    work: Callable[[], str]
    resumes: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a stage; `seconds` is 0 when it was skipped."""

    name: str
    said: str
    seconds: float
    skipped: bool


Tell = Callable[[Outcome], None]


def run_stages(folder: Path, stages: Iterable[Stage], tell: Tell) -> None:
    """Run the stages in order, keyed by their own inputs and everything before them.

    JobError if the folder is not theirs, or if another process is at it.
    """
    with _locked(folder):
        _run_all(folder, stages, tell)


def _run_all(folder: Path, stages: Iterable[Stage], tell: Tell) -> None:
    notes = _open(folder)
    key = ""
    for stage in stages:
        key = hashlib.sha256(f"{key}\n{stage.name}\n{stage.inputs}".encode()).hexdigest()
        note = notes.get(stage.name, {})
        if note.get("key") == key and note.get("whole") and all(path.exists() for path in stage.outputs):
            tell(Outcome(stage.name, str(note.get("said", "")), 0.0, skipped=True))
            continue
        if not (stage.resumes and note.get("key") == key):
            _clear(stage.outputs)
        notes[stage.name] = {"key": key, "whole": False}
        _save(folder, notes)
        began = time.monotonic()
        said = stage.work()
        notes[stage.name] = {"key": key, "whole": True, "said": said}
        _save(folder, notes)
        tell(Outcome(stage.name, said, time.monotonic() - began, skipped=False))


def digest_of(folders: Iterable[Path]) -> str:
    """sha256 over the names and bytes of all files below the folders, compiled Python left out."""
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(folder).as_posix()
                total.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this process; one that these stages did not make is left alone."""
    if folder.exists() and not folder.is_dir():
        raise JobError(f"{folder} is no folder", "name an empty or new folder with --out")
    there = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if there - {_LOCK} and _FILE not in there:
        raise JobError(f"{folder} has other files in it", "name an empty or new folder with --out")
    busy = JobError(
        f"{folder} is being made by another process", "wait for it, or name another folder with --out"
    )
    with held(folder / _LOCK, busy):
        yield


def _open(folder: Path) -> dict[str, dict[str, object]]:
    """The folder's notes."""
    file = folder / _FILE
    try:
        notes = json.loads(file.read_bytes()) if file.is_file() else {}
    except ValueError:
        notes = {}
    return notes if isinstance(notes, dict) else {}


def _save(folder: Path, notes: dict[str, dict[str, object]]) -> None:
    draft = folder / f".{_FILE}"
    draft.write_text(json.dumps(notes, indent=2) + "\n", encoding="utf-8")
    draft.replace(folder / _FILE)


def _clear(outputs: Iterable[Path]) -> None:
    for path in outputs:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
