"""What an audit's file proves: how far its chain holds, and whether it is sealed."""

import json
import os
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mcp_mimic.contract import AuditReading, read_audit
from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.audit import AUDIT_FILE


@dataclass(frozen=True)
class Verification:
    """Up to where an audit holds.

    `lines` and `calls` hold, the header included; `outcomes` counts those calls. `problem` says which line
    breaks and how. `torn` is the number of bytes behind the last whole line: a server was killed while it wrote,
    or is writing.
    """

    grant: str | None
    started: str | None
    lines: int
    calls: int
    outcomes: dict[str, int]
    sealed: bool
    unlogged: int
    torn: int
    problem: str | None

    @property
    def holds(self) -> bool:
        """Whether every byte of the file belongs to a line that holds."""
        return self.problem is None and not self.torn

    def failure(self, *, sealed: bool) -> tuple[str, str] | None:
        """Why it does not hold or, if it is to be `sealed`, has no seal that counts, and what to do; else None."""
        if self.problem is not None:
            after = "; a seal behind that proves nothing" if sealed else ""
            return (
                f"the audit does not hold: {self.problem}{after}",
                "score nothing by it; keep it as it is, and run its session again",
            )
        if self.torn:
            unsealed = ", and it is not sealed" if sealed and not self.sealed else ""
            return (
                f"{self.torn} bytes of a torn line follow the last whole one{unsealed}",
                "verify again in a moment if its server runs; else start the server again on that audit, which sets them "
                "aside",
            )
        if sealed and not self.sealed:
            return (
                "the audit holds, but was never sealed: its session is open, or its server ended without a seal",
                "seal it while its server runs: mcp-mimic seal --audit DIR (with --grant ID for one of many)",
            )
        return None

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {**asdict(self), "holds": self.holds}


def verify(path: Path) -> Verification:
    """Read the audit at `path` (the file, or its folder); SettingsError if there is none that can be read."""
    data = _read(path / AUDIT_FILE if path.is_dir() else path)
    end = data.rfind(b"\n") + 1
    lines = data[:end].decode("utf-8", "replace").splitlines()
    return verify_lines(lines, torn=len(data) - end)


def verify_lines(lines: list[str], *, torn: int = 0) -> Verification:
    """What whole `lines` prove, with `torn` bytes behind them."""
    reading = read_audit(lines)
    header = reading.header or {}
    outcomes = [str(call.get("outcome")) for call in reading.calls]
    return Verification(
        grant=header.get("grant"),
        started=header.get("started"),
        lines=_held(reading),
        calls=len(reading.calls),
        outcomes={name: outcomes.count(name) for name in sorted(set(outcomes))},
        sealed=reading.sealed,
        unlogged=_unlogged(lines[-1]) if reading.sealed else 0,
        torn=torn,
        problem=reading.problem,
    )


def _held(reading: AuditReading) -> int:
    return (reading.header is not None) + len(reading.calls) + reading.sealed


def _unlogged(seal: str) -> int:
    return int(json.loads(seal).get("unlogged", 0))


def _read(path: Path) -> bytes:
    remedy = "name the audit.jsonl of an audit folder, or the folder"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SettingsError(f"the audit {path} cannot be read: {error.strerror}", remedy) from error
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SettingsError(f"the audit {path} cannot be read: not a regular file", remedy)
        return file.read()
