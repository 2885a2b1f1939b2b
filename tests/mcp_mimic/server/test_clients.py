"""What `mcp-mimic inspect` and `mcp-mimic grant` print: configurations that work, and a token that is shown once."""

import asyncio
import json
import shlex
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError as FastMCPToolError

from harness.data import data_folder
from mcp_mimic.cli import run as mcp_mimic
from mcp_mimic.clients import CLIENTS, INSPECTOR, TOKEN_VARIABLE
from mcp_mimic.contract import read_audit
from mcp_mimic.governance.audit import AuditLog
from mcp_mimic.governance.bearer import granted, read_key
from mcp_mimic.governance.grant import read_grant
from mcp_mimic.store.store import Store
from tests.hospital import ADA, CY
from tests.mcp_mimic.printed import after, server
from tests.mcp_mimic.server.test_serving import COMMAND, http_process

type Capture = pytest.CaptureFixture[str]

WHOSE = ["--patient", str(ADA), "--as-of", "2150-03-03T12:00:00"]
URL = "http://127.0.0.1:8000/mcp"


def inspected(capsys: Capture, *arguments: str) -> str:
    assert mcp_mimic(["inspect", *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture
def place(small_store: Store) -> list[str]:
    return ["--store", str(small_store.path), "--reader", "none=a test, no model"]


def program(told: str) -> Client[Any]:
    """The client of a printed program."""
    names: dict[str, Any] = {}
    exec(after(told, "program"), names)
    client: Client[Any] = names["client"]
    return client


@contextmanager
def printed_client(
    transport: str, place: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> Iterator[Client[Any]]:
    """What is printed for fastmcp, made to run; over HTTP with a server that it reaches."""
    audit = ["--audit", str(folder)]
    if transport == "stdio":
        yield program(inspected(capsys, "fastmcp", *place, *WHOSE, *audit))
        return
    grants, whose = ["--grants", str(folder / "grants")], WHOSE
    if transport == "bearer":
        monkeypatch.setenv(TOKEN_VARIABLE, issued(capsys, *place[:2], *grants, *WHOSE, "--id", "ada"))
        whose = grants
    with http_process([*COMMAND, "serve", *place, *whose, *audit, "--http", "--port", "0"]) as server:
        more = [] if transport == "bearer" else ["--no-token"]
        yield program(inspected(capsys, "fastmcp", *place, "--url", server.url, *more))


@pytest.mark.parametrize(
    "transport", ["stdio", *(pytest.param(one, marks=pytest.mark.slow) for one in ("http", "bearer"))]
)
def test_a_printed_program_reads_a_chart_and_shows_what_is_refused(
    transport: str, place: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture
) -> None:
    async def run(client: Client[Any]) -> None:
        async with client:
            listed = [tool.name for tool in await client.list_tools()]
            assert "get_labs" in listed
            assert "query_chart" not in listed
            overview = await client.call_tool("get_patient_overview")
            assert overview.structured_content["patient"] == {"sex": "F", "age": "62"}
            pages = [await client.call_tool("get_labs", {"limit": 2})]
            cursor = pages[0].structured_content["next_cursor"]
            pages.append(await client.call_tool("get_labs", {"limit": 2, "cursor": cursor}))
            served = [[row["eid"] for row in page.structured_content["rows"]] for page in pages]
            assert served == [["lab:3", "lab:2"], ["lab:4", "lab:1"]]
            with pytest.raises(
                FastMCPToolError, match=r"^error grant\.tools \(search:4\): the grant does not"
            ):
                await client.call_tool("query_chart", {"sql": "select 1"})
            with pytest.raises(
                FastMCPToolError, match=r"^error window \(search:5\): start lies after the as-of"
            ):
                await client.call_tool("get_labs", {"start": "2150-03-04"})
            report = {"report": "## Answer: YES\n\n- creatinine rose [lab:1, lab:2]\n"}
            handed_in = await client.call_tool("submit_determination", report)
            assert handed_in.structured_content == {"call": "search:6", "status": "recorded"}

    with printed_client(transport, place, tmp_path, monkeypatch, capfd) as client:
        asyncio.run(run(client))
    folder = tmp_path / "ada" if transport == "bearer" else tmp_path
    calls = read_audit((folder / "audit.jsonl").read_text().splitlines()).calls
    assert [call["outcome"] for call in calls] == ["ok", "ok", "ok", "refused", "error", "ok"]


def test_every_client_gets_the_same_command_in_its_own_form(capsys: Capture, place: list[str]) -> None:
    said = {name: inspected(capsys, name, *place, *WHOSE) for name in CLIENTS}
    code = server(said["claude-code"])
    command = [code["command"], *code["args"]]
    assert command[1:4] == ["serve", "--store", place[1]]
    add = shlex.split(after(said["claude-code"], "Run"))
    assert add == ["claude", "mcp", "add", "--transport", "stdio", "mimic", "--", *command]
    assert shlex.split(after(said["codex"], "Run")) == ["codex", "mcp", "add", "mimic", "--", *command]
    codex = tomllib.loads(after(said["codex"], "config.toml"))["mcp_servers"]["mimic"]
    for found in (codex, server(said["gemini"], "settings.json"), server(said["claude-desktop"], "again")):
        assert [found["command"], *found["args"]] == command
    transport = program(said["fastmcp"]).transport
    assert isinstance(transport, StdioTransport)
    assert [transport.command, *transport.args] == command


def test_the_inspector_does_not_take_the_servers_options_for_its_own(
    capsys: Capture, place: list[str]
) -> None:
    told = inspected(capsys, "inspector", *place, *WHOSE)
    page = shlex.split(after(told, "Run for its page"))
    assert page[:2] == ["npx", INSPECTOR]
    assert page[3:6] == ["serve", "--", "--store"]
    call = shlex.split(after(told, "for one call"))
    assert (call[:3], call[4:6]) == (["npx", INSPECTOR, "--cli"], ["serve", "--store"])
    assert call[-3:] == ["--", "--method", "tools/list"]


def test_for_a_running_server_the_token_is_named_and_not_printed(capsys: Capture, place: list[str]) -> None:
    said = {
        name: inspected(capsys, name, *place, "--url", URL) for name in CLIENTS if name != "claude-desktop"
    }
    bearer = f"Bearer ${{{TOKEN_VARIABLE}}}"
    code = {"type": "http", "url": URL, "headers": {"Authorization": bearer}}
    assert server(said["claude-code"]) == code
    gemini = server(said["gemini"], "settings.json")
    assert gemini == {"httpUrl": URL, "headers": {"Authorization": f"Bearer ${TOKEN_VARIABLE}"}}
    codex = tomllib.loads(after(said["codex"], "config.toml"))["mcp_servers"]["mimic"]
    assert codex == {"url": URL, "bearer_token_env_var": TOKEN_VARIABLE}
    header = f'--header "Authorization: Bearer ${TOKEN_VARIABLE}"'
    assert f"--server-url {URL} {header}" in said["inspector"]
    assert f"--cli {URL} --transport http {header} --method tools/list" in said["inspector"]


def test_for_a_server_without_tokens_none_is_named(capsys: Capture, place: list[str]) -> None:
    for name in CLIENTS.keys() - {"claude-desktop"}:
        told = inspected(capsys, name, *place, "--url", URL, "--no-token")
        assert URL in told
        assert not any(word in told for word in (TOKEN_VARIABLE, "Authorization", "bearer", "auth")), name


def test_what_cannot_be_printed_is_said_in_one_line(capsys: Capture, place: list[str]) -> None:
    mistakes = {
        "no client that is known": ["vim", *place, *WHOSE],
        "calls none by URL": ["claude-desktop", *place, "--url", URL],
        "is not the URL": ["codex", *place, "--url", "mimic:8000"],
        "no grant, no chart": ["codex", *place],
        "no model is named": ["codex", *place[:2], "--url", URL],
        "subject 7 is not in this store": ["codex", *place, "--patient", "7", *WHOSE[2:]],
        "before the patient's birth": ["codex", *place, *WHOSE[:3], "1999-01-01"],
        "see mcp-mimic inspect --help": ["codex", *place, *WHOSE[:3], "yesterday"],
        "no store is named": ["codex", *WHOSE],
    }
    for said, arguments in mistakes.items():
        assert mcp_mimic(["inspect", *arguments]) == 2
        told = capsys.readouterr()
        assert (told.out, said in told.err) == ("", True), said


def test_for_a_running_server_no_store_is_needed(capsys: Capture, place: list[str]) -> None:
    for name in CLIENTS.keys() - {"claude-desktop"}:
        assert inspected(capsys, name, "--url", URL) == inspected(capsys, name, *place, "--url", URL)


def issued(capsys: Capture, *arguments: str) -> str:
    assert mcp_mimic(["grant", *arguments]) == 0
    told = capsys.readouterr()
    assert told.out.count("\n") == 1
    assert told.out.strip() not in told.err
    return told.out.strip()


def test_a_token_is_printed_once_and_kept_nowhere(
    capsys: Capture, small_store: Store, tmp_path: Path
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
    (tmp_path / "audits").mkdir()
    audits = ["--audit", str(tmp_path / "audits")]
    again = issued(capsys, *place, "--renew", "a", "--expires", "7d", *audits)
    assert granted(key, again, small_store.manifest.fingerprint)[0] == "a"
    assert issued(capsys, *place, *WHOSE) != issued(capsys, *place, *WHOSE)


def test_a_grant_says_whose_chart_it_is_and_when_beside_the_token(
    capsys: Capture, small_store: Store, tmp_path: Path
) -> None:
    place = ["--store", str(small_store.path), "--grants", str(tmp_path / "grants"), "--id", "a"]
    assert mcp_mimic(["grant", *place, *WHOSE[:3], "2150-03-03"]) == 0
    whose, until = capsys.readouterr().err.splitlines()
    assert whose == f"grant a: patient {ADA} as of 2150-03-03T00:00:00"
    assert until.startswith("good until ")


def test_a_grant_that_cannot_be_issued_leaves_nothing(
    capsys: Capture, small_store: Store, tmp_path: Path
) -> None:
    store = ["--store", str(small_store.path)]
    grants = ["--grants", str(tmp_path / "grants")]
    corpus = ["--corpus", str(data_folder("corpus"))]
    mistakes = {
        "no folder of grants": [*store, *WHOSE],
        "no store is named": [*grants, *WHOSE],
        "not said whose chart": [*store, *grants],
        "subject 7 is not in this store": [*store, *grants, "--patient", "7", "--as-of", "2150-03-03"],
        "unknown tool": [*store, *grants, *WHOSE, "--tool", "rm"],
        "is not a time of up to a year": [*store, *grants, *WHOSE, "--expires", "forever"],
        "letters, digits": [*store, *grants, *WHOSE, "--id", "../a"],
        "cannot be read": [*store, *grants, "--renew", "a"],
        "--as-of must be a time": [*store, *grants, *WHOSE[:3], "yesterday"],
        "write it as 2150-03-04T14:00:00, or 2150-03-04 for the midnight that begins it; see mcp-mimic grant --help": [
            *(*store, *grants, *WHOSE[:3], "yesterday")
        ],
        "before the patient's birth in about 2088": [*store, *grants, *WHOSE[:3], "1999-01-01"],
        "the record begins only at 2149-11-03T23:59:00": [*store, *grants, *WHOSE[:3], "2149-11-03"],
        "the record has no row in this store": [*store, *grants, "--patient", str(CY), *WHOSE[2:]],
        "admission 5, to be sealed, is none of subject": [*store, *grants, *WHOSE, "--sealed-hadm-id", "5"],
        "no corpus is named in which to look for x": [*store, *grants, *WHOSE, "--document", "x"],
        "has no document 'hyperkalaemia'\nhint: did you mean hyperkalaemia-severe?": [
            *(*store, *grants, *WHOSE, *corpus, "--document", "hyperkalaemia")
        ],
        "keeps its terms, so --renew goes without --as-of, --tool, --calls\nhint: to change them, remove": [
            *(*store, *grants, "--renew", "a", "--tool", "get_labs", "--calls", "5", *WHOSE[2:])
        ],
        "keeps its terms, so --renew goes without --patient, --sealed-hadm-id, --from, --id, --document": [
            *(*store, *grants, "--renew", "a", *WHOSE[:2], "--sealed-hadm-id", "5", "--from", "a.json"),
            *("--id", "b", "--document", "x"),
        ],
        "says whose chart, so it goes without --patient, --as-of": [
            *(*store, *grants, "--from", "a.json", *WHOSE)
        ],
        "manifest.toml": [*store, *grants, *WHOSE, *corpus, "--document", "?"],
    }
    for said, arguments in mistakes.items():
        assert mcp_mimic(["grant", *arguments]) == 2, said
        told = capsys.readouterr()
        assert (told.out, said in told.err) == ("", True), (said, told.err)
    assert not (tmp_path / "grants").exists()


def test_a_document_of_the_corpus_is_granted(capsys: Capture, small_store: Store, tmp_path: Path) -> None:
    place = ["--store", str(small_store.path), "--grants", str(tmp_path)]
    named = ["--corpus", str(data_folder("corpus")), "--document", "hyperkalaemia-severe"]
    issued(capsys, *place, *WHOSE, "--id", "a", *named)
    assert json.loads((tmp_path / "a.json").read_text())["documents"] == ["hyperkalaemia-severe"]


def test_a_session_that_is_sealed_gets_no_token(capsys: Capture, small_store: Store, tmp_path: Path) -> None:
    place = ["--store", str(small_store.path), "--grants", str(tmp_path / "grants")]
    audits = ["--audit", str(tmp_path / "audits")]
    issued(capsys, *place, *WHOSE, "--id", "a")

    def refused(*more: str) -> str:
        assert mcp_mimic(["grant", *place, *more]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        return told.err

    assert "give --audit DIR, the one that the server has" in refused("--renew", "a")
    assert "there is no audit folder" in refused("--renew", "a", *audits)
    folder = tmp_path / "audits" / "a"
    folder.mkdir(parents=True)
    audit = AuditLog(folder, read_grant(tmp_path / "grants" / "a.json"), "test 0")
    issued(capsys, *place, "--renew", "a", *audits)
    audit.seal()
    said = refused("--renew", "a", *audits)
    assert "the session of a is sealed" in said
    assert "hint: issue a new grant, under another id" in said
    (tmp_path / "grants" / "a.json").unlink()
    assert "is sealed" in refused(*WHOSE, "--id", "a", *audits)
    assert not (tmp_path / "grants" / "a.json").exists()
