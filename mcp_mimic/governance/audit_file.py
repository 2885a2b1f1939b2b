"""The file of an audit: locked, appended to and synced, and given up once it is not what was written.

Lines are whole on disk before `append` returns. What a killed server leaves is a whole number of lines and at
most the beginning of one more, which the next server sets aside.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from mcp_mimic.errors import SettingsError, ToolError

_ANOTHER_FOLDER = "name a folder that this user may write with --audit"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_TELL_OPERATOR = "tell the operator that the audit cannot be written; nothing else helps"


@dataclass(frozen=True)
class _Failed:
    """A write that did not get to the disk whole: why, and its length in bytes."""

    reason: str
    size: int


class AuditWrites:
    """Whether the last write to any audit of a server worked; for several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failed: _Failed | None = None

    def worked(self, size: int) -> None:
        """Note that a write of so many bytes worked; one that is shorter than what failed proves nothing."""
        with self._lock:
            if self._failed is not None and size >= self._failed.size:
                self._failed = None

    def failed(self, error: OSError, size: int = 1) -> None:
        """Note that a write of so many bytes failed."""
        with self._lock:
            longest = max(size, self._failed.size if self._failed else 0)
            self._failed = _Failed(str(error.strerror), longest)

    def problem(self, folder: Path) -> str | None:
        """Why audits in `folder` cannot be written, or None.

        After a failure as many bytes are tried in a file without a name, so that a server which gets no calls
        because it is not ready finds out by itself that there is room again.
        """
        with self._lock:
            if self._failed is None:
                return None
            try:
                with tempfile.TemporaryFile(dir=folder, buffering=0) as tried:
                    _write_all(tried.fileno(), bytes(self._failed.size))
                    os.fsync(tried.fileno())
            except OSError:
                return f"the last line of an audit could not be written: {self._failed.reason}"
            self._failed = None
            return None


class AuditFile:
    """One audit on disk, held under an exclusive lock for as long as it is open.

    SettingsError if it cannot be opened, is no regular file, or belongs to another live server. Not for two
    threads at once: `AuditLog` has a lock around it.
    """

    def __init__(self, path: Path, writes: AuditWrites) -> None:
        self._path = path
        self._writes = writes
        try:
            self._fd = _open_locked(path)
        except SettingsError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _NO_ROOM:
                writes.failed(error.__cause__)
            raise
        self._size = 0
        self._torn = False

    def take_over(self) -> bytes:
        """The whole lines that are there; the torn end of a killed server's last line moves to a file beside them."""
        data = _read_all(self._fd)
        whole = data[: data.rfind(b"\n") + 1]
        torn = data[len(whole) :]
        self._size = len(whole)
        if torn:
            aside = self._path.with_name(f"audit.torn.{hashlib.sha256(torn).hexdigest()[:12]}")
            try:
                aside.write_bytes(torn)
                os.ftruncate(self._fd, self._size)
            except OSError as error:
                raise SettingsError(
                    f"the torn end of {self._path} cannot be set aside: {error.strerror}", _ANOTHER_FOLDER
                ) from error
        return whole

    def append(self, *lines: str) -> None:
        """Write lines and sync them once; ToolError `audit_unavailable`, saying why, if not all get there whole."""
        data = "".join(f"{line}\n" for line in lines).encode()
        try:
            self._require_own()
            self._torn = True
            _write_all(self._fd, data)
            os.fsync(self._fd)
        except OSError as error:
            self._cut()
            self._writes.failed(error, len(data))
            raise ToolError(
                f"the call cannot be audited ({error.strerror}), so it is not answered",
                _TELL_OPERATOR,
                code="audit_unavailable",
            ) from error
        self._torn = False
        self._size += len(data)
        self._writes.worked(len(data))

    def check(self) -> None:
        """OSError if the file is not in its place, or not as this server left it."""
        self._require_own()

    def unwritten(self) -> str | None:
        """Why the last line did not get to the disk, or None once one would."""
        return self._writes.problem(self._path.parent)

    def close(self) -> None:
        """Let the file and its lock go."""
        os.close(self._fd)

    def _require_own(self) -> None:
        self._cut()
        own = os.fstat(self._fd)
        try:
            there = self._path.stat(follow_symlinks=False)
        except FileNotFoundError as error:
            raise OSError(errno.ENOENT, "the audit file was removed") from error
        if (there.st_dev, there.st_ino) != (own.st_dev, own.st_ino):
            raise OSError(errno.ESTALE, "another file is in the audit's place")
        if own.st_size != self._size:
            raise OSError(errno.ESTALE, "the audit file was changed by somebody else")

    def _cut(self) -> None:
        """Take back the part of a line that could not be finished, now or when that is possible again."""
        if self._torn:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._size)
                self._torn = False


def _open_locked(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, 0o644)
    except OSError as error:
        raise SettingsError(
            f"the audit {path} cannot be written: {error.strerror}", _ANOTHER_FOLDER
        ) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise SettingsError(f"the audit {path} cannot be written: not a regular file", _ANOTHER_FOLDER)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise SettingsError(
            f"another live server writes {path}", "give each server its own --audit"
        ) from error
    return fd


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _read_all(fd: int) -> bytes:
    return b"".join(iter(lambda: os.read(fd, 1 << 20), b""))
