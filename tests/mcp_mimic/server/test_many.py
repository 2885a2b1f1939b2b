"""A server of many sessions over real HTTP: each token its own grant, one refusal for all others, limits that last."""

import asyncio
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import uvicorn
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from mcp.shared.exceptions import MCPError

from mcp_mimic.authentication import BearerAuth
from mcp_mimic.contract import Grant
from mcp_mimic.governance.bearer import issue, make_key
from mcp_mimic.governance.grants import GrantFolder
from mcp_mimic.governance.verification import verify
from mcp_mimic.http import http_app
from mcp_mimic.issuing import Request, issue_token
from mcp_mimic.many import create_many_server
from mcp_mimic.sessions import SessionOpener, Sessions
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store
from tests.hospital import ADA, BEN
from tests.mcp_mimic.governance.test_audit_failures import files_of_at_most

AS_OF = {ADA: "2150-03-03T12:00:00", BEN: "2131-08-12T10:00:00"}
HEAD = {"accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Many:
    """A running server of many sessions."""

    url: str
    folder: Path
    store: Store
    sessions: Sessions

    def token(self, grant_id: str, patient: int = ADA, **asked: Any) -> str:
        """A token for a new grant."""
        settings = ServeSettings(store=self.store.path, grants=self.folder / "grants")
        request = Request(grant_id=grant_id, patient=patient, as_of=AS_OF[patient], **asked)
        return issue_token(settings, request, "1h").token

    def post(self, token: str | None, method: str = "tools/list", **parameters: Any) -> httpx.Response:
        """One JSON-RPC request, with or without a token."""
        head = HEAD if token is None else {**HEAD, "authorization": f"Bearer {token}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        return httpx.post(self.url, json=body, headers=head, timeout=30)

    def call(self, token: str, tool: str = "get_labs", **arguments: Any) -> dict[str, Any]:
        """The structured content of one call."""
        answer = self.post(token, "tools/call", name=tool, arguments=arguments)
        content: dict[str, Any] = answer.json()["result"]["structuredContent"]
        return content

    def tools(self, token: str) -> list[str]:
        """The tools that a token sees."""
        return [tool["name"] for tool in self.post(token).json()["result"]["tools"]]


@contextmanager
def running(store: Store, folder: Path, *, most: int = 4) -> Iterator[Many]:
    fingerprint = store.manifest.fingerprint
    for name in ("grants", "audits"):
        (folder / name).mkdir(exist_ok=True)
    key = make_key(folder / "grants" / "token.key")
    opener = SessionOpener(store.path, fingerprint, folder / "audits", "test 0", key)
    sessions = Sessions(opener, most, 10**9)
    auth = BearerAuth(key, fingerprint, GrantFolder(folder / "grants", fingerprint))
    app = http_app(create_many_server(opener, sessions, auth), ())
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none", lifespan="on"))

    async def serve() -> None:
        try:
            await server.serve()
        finally:
            await sessions.close()

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Many(f"http://127.0.0.1:{port}/mcp", folder, store, sessions)
    finally:
        server.should_exit = True
        thread.join()


def issued_before(server: Many, folder: Path) -> str:
    """A token for a grant that was written while the store was still there."""
    fingerprint = server.store.manifest.fingerprint
    grant = Grant("old", "t", ADA, datetime.fromisoformat(AS_OF[ADA]), store=fingerprint)
    GrantFolder(folder / "grants", fingerprint).write(grant)
    return issue(make_key(folder / "grants" / "token.key"), "old", fingerprint, int(time.time()) + 60)


def logged(caplog: pytest.LogCaptureFixture, name: str) -> list[dict[str, Any]]:
    """The fields of the events of that name, in order."""
    records = [record for record in caplog.records if getattr(record, "event", None) == name]
    return [record.__dict__["fields"] for record in records]


@pytest.fixture
def many(small_store: Store, tmp_path: Path) -> Iterator[Many]:
    with running(small_store, tmp_path) as server:
        yield server


def test_each_token_sees_the_tools_and_the_chart_of_its_own_grant(many: Many) -> None:
    ada = many.token("ada", tools=("get_labs", "list_encounters"))
    ben = many.token("ben", BEN)
    assert many.tools(ada) == ["list_encounters", "get_labs"]
    assert {"get_labs", "get_microbiology"} <= set(many.tools(ben))
    assert "query_chart" not in many.tools(ben)
    assert [row["eid"] for row in many.call(ben)["rows"]] == ["lab:5"]
    assert "lab:5" not in {row["eid"] for row in many.call(ada)["rows"]}
    assert many.call(ada, "get_microbiology")["error"]["code"] == "grant.tools"
    assert many.call(ada, "drop_table")["error"]["code"] == "unknown_tool"
    audit = verify(many.folder / "audits" / "ada")
    assert (audit.outcomes, audit.holds) == ({"error": 1, "ok": 1, "refused": 1}, True)


def test_grants_hold_while_many_clients_call_at_once(many: Many) -> None:
    tokens = {ADA: many.token("ada"), BEN: many.token("ben", BEN, tools=("get_labs",))}

    async def work(patient: int) -> list[tuple[int, list[str], int]]:
        transport = StreamableHttpTransport(many.url, auth=tokens[patient])
        async with Client(transport) as client:
            seen = []
            for _ in range(3):
                tools = await client.list_tools()
                result = await client.call_tool_mcp("get_labs", {})
                rows = result.structured_content["rows"]
                seen.append((patient, [row["eid"] for row in rows], len(tools)))
            return seen

    async def all_at_once() -> list[list[tuple[int, list[str], int]]]:
        return await asyncio.gather(*(work(patient) for patient in (ADA, BEN) * 2))

    seen = {
        (patient, tuple(eids), tools) for some in asyncio.run(all_at_once()) for patient, eids, tools in some
    }
    assert len(seen) == 2
    assert {(patient, "lab:5" in eids, tools == 1) for patient, eids, tools in seen} == {
        (ADA, False, False),
        (BEN, True, True),
    }
    assert [verify(many.folder / "audits" / name).calls for name in ("ada", "ben")] == [6, 6]


def test_whoever_is_not_let_in_gets_the_same_answer_and_the_log_the_reason(
    many: Many, caplog: pytest.LogCaptureFixture
) -> None:
    good = many.token("ada")
    many.token("removed")
    (many.folder / "grants" / "removed.json").unlink()
    key = make_key(many.folder / "grants" / "token.key")
    store, later = many.store.manifest.fingerprint, int(time.time()) + 600
    refused: dict[str | None, str] = {
        None: "missing",
        ".": "malformed",
        "nonsense": "malformed",
        good[:-1] + ("A" if good[-1] != "A" else "B"): "signature",
        issue(bytes(32), "ada", store, later): "signature",
        issue(key, "ada", store, 1): "expired",
        issue(key, "ada", "a" * 64, later): "audience",
        issue(key, "removed", store, later): "unknown_grant",
        issue(key, "../ada", store, later): "unknown_grant",
    }
    answers = set()
    with caplog.at_level(logging.INFO, "mcp_mimic.events"):
        for token in refused:
            answer = many.post(token)
            head = {name: value for name, value in answer.headers.items() if name != "date"}
            answers.add((answer.status_code, json.dumps(head), answer.text))
        assert many.post(good).status_code == 200
    assert len(answers) == 1
    assert next(iter(answers))[0] == 401
    told = [fields["reason"] for fields in logged(caplog, "token_refused")]
    assert [reason if reason != "altered" else "signature" for reason in told] == list(refused.values())
    assert not (many.folder / "audits" / "ada").exists()


def test_a_flood_of_bad_tokens_does_not_fill_the_log(many: Many, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "mcp_mimic.events"), httpx.Client() as client:
        began = time.monotonic()
        for _ in range(60):
            assert client.post(many.url, headers={**HEAD, "authorization": "Bearer x"}).status_code == 401
        seconds = time.monotonic() - began
    assert 1 <= len(logged(caplog, "token_refused")) <= 10 * (int(seconds) + 2)


def test_a_grant_that_is_removed_ends_at_once(many: Many) -> None:
    token = many.token("ada")
    assert many.call(token)["rows"]
    (many.folder / "grants" / "ada.json").unlink()
    assert many.post(token).status_code == 401


@pytest.mark.parametrize("token", ["nonsense", "expired", None])
def test_fastmcps_client_says_no_more_of_a_refused_token_than_the_page_on_clients_tells(
    many: Many, token: str | None
) -> None:
    many.token("ada")
    key = make_key(many.folder / "grants" / "token.key")
    if token == "expired":
        token = issue(key, "ada", many.store.manifest.fingerprint, int(time.time()) - 5)

    async def connect() -> None:
        async with Client(many.url, auth=token):
            pass

    with pytest.raises(MCPError, match=r"^Server returned an error response$"):
        asyncio.run(connect())
    head = {} if token is None else {"authorization": f"Bearer {token}"}
    told = httpx.post(many.url, headers=head)  # as curl asks
    assert (told.status_code, told.json()) == (401, {"error": "invalid_token"})
    let_in = httpx.post(many.url, headers={"authorization": f"Bearer {many.token('ben', BEN)}"})
    assert let_in.status_code == 400


def test_limits_outlast_the_connection_the_chart_and_the_server(small_store: Store, tmp_path: Path) -> None:
    with running(small_store, tmp_path, most=1) as server:
        ada, ben = server.token("ada", calls=3), server.token("ben", BEN)
        cursor = server.call(ada, limit=2)["next_cursor"]
        server.call(ben)
        assert server.sessions.open == ("ben",)
        second = server.call(ada, limit=2, cursor=cursor)
        assert second["call"] == "search:2"
    with running(small_store, tmp_path) as server:
        assert server.call(ada)["call"] == "search:3"
        assert server.call(ada)["error"]["code"] == "limits.calls"
        place = ServeSettings(store=small_store.path, grants=tmp_path / "grants", audit=tmp_path / "audits")
        renewed = issue_token(place, Request(renew="ada"), "1h")
        assert server.call(renewed.token)["error"]["code"] == "limits.calls"
    assert verify(tmp_path / "audits" / "ada").holds


def replaced_by_a_file(audits: Path) -> None:
    audits.rmdir()
    audits.write_text("")


def holding_another_grants_audit(audits: Path) -> None:
    (audits / "ada").mkdir()
    (audits / "ada" / "audit.jsonl").write_text("{}\n")


def linked_elsewhere(audits: Path) -> None:
    (audits.parent / "elsewhere").mkdir()
    (audits / "ada").symlink_to(audits.parent / "elsewhere")


@pytest.mark.parametrize("misdeed", [replaced_by_a_file, holding_another_grants_audit, linked_elsewhere])
def test_a_session_whose_audit_cannot_be_used_answers_nothing_and_shows_no_path(
    many: Many, caplog: pytest.LogCaptureFixture, misdeed: Callable[[Path], None]
) -> None:
    token = many.token("ada")
    misdeed(many.folder / "audits")
    with caplog.at_level(logging.INFO, "mcp_mimic.events"):
        answer = many.call(token)
    assert answer["error"]["code"] == "audit_unavailable"
    assert str(many.folder) not in json.dumps(answer)
    assert logged(caplog, "session_unavailable")[0]["rule"] == "audit_unavailable"
    assert any("audit" in message and str(many.folder) in message for message in caplog.messages)


def test_readiness_follows_the_audit_folder_and_liveness_does_not(small_store: Store, tmp_path: Path) -> None:
    with running(small_store, tmp_path) as server:
        assert httpx.get(server.url.replace("/mcp", "/ready")).json() == {"status": "ready"}
    with running(small_store, tmp_path) as server:
        (tmp_path / "audits").rmdir()
        answer = httpx.get(server.url.replace("/mcp", "/ready"))
        assert (answer.status_code, answer.json()["reason"]) == (503, "the audit folder is gone")
        assert httpx.get(server.url.replace("/mcp", "/health")).json() == {"status": "ok"}


@pytest.mark.parametrize("opened", [True, False])
def test_readiness_follows_the_last_write_of_any_session(
    small_store: Store, tmp_path: Path, *, opened: bool
) -> None:
    with running(small_store, tmp_path) as server:
        ada, ready = server.token("ada"), server.url.replace("/mcp", "/ready")
        if opened:
            assert "error" not in server.call(ada)
        with files_of_at_most(10):
            assert server.call(ada)["error"]["code"] == "audit_unavailable"
            answer = httpx.get(ready)
            assert (answer.status_code, "File too large" in answer.json()["reason"]) == (503, True)
        assert "error" not in server.call(ada)
        time.sleep(1.1)
        assert httpx.get(ready).json() == {"status": "ready"}


def test_readiness_follows_the_store(small_store: Store, tmp_path: Path) -> None:
    moved = tmp_path / "store"
    shutil.copytree(small_store.path, moved)
    with running(Store.open(moved), tmp_path) as server:
        (moved / "chart.duckdb").unlink()
        answer = httpx.get(server.url.replace("/mcp", "/ready"))
        assert (answer.status_code, answer.json()["reason"]) == (503, "the store cannot be opened")
        assert server.call(issued_before(server, tmp_path))["error"]["code"] == "chart_unavailable"


def test_the_log_tells_calls_and_nothing_of_what_they_hold(
    many: Many, caplog: pytest.LogCaptureFixture
) -> None:
    token = many.token("ada")
    with caplog.at_level(logging.INFO, "mcp_mimic.events"):
        many.call(token, items=["creatinine"])
        many.call(token, "search_items", query="SECRET WORDS")
        many.call(token, "SECRET NAME")
    lines = [json.dumps(fields) for name in ("call", "chart_opened") for fields in logged(caplog, name)]
    calls = logged(caplog, "call")
    assert [(call["grant"], call["outcome"]) for call in calls] == [
        ("ada", "ok"),
        ("ada", "ok"),
        ("ada", "error"),
    ]
    assert all(call["ms"] >= 0 for call in calls)
    for word in ("creatinine", "SECRET", str(ADA), token, "1.6"):
        assert not any(word in line for line in lines)
