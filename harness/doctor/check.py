"""What a check says."""

import re
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "problem"]
Version = tuple[int, int, int]


@dataclass(frozen=True)
class Check:
    """One finding, and its remedy; an `ok` may carry advice. Lines of a remedy after the first are a command's."""

    name: str
    status: Status
    found: str
    remedy: str = ""


def unknown(name: str) -> Check:
    """The check that only an engine could answer."""
    return Check(name, "warning", "not known without an engine", "mend what the check `engine` says first")


def read_version(text: str) -> Version | None:
    """The first version number in a text, such as (20, 10, 24) in "20.10.24+dfsg1"; None without one."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def gigabytes(size: int) -> str:
    """Bytes in GiB, one decimal."""
    return f"{size / 2**30:.1f} GiB"
