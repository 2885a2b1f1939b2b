"""Where a hospital is written until it is whole: one process at a time, and nothing of it stays behind."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import HarnessError
from harness.locks import held


@contextmanager
def place_beside(out: Path) -> Iterator[Path]:
    """A new folder on the same disk, which becomes `out` once the block is left in peace.

    HarnessError if `out` holds something, or if another process is making it.
    """
    partial = out.with_name(f".{out.name}.partial")
    _require_room(out)
    busy = HarnessError(
        f"{out} is being made by another process", "wait for it, or name another folder with --out"
    )
    with held(partial / "lock", busy):
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
