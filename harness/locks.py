"""One process at a time: a lock file that is held for as long as a block runs."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from harness.errors import HarnessError


@contextmanager
def held(file: Path, busy: HarnessError) -> Iterator[None]:
    """Hold the lock `file`, made with its folder if need be; raises `busy` if another process holds it.

    So it does if another process has just ended and removed the file.
    """
    with _opened(file) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = os.fstat(lock.fileno()).st_ino == file.stat().st_ino
        except OSError:
            ours = False
        if not ours:
            raise busy
        yield


def _opened(file: Path) -> TextIO:
    while True:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            return file.open("a+")
        except FileNotFoundError:  # another process has just ended and removed the folder
            continue
