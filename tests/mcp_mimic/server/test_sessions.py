"""Many sessions in one server: how many charts are in memory, who waits, and what goes on after one was put out."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_mimic.contract import Grant
from mcp_mimic.errors import SettingsError, StoreError, ToolError
from mcp_mimic.governance.audit import AuditLog
from mcp_mimic.sessions import OpenSession, SessionOpener, Sessions, chart_bytes
from mcp_mimic.store.store import Store
from mcp_mimic.tools.session import Session
from tests.hospital import ADA
from tests.mcp_mimic.charts import a_chart, make_grant, make_slice


def named(name: str) -> Grant:
    return replace(make_grant(), grant=name)


class Openers:
    """Opens charts written by hand, and keeps what was opened."""

    def __init__(self, folder: Path, size: int = 10) -> None:
        self.folder = folder
        self.size = size
        self.opened: list[str] = []
        self.failing = False

    def __call__(self, grant: Grant) -> OpenSession:
        self.opened.append(grant.grant)
        if self.failing:
            raise SettingsError("no room", "make some")
        (self.folder / grant.grant).mkdir(exist_ok=True)
        audit = AuditLog(self.folder / grant.grant, grant, "test 0")
        return OpenSession(Session(make_slice({}), grant, audit, None), self.size)


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 30))  # type: ignore[arg-type]


async def touched(sessions: Sessions, *names: str) -> None:
    for name in names:
        async with sessions.lease(named(name)):
            pass


def test_the_chart_used_longest_ago_gives_way(tmp_path: Path) -> None:
    async def work() -> None:
        opener = Openers(tmp_path)
        sessions = Sessions(opener, most=2, most_bytes=1000)
        await touched(sessions, "a", "b", "a", "c")
        assert sessions.open == ("a", "c")
        await touched(sessions, "b")
        assert sessions.open == ("c", "b")
        assert opener.opened == ["a", "b", "c", "b"]
        await sessions.close()
        assert sessions.open == ()

    run(work)


def test_charts_give_way_to_their_size_too(tmp_path: Path) -> None:
    async def work() -> None:
        sessions = Sessions(Openers(tmp_path, size=400), most=10, most_bytes=1000)
        await touched(sessions, "a", "b", "c")
        assert sessions.open == ("b", "c")
        await sessions.close()

    run(work)


def test_a_chart_in_use_is_never_put_out_and_others_wait_for_it(tmp_path: Path) -> None:
    async def work() -> None:
        sessions = Sessions(Openers(tmp_path), most=1, most_bytes=0, wait=20)
        async with sessions.lease(named("a")) as session:
            other = asyncio.ensure_future(touched(sessions, "b"))
            await asyncio.sleep(0)
            assert not other.done()
            assert session.chart.cursor().execute("select 1").fetchone() == (1,)
        await other
        await sessions.close()

    run(work)


def test_who_waits_too_long_is_told_so(tmp_path: Path) -> None:
    async def work() -> None:
        sessions = Sessions(Openers(tmp_path), most=1, most_bytes=0, wait=0.05)
        async with sessions.lease(named("a")):
            with pytest.raises(ToolError, match="in use") as caught:
                await touched(sessions, "b")
        assert caught.value.code == "busy"
        await sessions.close()

    run(work)


def test_calls_of_one_grant_share_its_session_and_calls_of_two_do_not(tmp_path: Path) -> None:
    async def work() -> None:
        opener = Openers(tmp_path)
        sessions = Sessions(opener, most=4, most_bytes=1000)

        async def seen(name: str) -> Session:
            async with sessions.lease(named(name)) as session:
                return session

        one, two, other = await asyncio.gather(seen("a"), seen("a"), seen("b"))
        assert one is two
        assert one is not other
        assert sorted(opener.opened) == ["a", "b"]
        await sessions.close()

    run(work)


def test_a_session_that_cannot_be_opened_is_tried_again_by_the_next_call(tmp_path: Path) -> None:
    async def work() -> None:
        opener = Openers(tmp_path)
        opener.failing = True
        sessions = Sessions(opener, most=1, most_bytes=0)
        for _ in range(2):
            with pytest.raises(SettingsError, match="no room"):
                await touched(sessions, "a")
        assert sessions.open == ()
        opener.failing = False
        await touched(sessions, "a")
        await sessions.close()

    run(work)


def test_a_caller_that_leaves_while_the_chart_opens_takes_it_from_nobody(tmp_path: Path) -> None:
    async def work() -> None:
        sessions = Sessions(Openers(tmp_path), most=1, most_bytes=1000)
        first = asyncio.ensure_future(touched(sessions, "a"))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(touched(sessions, "a"))
        await asyncio.sleep(0)
        first.cancel()
        await second
        await touched(sessions, "b")
        assert sessions.open == ("b",)
        await sessions.close()

    run(work)


def test_limits_and_numbers_go_on_when_a_chart_comes_back(tmp_path: Path) -> None:
    async def work() -> None:
        sessions = Sessions(Openers(tmp_path), most=1, most_bytes=1000)
        async with sessions.lease(named("a")) as session:
            session.audit.call(
                tool="get_labs", args={}, outcome="ok", rule=None, coverage=None, eids=[], chars=70, ms=1
            )
            session.usage.unlogged = 3
        await touched(sessions, "b")
        async with sessions.lease(named("a")) as session:
            assert (session.usage.calls, session.usage.chars, session.usage.unlogged) == (1, 70, 3)
        await sessions.close()

    run(work)


def test_a_sealed_session_is_let_go_and_does_not_open_again(tmp_path: Path) -> None:
    async def work() -> None:
        sessions = Sessions(Openers(tmp_path), most=3, most_bytes=1000)
        assert (await sessions.seal(named("a")))["calls"] == 0
        assert sessions.open == ()
        with pytest.raises(SettingsError, match="is sealed"):
            await touched(sessions, "a")
        await sessions.close()

    run(work)


def test_a_grant_that_was_changed_is_another_sessions_and_keeps_off_the_audit(tmp_path: Path) -> None:
    async def work() -> None:
        sessions = Sessions(Openers(tmp_path), most=3, most_bytes=1000)
        await touched(sessions, "a")
        with pytest.raises(SettingsError, match="another grant"):
            async with sessions.lease(replace(named("a"), subject_id=77)):
                pass
        await sessions.close()

    run(work)


def test_an_opener_opens_its_store_only_while_it_is_the_same(small_store: Store, tmp_path: Path) -> None:
    fingerprint = small_store.manifest.fingerprint
    opener = SessionOpener(small_store.path, fingerprint, tmp_path, "test 0", bytes(32))
    grant = replace(make_grant(), subject_id=ADA, store=fingerprint)
    opened = opener(grant)
    assert opened.size > 0
    assert (tmp_path / "g1" / "audit.jsonl").exists()
    opened.close()
    with pytest.raises(StoreError, match="not the store that this server began with"):
        replace(opener, fingerprint="a" * 64)(grant)
    opener(grant).close()  # the failed one let go of the audit


def test_the_size_of_a_chart_grows_with_its_rows() -> None:
    with make_slice({}) as empty, make_slice(a_chart()) as full:
        assert 0 <= chart_bytes(empty) < chart_bytes(full)


def test_a_grant_changed_while_its_chart_opens_waits_for_it_and_leaves_none_open(tmp_path: Path) -> None:
    async def work() -> None:
        sessions = Sessions(Openers(tmp_path), most=3, most_bytes=1000)
        left = asyncio.ensure_future(touched(sessions, "a"))
        await asyncio.sleep(0)
        left.cancel()
        with pytest.raises(SettingsError, match="another grant"):
            async with sessions.lease(replace(named("a"), subject_id=77)):
                pass
        assert sessions.open == ()
        await touched(sessions, "a")
        await sessions.close()

    run(work)
