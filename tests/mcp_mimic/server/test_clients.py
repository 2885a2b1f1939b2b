"""What `mcp-mimic inspect` and `mcp-mimic grant` print: configurations that work, and a token that is shown once."""

import asyncio
import json
import shlex
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from mcp_mimic.cli import run as mcp_mimic
from mcp_mimic.clients import CLIENTS, TOKEN_VARIABLE
from mcp_mimic.governance.bearer import granted, read_key
from mcp_mimic.store.store import Store
from tests.hospital import ADA

WHOSE = ["--patient", str(ADA), "--as-of", "2150-03-03T12:00:00"]
URL = "http://127.0.0.1:8000/mcp"


def inspected(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert mcp_mimic(["inspect", *arguments]) == 0
    return capsys.readouterr().out


def after(text: str, heading: str) -> str:
    """What stands under the line that ends with `heading`."""
    return text.split(f"{heading}:\n\n", 1)[1].split("\n\nor ", 1)[0]


def servers(text: str, heading: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(after(text, heading))["mcpServers"]["mimic"]
    return found


@pytest.fixture
def place(small_store: Store) -> list[str]:
    return ["--store", str(small_store.path), "--reader", "none=a test, no model"]


def test_a_printed_configuration_starts_a_server_that_answers(
    capsys: pytest.CaptureFixture[str], place: list[str], tmp_path: Path
) -> None:
    told = inspected(capsys, "claude-code", *place, *WHOSE, "--audit", str(tmp_path))
    server = servers(told, ".mcp.json")
    assert server["type"] == "stdio"

    async def run() -> None:
        transport = StdioTransport(server["command"], server["args"], log_file=tmp_path / "log")
        async with Client(transport) as client:
            result = await client.call_tool_mcp("get_labs", {})
            assert result.structured_content["rows"]

    asyncio.run(run())


def test_every_client_gets_the_same_command_in_its_own_form(
    capsys: pytest.CaptureFixture[str], place: list[str]
) -> None:
    said = {name: inspected(capsys, name, *place, *WHOSE) for name in CLIENTS if name != "inspector"}
    code = servers(said["claude-code"], ".mcp.json")
    command = [code["command"], *code["args"]]
    assert command[1:4] == ["serve", "--store", place[1]]
    add = shlex.split(after(said["claude-code"], "Run"))
    assert add == ["claude", "mcp", "add", "--transport", "stdio", "mimic", "--", *command]
    assert shlex.split(after(said["codex"], "Run")) == ["codex", "mcp", "add", "mimic", "--", *command]
    codex = tomllib.loads(after(said["codex"], "config.toml"))["mcp_servers"]["mimic"]
    for server in (
        codex,
        servers(said["gemini"], "settings.json"),
        servers(said["claude-desktop"], "again"),
    ):
        assert [server["command"], *server["args"]] == command


def test_the_inspector_does_not_take_the_servers_options_for_its_own(
    capsys: pytest.CaptureFixture[str], place: list[str]
) -> None:
    words = shlex.split(after(inspected(capsys, "inspector", *place, *WHOSE), "Run"))
    assert words[:2] == ["npx", "@modelcontextprotocol/inspector"]
    assert words[3:6] == ["serve", "--", "--store"]


def test_for_a_running_server_the_token_is_named_and_not_printed(
    capsys: pytest.CaptureFixture[str], place: list[str]
) -> None:
    said = {
        name: inspected(capsys, name, *place, "--url", URL) for name in CLIENTS if name != "claude-desktop"
    }
    bearer = f"Bearer ${{{TOKEN_VARIABLE}}}"
    code = {"type": "http", "url": URL, "headers": {"Authorization": bearer}}
    assert servers(said["claude-code"], ".mcp.json") == code
    gemini = servers(said["gemini"], "settings.json")
    assert gemini == {"httpUrl": URL, "headers": {"Authorization": f"Bearer ${TOKEN_VARIABLE}"}}
    codex = tomllib.loads(after(said["codex"], "config.toml"))["mcp_servers"]["mimic"]
    assert codex == {"url": URL, "bearer_token_env_var": TOKEN_VARIABLE}
    assert f'--server-url {URL} --header "Authorization: Bearer ${TOKEN_VARIABLE}"' in said["inspector"]


def test_what_cannot_be_printed_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], place: list[str]
) -> None:
    mistakes = {
        "no client that is known": ["vim", *place, *WHOSE],
        "calls none by URL": ["claude-desktop", *place, "--url", URL],
        "is not the URL": ["codex", *place, "--url", "mimic:8000"],
        "no grant, no chart": ["codex", *place],
        "no model is named": ["codex", *place[:2], "--url", URL],
    }
    for said, arguments in mistakes.items():
        assert mcp_mimic(["inspect", *arguments]) == 2
        told = capsys.readouterr()
        assert (told.out, said in told.err) == ("", True), said


def issued(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert mcp_mimic(["grant", *arguments]) == 0
    told = capsys.readouterr()
    assert told.out.count("\n") == 1
    assert told.out.strip() not in told.err
    return told.out.strip()


def test_a_token_is_printed_once_and_kept_nowhere(
    capsys: pytest.CaptureFixture[str], small_store: Store, tmp_path: Path
) -> None:
    place = ["--store", str(small_store.path), "--grants", str(tmp_path / "grants")]
    token = issued(
        capsys, *place, *WHOSE, "--id", "a", "--expires", "30m", "--tool", "get_labs", "--calls", "7"
    )
    key = read_key(tmp_path / "grants" / "token.key")
    name, expires = granted(key, token, small_store.manifest.fingerprint)
    assert name == "a"
    assert 1790 < expires - time.time() <= 1800
    grant = json.loads((tmp_path / "grants" / "a.json").read_text())
    assert (grant["tools"], grant["limits"]["calls"], grant["subject_id"]) == (["get_labs"], 7, ADA)
    assert not any(token in file.read_text() for file in (tmp_path / "grants").iterdir())
    again = issued(capsys, *place, "--renew", "a", "--expires", "7d")
    assert granted(key, again, small_store.manifest.fingerprint)[0] == "a"
    assert issued(capsys, *place, *WHOSE) != issued(capsys, *place, *WHOSE)


def test_a_grant_that_cannot_be_issued_leaves_nothing(
    capsys: pytest.CaptureFixture[str], small_store: Store, tmp_path: Path
) -> None:
    store = ["--store", str(small_store.path)]
    grants = ["--grants", str(tmp_path / "grants")]
    mistakes = {
        "no folder of grants": [*store, *WHOSE],
        "no store is named": [*grants, *WHOSE],
        "not said whose chart": [*store, *grants],
        "subject 7 is not in this store": [*store, *grants, "--patient", "7", "--as-of", "2150-03-03"],
        "unknown tool": [*store, *grants, *WHOSE, "--tool", "rm"],
        "is not a time of up to a year": [*store, *grants, *WHOSE, "--expires", "forever"],
        "letters, digits": [*store, *grants, *WHOSE, "--id", "../a"],
        "cannot be read": [*store, *grants, "--renew", "a"],
        "--as-of must be a time": [*store, *grants, "--patient", str(ADA), "--as-of", "noon"],
    }
    for said, arguments in mistakes.items():
        assert mcp_mimic(["grant", *arguments]) == 2, said
        told = capsys.readouterr()
        assert (told.out, said in told.err) == ("", True), (said, told.err)
    assert not (tmp_path / "grants").exists()
