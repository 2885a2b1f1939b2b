"""The folder in which an import works: locked, resumable, and never to be taken for a store."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mcp_mimic.errors import StoreError

_JOURNAL_VERSION = 1


@dataclass(frozen=True)
class Finished:
    """A finished table: the file it was read from as it was then, and what came of it.

    `path` and `sha256` are empty for a table of an absent module. `inputs` are the content digests of the
    tables that its availability was worked out from.
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str
    columns: tuple[str, ...]
    rows: int
    digest: str
    rules: str
    inputs: dict[str, str]


@dataclass
class Journal:
    """Which tables of a build are finished; written to the disk after each that came from a file."""

    file: Path
    finished: dict[str, Finished] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> "Journal":
        """The journal in `file`; an empty one where it is absent, unreadable or of another version."""
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            entries = data["finished"] if data["version"] == _JOURNAL_VERSION else {}
            finished = {name: _finished(entry) for name, entry in entries.items()}
        except (OSError, ValueError, KeyError, TypeError):
            finished = {}
        return cls(file, finished)

    def record(self, table: str, entry: Finished) -> None:
        """Add a finished table."""
        self.finished[table] = entry
        if entry.path:
            self.write()

    def forget(self, table: str) -> None:
        """Take a table back, on the disk too, before its rows are touched: from now on it is not finished."""
        if self.finished.pop(table, None) is not None:
            self.write()

    def write(self) -> None:
        """Put what is finished on the disk."""
        entries = {name: asdict(done) for name, done in self.finished.items()}
        write_whole(self.file, json.dumps({"version": _JOURNAL_VERSION, "finished": entries}, indent=1))


def _finished(entry: dict[str, Any]) -> Finished:
    return Finished(**(entry | {"columns": tuple(entry["columns"])}))


def write_whole(file: Path, text: str) -> None:
    """Write `text` so that `file` holds all of it or what it held before, power cuts included."""
    partial = file.with_name(f".{file.name}.partial")
    with partial.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    partial.replace(file)
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Make renames inside `folder` last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class BuildFolder:
    """`.NAME.importing` beside the store to be: a lock, a journal, and the half-made store in `store/`."""

    root: Path

    @classmethod
    def beside(cls, store: Path) -> "BuildFolder":
        """The build folder of the store in `store`, on the same disk even where `store` is a link."""
        store = store.resolve()
        return cls(store.parent / f".{store.name}.importing")

    @property
    def half_made(self) -> Path:
        """The folder that becomes the store."""
        return self.root / "store"

    @property
    def temporary(self) -> Path:
        """Where DuckDB spills what does not fit into memory."""
        return self.root / "tmp"

    @property
    def staging(self) -> Path:
        """The database that holds one table between reading and sorting."""
        return self.root / "staging.duckdb"

    def journal(self) -> Journal:
        """The journal of earlier, interrupted imports into the same store."""
        return Journal.read(self.root / "journal.json")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Create the folder and hold it; StoreError if another import does."""
        try:
            handle = self._lock()
        except OSError as error:
            raise StoreError(
                f"{self.root.parent}: cannot be written to ({error.strerror})",
                "choose another --store folder",
            ) from error
        try:
            self.half_made.mkdir(exist_ok=True)
            shutil.rmtree(self.temporary, ignore_errors=True)
            yield
        finally:
            os.close(handle)

    def publish(self, store: Path) -> None:
        """Rename the finished store into place and remove what is left of the build."""
        sync_folder(self.half_made)
        self.half_made.rename(store.resolve())
        sync_folder(self.root.parent)
        self.remove()

    def remove(self) -> None:
        """Remove the build folder."""
        shutil.rmtree(self.root, ignore_errors=True)

    def _lock(self) -> int:
        while True:
            self.root.mkdir(parents=True, exist_ok=True)
            file = self.root / "lock"
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(handle).st_ino == file.stat().st_ino:
                    return handle
            except BlockingIOError as error:
                os.close(handle)
                raise StoreError(
                    f"another import into {self.root.name[1:].removesuffix('.importing')} is running",
                    "wait for it to end, or choose another --store folder",
                    code="busy",
                ) from error
            except FileNotFoundError:
                pass  # the other import ended and removed the folder between our two steps
            os.close(handle)
