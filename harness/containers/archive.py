"""What is taken out of a container: only regular files and folders, only so much of them, nothing followed.

An agent decides what its files are, what they are called and what they point to. They arrive as the tar stream
of `docker cp`, and are written here under names that are known to stay below the target.
"""

import errno
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

_CHUNK = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT)
_MAX_DEPTH = 32
_MAX_PATH = 1024
"""Folders in folders, and bytes of a path: what copies, walks or removes the files later must not fail over them."""


@dataclass(frozen=True)
class Allowance:
    """How much is taken: bytes of one file, bytes of all files, and how many files and folders."""

    file: int
    total: int
    entries: int


@dataclass
class Taken:
    """What was taken and what was not: `cut` files end before their end, `refused` names were not written."""

    files: int = 0
    size: int = 0
    cut: int = 0
    refused: int = 0


def take_file(stream: IO[bytes], target: Path, most: int) -> Taken:
    """Write the one file of a tar stream to `target`, at most `most` bytes of it.

    Anything but a regular file leaves an empty folder in its place, which no reader can take for a file, so
    that what was there and was no file is told from what was not there.
    """
    taken = Taken()
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        member = archive.next()
        if member is None:
            return taken
        target.parent.mkdir(parents=True, exist_ok=True)
        if not member.isreg():
            target.mkdir()
            taken.refused += 1
        else:
            _write(archive, member, target, most, taken)
    return taken


def take_folder(stream: IO[bytes], target: Path, allowance: Allowance) -> Taken:
    """Write the files and folders of a tar stream of one folder below `target`, as far as the allowance goes."""
    taken = Taken()
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for number, member in enumerate(archive):
            left = min(allowance.file, allowance.total - taken.size)
            if number > allowance.entries or left <= 0:
                taken.cut += 1
                break
            inner = _inside(member.name)
            if inner is None or not (member.isdir() or member.isreg()):
                taken.refused += 1
                continue
            place = target.joinpath(*inner.parts)
            try:
                if member.isdir():
                    place.mkdir(parents=True, exist_ok=True)
                else:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _write(archive, member, place, left, taken)
            except OSError as error:
                if error.errno in _FULL:
                    raise
                # else a name too long for this file system, or one name as file and as folder
                taken.refused += 1
    return taken


def _inside(name: str) -> PurePosixPath | None:
    """The path of a member below the folder that was asked for; None if it would leave it, goes too deep or is no name."""
    parts = PurePosixPath(name).parts[1:]
    if len(parts) > _MAX_DEPTH or len(name.encode("utf-8", "replace")) > _MAX_PATH:
        return None
    if any(part in ("", "..", "/") or not part.isprintable() for part in parts):
        return None
    return PurePosixPath(*parts)


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path, most: int, taken: Taken) -> None:
    source = archive.extractfile(member)
    if source is None:
        taken.refused += 1
        return
    left = min(member.size, most)
    taken.cut += member.size > most
    with place.open("xb") as file:
        while left > 0 and (chunk := source.read(min(left, _CHUNK))):
            file.write(chunk)
            left -= len(chunk)
            taken.size += len(chunk)
    taken.files += 1
