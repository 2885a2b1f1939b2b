"""Attempts to get out of a grant, against served processes over HTTP and stdio."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_mimic.contract import read_audit
from mcp_mimic.store.store import Store
from tests.adversarial.attempts import ANSWERED, CALLS, CURSOR, HEADERS, QUERIES, WIRE, Attempt
from tests.adversarial.guarded import (
    FRONTS,
    Front,
    answers,
    betrayals,
    command,
    guarded_session,
    served_http,
)
from tests.mcp_mimic.charts import Told


@pytest.fixture(scope="module")
def store(guarded_store: Store) -> Store:
    return guarded_store


def test_the_attempts_are_many_and_no_two_alike() -> None:
    calls = {json.dumps([attempt.tool, attempt.arguments]) for attempt in (*CALLS, *QUERIES)}
    assert len(calls) == len(CALLS) + len(QUERIES)
    assert len(CALLS) >= 100
    assert len(QUERIES) >= 120
    assert len(WIRE) >= 60
    assert len(ANSWERED) >= 60
    assert {attempt.rule for attempt in (*CALLS, *QUERIES)} == {
        *("arguments", "cursor", "window", "unknown_tool", "unknown_note", "unknown_passage", "unknown_section"),
        *("grant.tools", "grant.documents", "bad_report"),
        *("query.select", "query.part", "query.table", "query.function"),
    }  # fmt: skip


async def _with_cursor(front: Front, attempt: Attempt) -> dict[str, Any]:
    cursor = attempt.arguments.get("cursor")
    if not isinstance(cursor, str) or CURSOR[:-1] not in cursor:
        return attempt.arguments
    given = (await front.call("get_labs", {"limit": 1})).data["next_cursor"]
    forged = cursor.replace(CURSOR, given) if CURSOR in cursor else given[:-1]
    return attempt.arguments | {"cursor": forged}


async def _attempt_all(front: Front, attempts: tuple[Attempt, ...]) -> None:
    for attempt in attempts:
        told = await front.call(attempt.tool, await _with_cursor(front, attempt))
        assert told.is_error, str(attempt)
        assert told.data["error"]["code"] == attempt.rule, (str(attempt), told.text[:200])
        assert told.data["error"]["remedy"], str(attempt)
        assert len(told.text) < 4_000, str(attempt)
        assert betrayals(told.text.partition("remedy:")[0]) == [], str(attempt)
    audited = [call for call in front.calls() if call["outcome"] != "ok"]
    assert [call["rule"] for call in audited] == [attempt.rule for attempt in attempts]
    assert all(call["eids"] == [] and call["coverage"] is None for call in audited)
    assert all(len(json.dumps(call)) < 12_000 for call in audited)
    assert not (await front.call("get_labs", {})).is_error


@pytest.mark.parametrize("front", ["http", pytest.param("stdio", marks=pytest.mark.slow)])
def test_every_attempt_is_refused_by_its_rule_and_audited(store: Store, tmp_path: Path, front: str) -> None:
    async def go() -> None:
        async with FRONTS[front](tmp_path, store) as served:
            await _attempt_all(served, CALLS)

    asyncio.run(go())


@pytest.mark.slow
@pytest.mark.parametrize("front", FRONTS)
def test_every_query_is_refused_by_its_rule_and_audited(store: Store, tmp_path: Path, front: str) -> None:
    async def go() -> None:
        async with FRONTS[front](tmp_path, store) as served:
            await _attempt_all(served, QUERIES)

    asyncio.run(go())


def test_a_message_that_is_no_call_is_answered_with_an_error_and_the_server_goes_on(
    store: Store, tmp_path: Path
) -> None:
    with (
        served_http(tmp_path, store) as url,
        httpx.Client(base_url=url.removesuffix("/mcp"), timeout=30) as http,
    ):
        for wire in WIRE:
            said = http.request(wire.method, wire.path, headers=HEADERS | wire.headers, content=wire.body)
            assert said.status_code == wire.status, (str(wire), said.text[:200])
            if wire.status == 200:
                assert "error" in said.json(), str(wire)
            assert "rows" not in said.text, str(wire)
            assert "Traceback" not in said.text, str(wire)
        lines = (tmp_path / "audit" / "audit.jsonl").read_text().splitlines()
        assert [call["outcome"] for call in read_audit(lines).calls if call["outcome"] == "ok"] == []
        assert answers(url)


@pytest.mark.slow
def test_lines_that_are_no_message_end_no_server_over_stdio(store: Store, tmp_path: Path) -> None:
    """A client's transport would not send these: they are written to the process itself."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "get_labs", "arguments": {}}
    last = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": call}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    bodies = [wire.body for wire in WIRE if wire.method == "POST" and len(wire.body) < 2_000_000]
    hostile = [body for body in bodies if b'"get_labs"' not in body and b"\n" not in body]
    assert len(hostile) > 20
    lines = [json.dumps(first).encode(), json.dumps(ready).encode(), *hostile, json.dumps(last).encode()]
    with subprocess.Popen(
        command(tmp_path, store), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        said: dict[str, Any] = {}
        while said.get("id") != 99:
            said = json.loads(process.stdout.readline())
        process.kill()
    assert said["result"]["structuredContent"]["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("front", FRONTS)
def test_what_is_answered_betrays_neither_another_patient_nor_the_future(
    store: Store, tmp_path: Path, front: str
) -> None:
    async def go() -> None:
        async with FRONTS[front](tmp_path, store) as served:
            for tool, arguments in ANSWERED:
                told = await served.call(tool, arguments)
                answer = json.dumps(told.data, ensure_ascii=False)
                assert betrayals(told.text, answer) == [], (tool, arguments)
                assert not any(mark in told.text + answer for mark in "\u202e\u200b"), (tool, arguments)
                assert told.data.get("error", {}).get("code") not in {"internal"}, (tool, arguments)

    asyncio.run(go())


def _form(told: Told) -> tuple[str, str]:
    """An answer in both its forms, less its cursor: that is signed with a key of its server."""
    cursor = str(told.data.get("next_cursor") or "no cursor")
    return told.text.replace(cursor, "…"), json.dumps(told.data, ensure_ascii=False).replace(cursor, "…")


def _require_same(store: Store, other: Store, folder: Path, calls: list[tuple[str, dict[str, Any]]]) -> None:
    async def ask(which: Store, name: str) -> list[Told]:
        async with guarded_session(folder / name, which) as session:
            return [await session.call(tool, **arguments) for tool, arguments in calls]

    told, again = asyncio.run(ask(store, "one")), asyncio.run(ask(other, "other"))
    for (tool, arguments), one, another in zip(calls, map(_form, told), map(_form, again), strict=True):
        assert one == another, (tool, arguments)
        assert betrayals(*one) == [], (tool, arguments)


def test_no_lookup_depends_on_the_future_or_on_another_patient(
    store: Store, other_store: Store, tmp_path: Path
) -> None:
    """Values, masked columns, order, counts, suggestions, errors: all the same whatever was to come."""
    lookups = [(tool, arguments) for tool, arguments in ANSWERED if tool != "query_chart"]
    _require_same(store, other_store, tmp_path, lookups)


@pytest.mark.slow
def test_no_query_depends_on_the_future_or_on_another_patient(
    store: Store, other_store: Store, tmp_path: Path
) -> None:
    queries = [(tool, arguments) for tool, arguments in ANSWERED if tool == "query_chart"]
    _require_same(store, other_store, tmp_path, queries)
