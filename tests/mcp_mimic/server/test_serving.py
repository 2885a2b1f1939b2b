"""The served process: stdio and HTTP with real clients, the host guard, sealing, signals, and startup errors."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from harness.data import data_folder
from mcp_mimic.cli import run as mcp_mimic
from mcp_mimic.contract import read_audit
from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.decision import EXPLICIT_TOOLS
from mcp_mimic.governance.readers import Reader, require_readers
from mcp_mimic.http import open_server
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store
from mcp_mimic.tools.catalogue import all_tools
from tests.hospital import ADA
from tests.mcp_mimic.charts import make_grant

AS_OF = "2150-03-03T12:00:00"
COMMAND = [sys.executable, "-c", "from mcp_mimic.cli import main; main()"]

READER = Reader(model="none", agreement="a test")
"""The store of the tests is of unknown origin, so it counts as credentialed."""


def served(store: Store, *more: str) -> list[str]:
    whose = ["--patient", str(ADA), "--as-of", AS_OF]
    return ["serve", "--store", str(store.path), *whose, "--reader", "none=a test", *more]


@dataclass(frozen=True)
class Served:
    """A served process and where it listens."""

    process: subprocess.Popen[str]
    url: str

    def post(self, method: str, parameters: dict[str, Any], **headers: str) -> Any:
        """One JSON-RPC call without any handshake."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()
        head = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        with urlopen(Request(self.url, body, head | headers), timeout=30) as answer:
            return json.load(answer)


@contextmanager
def http_server(store: Store, *more: str) -> Iterator[Served]:
    with http_process([*COMMAND, *served(store, "--http", "--port", "0", *more)]) as server:
        yield server


@contextmanager
def http_process(arguments: list[str]) -> Iterator[Served]:
    with subprocess.Popen(
        arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        try:
            told: dict[str, str] = {}
            while told.get("event") != "listening":
                told = json.loads(process.stderr.readline())
            yield Served(process, told["message"].removeprefix("listening on "))
        finally:
            process.kill()


def test_a_stdio_client_lists_and_calls_tools_and_stdout_is_protocol_only(
    small_store: Store, tmp_path: Path
) -> None:
    async def run() -> None:
        log = tmp_path / "log"
        transport = StdioTransport(
            COMMAND[0], [*COMMAND[1:], *served(small_store, "--audit", str(tmp_path))], log_file=log
        )
        async with Client(transport) as client:
            assert {tool.name for tool in await client.list_tools()} == set(all_tools()) - EXPLICIT_TOOLS
            result = await client.call_tool_mcp("get_medications", {"names": ["calcium"]})
            assert result.structured_content["rows"][-1]["eid"] == "emar:9"
            await client.call_tool_mcp("get_labs", {"nope": "secret"})
        told = [json.loads(line) for line in log.read_text().splitlines()]
        assert [line["event"] for line in told] == ["readers", "call", "call"]
        assert [(line["tool"], line["outcome"], line.get("rule")) for line in told[1:]] == [
            ("get_medications", "ok", None),
            ("get_labs", "error", "arguments"),
        ]
        assert "secret" not in log.read_text()
        assert len(read_audit((tmp_path / "audit.jsonl").read_text().splitlines()).calls) == 2

    asyncio.run(run())


@pytest.mark.slow
def test_a_stdio_session_whose_client_left_is_sealed_by_a_server_over_http(
    small_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = ["--audit", str(tmp_path)]

    async def run() -> None:
        command = [*COMMAND[1:], *served(small_store, *audit)]
        transport = StdioTransport(COMMAND[0], command, log_file=tmp_path / "log")
        async with Client(transport) as client:
            await client.call_tool_mcp("get_labs", {})

    asyncio.run(run())
    assert mcp_mimic(["seal", *audit]) == 1
    assert "start it again on that audit and seal while it runs\n" in capsys.readouterr().err
    with http_server(small_store, *audit):
        assert mcp_mimic(["seal", *audit]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 1


def test_a_grant_file_serves_query_chart_and_documents_which_a_patients_number_does_not(
    small_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--store", str(small_store.path), "--grants", str(tmp_path)]
    corpus = data_folder("corpus")
    asked = [
        "--tool",
        "*",
        "--tool",
        "query_chart",
        "--corpus",
        str(corpus),
        "--document",
        "red-cell-transfusion",
    ]
    whose = ["--patient", str(ADA), "--as-of", AS_OF]
    assert mcp_mimic(["grant", *place, "--id", "a", *whose, *asked]) == 0
    capsys.readouterr()
    settings = ServeSettings(
        store=small_store.path, grant=tmp_path / "a.json", corpus=corpus, readers=(READER,)
    )

    async def run() -> None:
        with open_server(settings) as server:
            async with Client(server.mcp) as client:
                assert {tool.name for tool in await client.list_tools()} == set(all_tools())
                told = await client.call_tool_mcp(
                    "read_policy", {"document": "red-cell-transfusion", "section": "2"}
                )
                assert told.structured_content["passages"]

    asyncio.run(run())


def test_over_http_real_clients_plain_calls_and_the_host_guard(small_store: Store, tmp_path: Path) -> None:
    with http_server(small_store, "--audit", str(tmp_path), "--allow-host", "mimic") as server:

        async def run() -> list[str]:
            async with Client(server.url) as client:
                result = await client.call_tool_mcp("get_labs", {})
                return [row["eid"] for row in result.structured_content["rows"]]

        eids = asyncio.run(run())
        assert eids
        plain = server.post("tools/call", {"name": "get_labs", "arguments": {}}, host="mimic:8000")
        assert [row["eid"] for row in plain["result"]["structuredContent"]["rows"]] == eids
        with urlopen(server.url.replace("/mcp", "/health"), timeout=30) as answer:
            assert json.load(answer) == {"status": "ok"}
        with urlopen(server.url.replace("/mcp", "/ready"), timeout=30) as answer:
            assert json.load(answer) == {"status": "ready"}
        for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
            with pytest.raises(OSError, match=r"421|403"):
                server.post("tools/list", {}, **headers)


@pytest.mark.slow
def test_a_live_server_seals_on_demand_and_a_dead_one_cannot(
    small_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live, dead = tmp_path / "live", tmp_path / "dead"
    with http_server(small_store, "--audit", str(live)) as server:
        server.post("tools/call", {"name": "get_labs", "arguments": {}})
        assert mcp_mimic(["seal", "--audit", str(live)]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["calls"] == 1
        late = server.post("tools/call", {"name": "get_labs", "arguments": {}})["result"]
        assert late["structuredContent"]["error"]["code"] == "sealed"
        assert mcp_mimic(["seal", "--audit", str(live)]) == 0
        assert json.loads(capsys.readouterr().out) == said
        assert [path.name for path in live.iterdir()] == ["audit.jsonl"]
    assert read_audit((live / "audit.jsonl").read_text().splitlines()).sealed
    with http_server(small_store, "--audit", str(dead)) as server:
        server.process.kill()
        server.process.wait()
        assert mcp_mimic(["seal", "--audit", str(dead)]) == 1
        assert "hint:" in capsys.readouterr().err
    assert not read_audit((dead / "audit.jsonl").read_text().splitlines()).sealed


@pytest.mark.slow
def test_a_killed_server_started_again_goes_on_with_its_audit(small_store: Store, tmp_path: Path) -> None:
    for calls in (1, 2):
        with http_server(small_store, "--audit", str(tmp_path)) as server:
            server.post("tools/call", {"name": "get_labs", "arguments": {}})
        reading = read_audit((tmp_path / "audit.jsonl").read_text().splitlines())
        assert (reading.problem, len(reading.calls)) == (None, calls)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_without_seal_or_traceback(
    small_store: Store, tmp_path: Path, number: signal.Signals
) -> None:
    with http_server(small_store, "--audit", str(tmp_path)) as server:
        os.kill(server.process.pid, number)
        assert server.process.wait(timeout=30) == 0
        assert server.process.stderr is not None
        told = [json.loads(line)["event"] for line in server.process.stderr.read().splitlines()]
        assert told == ["stopping", "stopped"]
    assert not read_audit((tmp_path / "audit.jsonl").read_text().splitlines()).sealed
    assert [path.name for path in tmp_path.iterdir()] == ["audit.jsonl"]


@pytest.mark.slow
def test_a_signal_ends_a_stdio_server_that_still_has_a_client(small_store: Store, tmp_path: Path) -> None:
    arguments = [*COMMAND, *served(small_store, "--audit", str(tmp_path))]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "mcp-mimic"
        process.terminate()
        assert process.wait(timeout=30) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["audit.jsonl"]


SLOW_QUERY = "select count(*) from range(10000) a, range(10000) b where a.range * b.range % 7 = 3"


def _wait_for_a_query(process: subprocess.Popen[str]) -> None:
    """Until the process answers a query, which has a process of its own."""
    children = Path(f"/proc/{process.pid}/task")
    while not any((task / "children").read_text() for task in children.iterdir()):
        assert process.poll() is None


def _query_grant(store: Store, folder: Path) -> list[str]:
    tools = ["get_labs", "query_chart"]
    grant = _grant_file(folder, subject_id=ADA, as_of=AS_OF, store=store.manifest.fingerprint, tools=tools)
    where = ["--audit", str(folder / "audit"), "--reader", "none=a test"]
    return ["serve", "--store", str(store.path), "--grant", grant, *where]


@pytest.mark.slow
def test_a_call_in_flight_is_finished_after_sigterm_over_http(small_store: Store, tmp_path: Path) -> None:
    arguments = [*COMMAND, *_query_grant(small_store, tmp_path), "--http", "--port", "0"]
    with http_process(arguments) as server, ThreadPoolExecutor() as pool:
        call = {"name": "query_chart", "arguments": {"sql": SLOW_QUERY}}
        answer = pool.submit(server.post, "tools/call", call)
        _wait_for_a_query(server.process)
        server.process.terminate()
        assert answer.result()["result"]["structuredContent"]["complete"] is True
        assert server.process.wait(timeout=30) == 0
        with pytest.raises(OSError, match="refused"):
            server.post("tools/list", {})
    reading = read_audit((tmp_path / "audit" / "audit.jsonl").read_text().splitlines())
    assert [(call["outcome"], reading.sealed) for call in reading.calls] == [("ok", False)]


@pytest.mark.slow
def test_a_call_in_flight_is_finished_after_sigterm_over_stdio(small_store: Store, tmp_path: Path) -> None:
    arguments = [*COMMAND, *_query_grant(small_store, tmp_path)]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        call = {"name": "query_chart", "arguments": {"sql": SLOW_QUERY}}
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        ):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        _wait_for_a_query(process)
        process.terminate()
        answer = json.loads(process.stdout.readline())
        assert answer["result"]["structuredContent"]["complete"] is True
        assert process.wait(timeout=30) == 0


def _grant_file(folder: Path, **changes: Any) -> str:
    path = folder / "grant.json"
    path.write_text(json.dumps(make_grant().to_json() | changes))
    return str(path)


def test_a_server_without_an_audit_says_so_in_one_line(
    small_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    settings = ServeSettings(store=small_store.path, patient=ADA, as_of=AS_OF, readers=(READER,))
    with open_server(settings):
        pass
    assert caplog.messages == ["no audit is kept and no report taken: name a folder with --audit"]


def test_a_second_chart_is_not_served_into_the_audit_of_the_first(small_store: Store, tmp_path: Path) -> None:
    first = ServeSettings(store=small_store.path, patient=ADA, as_of=AS_OF, audit=tmp_path, readers=(READER,))
    with open_server(first):
        pass
    with open_server(first):
        pass
    later = first.model_copy(update={"as_of": "2150-03-03T13:00:00"})
    with pytest.raises(SettingsError, match="another grant"), open_server(later):
        pass


@pytest.mark.parametrize("classification", ["synthetic", "open", "credentialed"])
def test_only_a_credentialed_store_asks_who_reads_it(classification: str) -> None:
    store = Path("store")
    require_readers(store, classification, [READER])
    if classification == "credentialed":
        with pytest.raises(SettingsError, match="no model is named"):
            require_readers(store, classification, [])
    else:
        require_readers(store, classification, [])


def test_startup_mistakes_are_one_line_a_hint_and_exit_2(
    small_store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(small_store.path), "--reader", "none=a test"]
    patient = ["--patient", str(ADA)]
    blocked = tmp_path / "file"
    blocked.write_text("")
    mistakes = {
        "no store here": ["--store", str(tmp_path / "none"), *patient, "--as-of", AS_OF],
        "no grant, no chart": store,
        "is not in this store": [*store, "--patient", "77", "--as-of", AS_OF],
        "before the patient's birth": [*store, *patient, "--as-of", "1999-01-01T00:00:00"],
        "--as-of must be a time": [*store, *patient, "--as-of", "noon"],
        "another store": [*store, "--grant", _grant_file(tmp_path)],
        "no store is named": [*patient, "--as-of", AS_OF],
        "no model is named that may read it": [*store[:2], *patient, "--as-of", AS_OF],
        "write it as MODEL=AGREEMENT": [*store, *patient, "--as-of", AS_OF, "--reader", "gpt"],
        "two settings say whose chart": [*store, *patient, "--grant", str(tmp_path / "grant.json")],
        "cannot be made": [*store, *patient, "--as-of", AS_OF, "--audit", str(blocked / "audit")],
        "cannot listen": [*store, *patient, "--as-of", AS_OF, "--http", "--host", "no.such.host.invalid"],
    }
    for said, arguments in mistakes.items():
        assert mcp_mimic(["serve", *arguments]) == 2, said
        told = capsys.readouterr()
        assert told.out == ""
        assert said in told.err
        assert [line.partition(":")[0] for line in told.err.splitlines()] == ["error", "hint"]


@pytest.mark.slow
def test_a_grant_file_for_this_store_is_served(small_store: Store, tmp_path: Path) -> None:
    grant = _grant_file(
        tmp_path, subject_id=ADA, as_of=AS_OF, store=small_store.manifest.fingerprint, tools=["get_labs"]
    )

    async def run() -> None:
        arguments = ["serve", "--store", str(small_store.path), "--grant", grant, "--reader", "none=a test"]
        async with Client(StdioTransport(COMMAND[0], [*COMMAND[1:], *arguments])) as client:
            assert [tool.name for tool in await client.list_tools()] == ["get_labs"]

    asyncio.run(run())


@pytest.mark.slow
def test_requests_that_are_too_large_or_too_many_are_told_so_and_the_server_lives(
    small_store: Store, tmp_path: Path
) -> None:
    """Together they would fill the memory of the server's container, and end the trial."""
    with http_server(small_store, "--audit", str(tmp_path), "--connections", "64") as server:
        place = urlsplit(server.url)
        assert place.hostname is not None
        address = (place.hostname, place.port)
        begun = f"POST /mcp HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 1000000\r\n\r\n".encode()
        with ExitStack() as held:

            def answers(connections: int) -> set[str]:
                crowd = [
                    held.enter_context(socket.create_connection(address, timeout=10))
                    for _ in range(connections)
                ]
                for one in crowd:
                    one.sendall(begun)
                return {one.recv(12).decode() for one in crowd}

            assert answers(1) == {"HTTP/1.1 413"}
            assert "HTTP/1.1 503" in answers(100)
        report = "\u20ac" * (64 * 1024 // 3)
        server.post("tools/call", {"name": "submit_determination", "arguments": {"report": report}})
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == report


def test_ctrl_c_while_a_server_starts_says_that_nothing_was_answered(
    small_store: Store, tmp_path: Path
) -> None:
    settings = tmp_path / "settings.toml"
    os.mkfifo(settings)
    command = [*COMMAND, *served(small_store, "--settings", str(settings))]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        settings.open("w"),  # opens once the server reads its settings
    ):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.splitlines() == [
        "error: interrupted",
        "hint: no call was answered yet; run the same command again",
    ]


def test_ctrl_c_while_the_command_line_is_imported_is_one_line() -> None:
    code = """
import signal, sys
from mcp_mimic.cli import main

class Early:
    def find_spec(self, name, *_):
        if name == "typer":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Early())
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "check"], check=False, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 130
    assert done.stderr == "error: interrupted\nhint: run the same command again\n"


@pytest.mark.parametrize(
    ("closing", "told"), [("<&-", "stdin"), (">&-", "stdout"), ("<&- >&-", "stdin and stdout")]
)
def test_a_server_over_stdio_without_its_streams_says_so(small_store: Store, closing: str, told: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closing}', "sh", *COMMAND, *served(small_store)],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    error, hint = done.stderr.splitlines()
    assert error == f"error: closed: {told}; over stdio, a server needs both"
    assert hint.startswith("hint: ")


def test_a_mistake_without_a_stderr_still_has_its_code() -> None:
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *COMMAND, "check", "--store", "nowhere"]
    assert subprocess.run(command, check=False, timeout=30).returncode == 2
