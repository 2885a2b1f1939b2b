"""The audit of one session: append-only, hash-chained, on disk before the answer leaves.

Lines are written as `contract.read_audit` verifies them. Neither values of the record nor free text
reach the file: arguments that are not plain filters are written as their length and sha256. The header
names the whole grant by its digest, which shows no subject but is not anonymous: like the evidence ids of
the lines, it leads back to the subject for whoever holds the record. The audit is the operator's to keep.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mcp_mimic.contract import (
    AUDIT_VERSION,
    AuditReading,
    Coverage,
    Grant,
    canonical_json,
    chain_hash,
    read_audit,
)
from mcp_mimic.errors import SettingsError, ToolError
from mcp_mimic.governance.audit_file import AuditFile
from mcp_mimic.governance.redaction import audited_arguments, audited_tool

AUDIT_FILE = "audit.jsonl"
REPORT_FILE = "report.md"


class AuditLog:
    """One session's audit; without a folder the chain runs, but nothing is kept.

    Not locked by itself: the session calls it under its own lock, so that the order of the sequence
    numbers is the order of the lines.
    """

    def __init__(self, folder: Path | None, grant: Grant, server_version: str) -> None:
        self.calls = 0
        self.chars = 0
        self.sealed = False
        self._hash = ""
        self._file: AuditFile | None = None
        self._closed = False
        header = {
            "v": AUDIT_VERSION,
            "grant": grant.grant,
            "grant_digest": grant.digest(),
            "task": grant.task,
            "store": grant.store,
            "server": server_version,
            "started": _now(),
        }
        if folder is None:
            self._append(header, first=True)
            return
        self._file = AuditFile(folder / AUDIT_FILE)
        try:
            reading = _earlier(self._file.take_over(), folder, header)
            if reading is None:
                _set_earlier_report_aside(folder)
                self._append(header, first=True)
            else:
                self._continue(reading)
        except ToolError as error:
            self.close()
            raise SettingsError(
                f"the audit in {folder} cannot be begun: {error.message}",
                "name a folder that this user may write with --audit",
            ) from error
        except BaseException:
            self.close()
            raise

    @property
    def next_call(self) -> int:
        """The sequence number of the next call that is written."""
        return self.calls + 1

    def call(
        self,
        *,
        tool: str,
        args: Mapping[str, Any],
        outcome: str,
        rule: str | None,
        coverage: Coverage | None,
        eids: Sequence[str],
        chars: int,
        ms: int,
    ) -> int:
        """Write one call's line and return its sequence number; ToolError if it cannot be written."""
        line = {
            "seq": self.next_call,
            "t": _now(),
            "tool": audited_tool(tool),
            "args": audited_arguments(args),
            "outcome": outcome,
            "rule": rule,
            "coverage": None if coverage is None else coverage.to_json(),
            "eids": list(eids),
            "chars": chars,
            "ms": ms,
        }
        self._append(line)
        self.calls += 1
        self.chars += chars
        return self.calls

    def seal(self, *, unlogged: int = 0) -> dict[str, Any]:
        """Close the chain: no line can follow. Sealing twice gives the same seal's numbers."""
        if not self.sealed:
            self._append({"sealed": True, "calls": self.calls, "t": _now(), "unlogged": unlogged})
            self.sealed = True
            self.close()
        return {"calls": self.calls, "hash": self._hash}

    def close(self) -> None:
        """Let the file go, sealed or not."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._closed = True

    def problem(self) -> str | None:
        """Why no call could be audited now, or None; under the session's lock, like a call."""
        if self.sealed or self._closed:
            return "the audit is closed"
        try:
            if self._file is not None:
                self._file.check()
        except OSError as error:
            return str(error.strerror)
        return None

    def _append(self, line: Mapping[str, Any], *, first: bool = False) -> None:
        if self.sealed or self._closed:
            raise ToolError(
                "the audit of this session is closed", "no further call is possible", code="sealed"
            )
        body = dict(line) if first else {**line, "prev": self._hash}
        digest = chain_hash("" if first else self._hash, body)
        if self._file is not None:
            self._file.append(canonical_json({**body, "hash": digest}))
        self._hash = digest

    def _continue(self, reading: AuditReading) -> None:
        self.calls = len(reading.calls)
        self.chars = sum(int(line.get("chars", 0)) for line in reading.calls)
        last = reading.calls[-1] if reading.calls else reading.header
        self._hash = str((last or {})["hash"])


def _earlier(lines: bytes, folder: Path, header: Mapping[str, Any]) -> AuditReading | None:
    """The audit that an earlier server of the same grant left, or None if the file is new."""
    if not lines:
        return None
    reading = read_audit(lines.decode("utf-8", "replace").splitlines())
    remedy = "name an empty folder with --audit; keep this one as it is"
    if reading.problem is not None or reading.header is None:
        raise SettingsError(f"the audit in {folder} does not hold: {reading.problem}", remedy)
    if reading.sealed:
        raise SettingsError(f"the audit in {folder} is sealed", remedy, code="sealed")
    if reading.header.get("grant_digest") != header["grant_digest"]:
        raise SettingsError(f"the audit in {folder} belongs to another grant", remedy)
    return reading


def _set_earlier_report_aside(folder: Path) -> None:
    """A report that is there before the first call is not this session's: kept, but under another name."""
    report = folder / REPORT_FILE
    if os.path.lexists(report):
        report.rename(folder / f"report.earlier.{secrets.token_hex(6)}.md")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
