"""Many sessions in one server: each grant's own chart, limits and audit, and a bounded number of charts in memory.

All of it runs in the server's event loop, so that it needs no lock; only opening a chart takes a thread.
A session that nobody uses is put out, the one used longest ago first, and opened again when it is called
again: its limits and numbers go on from its audit.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from mcp_mimic.chart.slice import Slice, open_slice
from mcp_mimic.contract import Grant
from mcp_mimic.errors import SettingsError, StoreError, ToolError
from mcp_mimic.governance.audit import AuditLog
from mcp_mimic.governance.audit_file import AuditWrites
from mcp_mimic.governance.bearer import derived_key
from mcp_mimic.logs import event
from mcp_mimic.policies.corpus import Corpus
from mcp_mimic.store.store import Store
from mcp_mimic.tools.catalogue import require_known_tools
from mcp_mimic.tools.session import Session

_WAIT_SECONDS = 20.0
_OPENED_AT_ONCE = 2


@dataclass(frozen=True)
class OpenSession:
    """A session with its chart in memory; `size` is what that takes, in bytes."""

    session: Session
    size: int

    def close(self) -> None:
        """Let audit and chart go; nothing of it is sealed."""
        self.session.audit.close()
        self.session.chart.close()


@dataclass(frozen=True)
class SessionOpener:
    """Opens the session of a grant: its chart from the store, its audit in a folder of its own."""

    store: Path
    fingerprint: str
    audits: Path
    server: str
    key: bytes
    corpus: Corpus | None = None
    writes: AuditWrites = field(default_factory=AuditWrites)

    def __call__(self, grant: Grant) -> OpenSession:
        """StoreError, GrantError or SettingsError say why it cannot be opened."""
        started = time.monotonic()
        require_known_tools(grant)
        folder = self._folder(grant)
        audit = AuditLog(folder, grant, self.server, self.writes)
        try:
            chart = open_slice(self.opened_store(), grant.subject_id, grant.as_of, grant.sealed_hadm_id)
        except BaseException:
            audit.close()
            raise
        key = derived_key(self.key, f"cursors {grant.digest()}")
        session = Session(chart, grant, audit, folder, self.corpus, cursor_key=key)
        event("chart_opened", grant=grant.grant, ms=round((time.monotonic() - started) * 1000))
        return OpenSession(session, chart_bytes(chart))

    def _folder(self, grant: Grant) -> Path:
        folder = self.audits / grant.grant
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            self.writes.failed(error)
            raise SettingsError(
                f"the audit folder {folder} cannot be made: {error.strerror}",
                "see that the audit folder of this server can be written",
            ) from error
        if folder.is_symlink():
            raise SettingsError(f"the audit folder {folder} is a link", "put a folder in its place")
        return folder

    def opened_store(self) -> Store:
        """The store, if it is still the one that the tokens were issued for."""
        store = Store.open(self.store)
        if store.manifest.fingerprint != self.fingerprint:
            raise StoreError(
                f"{self.store} is not the store that this server began with", "start the server again"
            )
        return store


def chart_bytes(chart: Slice) -> int:
    """What a chart takes in memory."""
    with chart.cursor() as cursor:
        row = cursor.execute("select coalesce(sum(memory_usage_bytes), 0) from duckdb_memory()").fetchone()
    return int(row[0]) if row else 0


@dataclass
class _Entry:
    grant: Grant
    opening: asyncio.Task[OpenSession]
    users: int = 0
    size: int = 0

    def opened(self) -> OpenSession | None:
        """The session, or None while it opens and where that failed."""
        if not self.opening.done() or self.opening.cancelled() or self.opening.exception() is not None:
            return None
        return self.opening.result()


@dataclass
class Sessions:
    """The open sessions: at most `most` charts, and at most `most_bytes` of them that are not in use."""

    opener: Callable[[Grant], OpenSession]
    most: int
    most_bytes: int
    wait: float = _WAIT_SECONDS
    _entries: OrderedDict[str, _Entry] = field(default_factory=OrderedDict)
    _unlogged: dict[str, int] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _openings: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(_OPENED_AT_ONCE))

    @property
    def open(self) -> tuple[str, ...]:
        """The grants whose charts are in memory, the one used longest ago first."""
        return tuple(self._entries)

    @asynccontextmanager
    async def lease(self, grant: Grant) -> AsyncIterator[Session]:
        """The session of a grant, which stays open until it is given back.

        What the opener raises; ToolError `busy` if all charts stay in use for too long.
        """
        entry = await self._enter(grant)
        try:
            opened = await asyncio.shield(entry.opening)
            yield opened.session
        finally:
            entry.users -= 1
            self._left(entry)

    async def seal(self, grant: Grant) -> Mapping[str, Any]:
        """Close a grant's session for good."""
        async with self.lease(grant) as session:
            return session.seal()

    async def close(self) -> None:
        """Let every chart and audit go."""
        for entry in list(self._entries.values()):
            if not entry.opening.done():
                await asyncio.wait([entry.opening])
            self._put_out(entry)

    async def _enter(self, grant: Grant) -> _Entry:
        try:
            async with asyncio.timeout(self.wait):
                while not self._has_room(grant):
                    await self._changed.wait()
        except TimeoutError as error:
            raise ToolError(
                "all charts that this server can hold are in use", "call again in a moment", code="busy"
            ) from error
        entry = self._entries.get(grant.grant) or self._begin(grant)
        entry.users += 1
        self._entries.move_to_end(grant.grant)
        return entry

    def _begin(self, grant: Grant) -> _Entry:
        opening = asyncio.ensure_future(anyio.to_thread.run_sync(self.opener, grant, limiter=self._openings))
        entry = self._entries[grant.grant] = _Entry(grant, opening)
        opening.add_done_callback(lambda _: self._opened(entry))
        return entry

    def _has_room(self, grant: Grant) -> bool:
        """Whether the session is open or may be opened now; idle ones give way."""
        entry = self._entries.get(grant.grant)
        if entry is not None and entry.grant == grant:
            return True
        if entry is not None:
            if entry.users or not entry.opening.done():
                return False
            self._put_out(entry)
        while len(self._entries) >= self.most and self._put_out_idle():
            pass
        return len(self._entries) < self.most

    def _opened(self, entry: _Entry) -> None:
        opened = entry.opened()
        if opened is None:
            self._entries.pop(entry.grant.grant, None)
        else:
            entry.size = opened.size
            opened.session.usage.unlogged += self._unlogged.pop(entry.grant.grant, 0)
        self._tell()

    def _left(self, entry: _Entry) -> None:
        """Put out what is too much, and what is sealed: there is nothing more to do with it."""
        opened = entry.opened()
        if not entry.users and opened is not None and opened.session.usage.sealed:
            self._put_out(entry)
        while sum(each.size for each in self._entries.values()) > self.most_bytes and self._put_out_idle():
            pass
        self._tell()

    def _tell(self) -> None:
        """Let those who wait look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _put_out_idle(self) -> bool:
        idle = (entry for entry in self._entries.values() if not entry.users and entry.opening.done())
        oldest = next(idle, None)
        if oldest is not None:
            self._put_out(oldest)
        return oldest is not None

    def _put_out(self, entry: _Entry) -> None:
        self._entries.pop(entry.grant.grant, None)
        opened = entry.opened()
        if opened is None:
            return
        opened.close()
        event("chart_closed", grant=entry.grant.grant)
        if opened.session.usage.unlogged:
            self._unlogged[entry.grant.grant] = opened.session.usage.unlogged
