"""Clients that leave while their query runs, and clients that send everything at once."""

import asyncio
import contextlib
import http.client
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import httpx
import pytest

from mcp_mimic.contract import read_audit
from mcp_mimic.store.store import Store
from tests.adversarial.attempts import HEADERS, message
from tests.adversarial.guarded import answers, command, served_http

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
ENDLESS = {"name": "query_chart", "arguments": {"sql": "select count(*) from range(1000000000000)"}}


@pytest.fixture(scope="module")
def store(guarded_store: Store) -> Store:
    return guarded_store


def queries_of(folder: Path) -> list[int]:
    """The processes of queries that run for the server whose audit is in `folder`."""
    found = []
    for process in Path("/proc").iterdir():
        # processes come and go while they are listed
        with contextlib.suppress(OSError, ValueError):
            if "query_child" in (process / "cmdline").read_text() and _audit_of_parent(process) == str(
                folder
            ):
                found.append(int(process.name))
    return found


def _audit_of_parent(process: Path) -> str:
    parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
    arguments = (Path("/proc") / parent / "cmdline").read_text().split("\0")
    return arguments[arguments.index("--audit") + 1]


def state_of(process: int) -> str:
    """What the kernel says that a process does: running, waiting for the disk, dead but not waited for."""
    place = Path(f"/proc/{process}")
    return (place / "stat").read_text() + (place / "wchan").read_text()


def soon(condition: Callable[[], bool], seconds: float = 40) -> bool:
    """Whether the condition comes true; a loaded machine is given time, for the audit says what ended a query."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def test_a_query_over_http_is_stopped_and_audited_when_its_client_goes(store: Store, tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    with served_http(tmp_path, store) as url:
        with leaving(url, message("tools/call", ENDLESS)):
            assert soon(lambda: len(queries_of(audit)) == 1)
        assert soon(lambda: not queries_of(audit)), [state_of(query) for query in queries_of(audit)]
        assert soon(lambda: len(calls_of(audit)) == 1)
        assert calls_of(audit) == [("query_chart", "refused", "query.departed")]
        assert answers(url)


@contextmanager
def leaving(url: str, body: bytes) -> Iterator[None]:
    """Send a request, and hang up at the end of the block without waiting for its answer.

    Not by a timeout: under load that can be over before the server has read the request, and then there is no call.
    """
    address = httpx.URL(url)
    client = http.client.HTTPConnection(address.host, cast(int, address.port))
    client.request("POST", address.path, body, HEADERS)
    try:
        yield
    finally:
        client.close()


def calls_of(folder: Path) -> list[tuple[str, str, str | None]]:
    calls = read_audit((folder / "audit.jsonl").read_text().splitlines()).calls
    return [(call["tool"], call["outcome"], call["rule"]) for call in calls]


@pytest.mark.slow
def test_a_query_over_stdio_is_stopped_and_audited_when_its_client_goes(store: Store, tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    with subprocess.Popen(
        command(tmp_path, store), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(
            b"\n".join([message("initialize", HELLO), READY, message("tools/call", ENDLESS)]) + b"\n"
        )
        process.stdin.flush()
        assert soon(lambda: len(queries_of(audit)) == 1)
        (running,) = queries_of(audit)
        process.stdin.close()
        assert soon(lambda: not Path(f"/proc/{running}").exists(), 5)
        assert process.wait(timeout=10) == 0
    assert calls_of(audit) == [("query_chart", "refused", "query.departed")]


@pytest.mark.slow
def test_a_killed_server_leaves_no_query_behind(store: Store, tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    with served_http(tmp_path, store) as url, ThreadPoolExecutor(1) as pool:
        post = pool.submit(_post_to_its_end, url)
        assert soon(lambda: len(queries_of(audit)) == 1)
        (running,) = queries_of(audit)
        time.sleep(1.5)  # past its start, which would end with its input anyway
        server = int((Path("/proc") / str(running) / "stat").read_text().rpartition(")")[2].split()[1])
        os.kill(server, signal.SIGKILL)
        post.result()
        assert soon(lambda: not Path(f"/proc/{running}").exists(), 5)


def _post_to_its_end(url: str) -> None:
    with contextlib.suppress(httpx.HTTPError):
        httpx.post(url, content=message("tools/call", ENDLESS), headers=HEADERS, timeout=30)


@pytest.mark.slow
def test_everything_at_once_makes_one_unbroken_audit(store: Store, tmp_path: Path) -> None:
    good = {"name": "get_labs", "arguments": {"limit": 1}}
    bad = {"name": "get_labs", "arguments": {"subject_id": 10000002}}
    query = {"name": "query_chart", "arguments": {"sql": "select 1"}}
    bodies = [message("tools/call", call) for call in (good, bad, good, ENDLESS, query)] * 8
    bodies += [b"{", b"[" * 50_000, message("nope")] * 8

    async def post(http: httpx.AsyncClient, url: str, body: bytes) -> str:
        if b"1000000000000" in body:
            with contextlib.suppress(httpx.ReadTimeout):
                await http.post(url, content=body, timeout=1)
            return "departed"
        said = (await http.post(url, content=body)).json()
        return str(said.get("result", {}).get("structuredContent", {}).get("call", "none"))

    async def go(url: str) -> list[str]:
        async with httpx.AsyncClient(headers=HEADERS, timeout=60) as http:
            return await asyncio.gather(*(post(http, url, body) for body in bodies))

    with served_http(tmp_path, store) as url:
        told = Counter(asyncio.run(go(url)))
        assert told.pop("departed") == 8
        assert told.pop("none") == 24
        assert set(told.values()) == {1}
        reading = read_audit((tmp_path / "audit" / "audit.jsonl").read_text().splitlines())
        assert reading.problem is None
        outcomes = Counter((call["tool"], call["outcome"]) for call in reading.calls)
        assert outcomes[("get_labs", "ok")] == 16
        assert outcomes[("get_labs", "error")] == 8
        # one whose client went before it was sent is no call
        assert outcomes[("query_chart", "ok")] == 8
        assert 0 < outcomes[("query_chart", "refused")] <= 8
        assert len(told) == 32
        assert answers(url)
