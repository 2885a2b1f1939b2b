"""Where a hospital is written until it is whole: one process at a time, and nothing of it stays behind."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from harness.errors import HarnessError


@contextmanager
def place_beside(out: Path) -> Iterator[Path]:
    """A new folder on the same disk, which becomes `out` once the block is left in peace.

    HarnessError if `out` holds something, or if another process is making it.
    """
    partial = out.with_name(f".{out.name}.partial")
    _require_room(out)
    with _locked(partial, out):
        try:
            _require_room(out)  # another process may have made it since
            shutil.rmtree(partial / "hospital", ignore_errors=True)  # left by a process that was killed
            yield partial / "hospital"
            if out.exists():
                out.rmdir()
            (partial / "hospital").rename(out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _require_room(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise HarnessError(f"{out} exists and is not empty", "name a new folder")


@contextmanager
def _locked(partial: Path, out: Path) -> Iterator[None]:
    with _lock_file(partial) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = os.fstat(lock.fileno()).st_ino == (partial / "lock").stat().st_ino
        except (BlockingIOError, FileNotFoundError):
            held = False
        if not held:  # held, or just ended and removed, by another process
            raise HarnessError(
                f"{out} is being made by another process", "wait for it, or name another folder with --out"
            )
        yield


def _lock_file(partial: Path) -> TextIO:
    while True:
        partial.mkdir(parents=True, exist_ok=True)
        try:
            return (partial / "lock").open("a")
        except FileNotFoundError:  # another process has just ended and removed the folder
            continue
