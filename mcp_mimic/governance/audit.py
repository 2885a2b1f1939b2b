"""The audit of one session: append-only, hash-chained, on disk before the answer leaves.

Lines are written as `contract.read_audit` verifies them. Neither values of the record nor free text
reach the file: arguments that are not plain filters are written as their length and sha256. The header
names the whole grant by its digest, which shows no subject but is not anonymous: like the evidence ids of
the lines, it leads back to the subject for whoever holds the record. The audit is the operator's to keep.
"""

import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from mcp_mimic.governance.audit_file import AuditFile, AuditWrites
from mcp_mimic.governance.redaction import audited_arguments, audited_tool

AUDIT_FILE = "audit.jsonl"
REPORT_FILE = "report.md"


@dataclass(frozen=True)
class _End:
    """Where the chain stands after a line: calls and characters up to it, and its hash."""

    calls: int = 0
    chars: int = 0
    hash: str = ""


@dataclass(eq=False)
class Entry:
    """A line that has its place in the chain and is on its way to the disk; `AuditLog.settle` waits for it."""

    text: str
    end: _End
    publish: Callable[[], None]
    settled: bool = False
    error: Exception | None = None


def _nothing() -> None:
    """What most lines publish."""


class AuditLog:
    """One session's audit; without a folder the chain runs, but nothing is kept.

    Who numbers calls holds `turn`, so that the order of the sequence numbers is the order of the lines. Nobody
    needs it to wait for the disk: the lines of calls that arrive while others are being synced are written and
    synced together. A line that does not get there takes those after it along; the chain goes on from the last
    one that did, so the next call has the number of the first that failed. `writes` notes what failed, where
    several audits share a folder.
    """

    def __init__(
        self, folder: Path | None, grant: Grant, server_version: str, writes: AuditWrites | None = None
    ) -> None:
        self.turn = threading.RLock()
        self.sealed = False
        self._sealing = threading.Lock()
        self._writing = threading.Lock()
        self._pending: list[Entry] = []
        self._end = self._kept = _End()
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
            self._begin(header)
            return
        self._file = AuditFile(folder / AUDIT_FILE, writes or AuditWrites())
        try:
            reading = _earlier(self._file.take_over(), folder, header)
            if reading is None:
                _set_earlier_report_aside(folder)
                self._begin(header)
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
    def calls(self) -> int:
        """How many calls have a number."""
        return self._end.calls

    @property
    def chars(self) -> int:
        """How many characters their answers have."""
        return self._end.chars

    @property
    def next_call(self) -> int:
        """The sequence number of the next call that is written."""
        return self.calls + 1

    def enter(
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
        publish: Callable[[], None] = _nothing,
    ) -> Entry:
        """Give a call its number and place; under `turn`. `settle` must follow before anything of it leaves.

        `publish` is called once the line is on disk, in the order of the lines. ToolError if the audit is closed.
        """
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
        return self._enter(line, calls=1, chars=chars, publish=publish)

    def settle(self, entry: Entry) -> None:
        """Wait until a line is on disk and published; not under `turn`. ToolError if either failed."""
        with self._writing:
            if not entry.settled:
                self._write_pending()
        if entry.error is not None:
            raise entry.error

    def call(self, **told: Any) -> int:
        """Write one call's line and return its sequence number; ToolError if it cannot be written."""
        with self.turn:
            entry = self.enter(**told)
        self.settle(entry)
        return entry.end.calls

    def seal(self, *, unlogged: int = 0) -> dict[str, Any]:
        """Close the chain: no line can follow. Sealing twice gives the same seal's numbers."""
        with self._sealing:
            if not self.sealed:
                self._seal(unlogged)
                self.close()
            return {"calls": self._end.calls, "hash": self._end.hash}

    def close(self) -> None:
        """Let the file go, sealed or not."""
        with self._writing:
            self._closed = True
            if self._file is not None:
                self._file.close()
                self._file = None

    def problem(self) -> str | None:
        """Why no call could be audited now, or None."""
        with self._writing:
            if self.sealed or self._closed:
                return "the audit is closed"
            try:
                if self._file is not None:
                    self._file.check()
                    return self._file.unwritten()
            except OSError as error:
                return str(error.strerror)
            return None

    def _begin(self, header: Mapping[str, Any]) -> None:
        """The first line, which has no line before it."""
        digest = chain_hash("", header)
        if self._file is not None:
            self._file.append(canonical_json({**header, "hash": digest}))
        self._end = self._kept = _End(hash=digest)

    def _continue(self, reading: AuditReading) -> None:
        last = reading.calls[-1] if reading.calls else reading.header
        chars = sum(int(line.get("chars", 0)) for line in reading.calls)
        self._end = self._kept = _End(len(reading.calls), chars, str((last or {})["hash"]))

    def _seal(self, unlogged: int) -> None:
        """Write the seal behind the lines that wait; what comes while it is written is refused."""
        with self.turn:
            entry = self._enter({"sealed": True, "calls": self.calls, "t": _now(), "unlogged": unlogged})
            self.sealed = True
        try:
            self.settle(entry)
        except BaseException:
            self.sealed = False
            raise

    def _enter(
        self,
        line: Mapping[str, Any],
        *,
        calls: int = 0,
        chars: int = 0,
        publish: Callable[[], None] = _nothing,
    ) -> Entry:
        self._require_open()
        if self.sealed:
            raise _over()
        body = {**line, "prev": self._end.hash}
        digest = chain_hash(self._end.hash, body)
        end = _End(self._end.calls + calls, self._end.chars + chars, digest)
        entry = Entry(canonical_json({**body, "hash": digest}), end, publish)
        self._end = end
        self._pending.append(entry)
        return entry

    def _write_pending(self) -> None:
        """Bring all lines that wait to the disk together; under `_writing`."""
        with self.turn:
            entries, self._pending = self._pending, []
        try:
            self._require_open()
            if self._file is not None:
                self._file.append(*(entry.text for entry in entries))
        except Exception as error:  # noqa: BLE001 whatever it is, those who wait must learn it
            self._take_back(entries, error)
            return
        self._kept = entries[-1].end
        for entry in entries:
            try:
                entry.publish()
            except Exception as error:  # noqa: BLE001 it is its own call's alone
                entry.error = error
            entry.settled = True

    def _require_open(self) -> None:
        if self._closed:
            raise _over()

    def _take_back(self, entries: Sequence[Entry], error: Exception) -> None:
        """Fail lines that are not on disk, and those that were to follow them."""
        with self.turn:
            entries = [*entries, *self._pending]
            self._pending = []
            self._end = self._kept
        for entry in entries:
            entry.error, entry.settled = error, True


def _over() -> ToolError:
    return ToolError("the audit of this session is closed", "no further call is possible", code="sealed")


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
