"""Files that an agent may have left: opened without following links, regular only, at most so many bytes."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

MAX_REPORT = 64 * 1024
MAX_AUDIT = 64 * 1024 * 1024
MAX_GOLD = 16 * 1024 * 1024

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True)
class FileReading:
    """A file's bytes; or neither bytes nor a problem if it is missing; or why it cannot be read."""

    data: bytes | None = None
    problem: str | None = None

    @property
    def missing(self) -> bool:
        """Whether there is no such file."""
        return self.data is None and self.problem is None


def read_file(root: Path, *parts: str, cap: int) -> FileReading:
    """Read `root/parts…`; below `root` no component may be a link, and no more than `cap` bytes are accepted.

    A pipe or a device is refused without waiting for it (O_NONBLOCK), and never more than `cap` + 1 bytes
    are read, whatever the file claims to be.
    """
    try:
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return FileReading()
    except OSError as error:
        return FileReading(problem=f"cannot be read ({error.strerror})")
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = inner
        inner = os.open(parts[-1], _FLAGS, dir_fd=handle)
        os.close(handle)
        handle = inner
        return _read_regular(handle, cap)
    except FileNotFoundError:
        return FileReading()
    except OSError:
        return FileReading(problem="is not a regular file that can be read")
    finally:
        os.close(handle)


def _read_regular(handle: int, cap: int) -> FileReading:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        return FileReading(problem="is not a regular file")
    chunks: list[bytes] = []
    left = cap + 1
    while left > 0 and (chunk := os.read(handle, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return FileReading(problem=f"is larger than {cap} bytes") if left == 0 else FileReading(b"".join(chunks))
