"""Clients that people use, against the chart server: each is fed just what `mcp-mimic inspect` printed for it.

What they were seen to do is in docs/clients.md, which shows the configurations that are used here.
"""

import fcntl
import itertools
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mcp_mimic.clients import INSPECTOR, TOKEN_VARIABLE
from mcp_mimic.store.store import Store
from tests.containers.client_box import INSPECTOR_HOME, STORE, Box, clients_image, running_box
from tests.containers.scripted_model import server as scripted_model
from tests.containers.scripted_model.server import Step
from tests.hospital import ADA
from tests.mcp_mimic.printed import after

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
PLACE = f"--store {STORE} --reader 'scripted=a test, no model'"
WHOSE = f"--patient {ADA} --as-of 2150-03-03T12:00:00"
TRANSPORTS = ("stdio", "http", "bearer")
TOO_LATE = (
    "error window (search:4): start lies after the as-of time 2150-03-03T12:00:00: nothing is known of it"
)

_MODEL_FILE, _MODEL_URL = "/scripted_model.py", "http://127.0.0.1:9000"
_KEY = "placeholder-key-of-the-scripted-model-0123456789"
_ports = itertools.count(8000)


@pytest.fixture(scope="module")
def box(shared_dir: Path, small_store: Store) -> Iterator[Box]:
    """A container for the tests of this module, with a model that plays the script; the image is built once."""
    with (shared_dir / "clients.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        image = clients_image()
    with running_box(image, small_store.path, f"{scripted_model.__file__}:{_MODEL_FILE}") as made:
        made.write("script.json", json.dumps(SCRIPT))
        model = f"MODEL_KEY={_KEY} python -I {_MODEL_FILE} script.json 9000"
        made.start(model, _MODEL_URL)
        yield made


@dataclass(frozen=True)
class Session:
    """A session for one client: how it is reached, and where its calls are noted."""

    box: Box
    told: str
    """What `mcp-mimic inspect` printed."""
    audit: str
    env: Mapping[str, str]

    def noted(self) -> list[tuple[str, str, str | None]]:
        """Tool, outcome and rule of every call in the audit."""
        lines = [json.loads(line) for line in self.box.told(f"cat {self.audit}/audit.jsonl").splitlines()]
        return [(line["tool"], line["outcome"], line["rule"]) for line in lines if "tool" in line]


def printing(client: str, transport: str, *, audit: str = "audit", port: int = 8000) -> str:
    """The command that prints how a client reaches a session."""
    if transport == "stdio":
        return f"mcp-mimic inspect {client} {PLACE} {WHOSE} --audit {audit}"
    more = "" if transport == "bearer" else " --no-token"
    return f"mcp-mimic inspect {client} {PLACE} --url http://127.0.0.1:{port}/mcp{more}"


def open_session(box: Box, client: str, transport: str) -> Session:
    """A session for this client alone; over HTTP its server is started first."""
    port = next(_ports)
    home = f"{client}-{port}"
    audit, grants, env = f"{home}/audit", f"--grants {home}/grants", {}
    kept, whose = audit, WHOSE
    if transport == "bearer":
        issue = f"mcp-mimic grant --store {STORE} {grants} {WHOSE} --id ada --expires 30m"
        env = {TOKEN_VARIABLE: box.told(issue).strip()}
        kept, whose = f"{audit}/ada", grants
    if transport != "stdio":
        serve = f"mcp-mimic serve {PLACE} {whose} --audit {audit} --http --port {port}"
        box.start(serve, f"http://127.0.0.1:{port}/ready")
    told = box.told(printing(client, transport, audit=audit, port=port))
    assert not any(token in told for token in env.values())
    return Session(box, told, kept, env)


# The MCP inspector's command line: each call is a run of its own, and so is each server over stdio.


@dataclass(frozen=True)
class Ran:
    """One run: its exit code, the result on stdout, the error on stderr."""

    code: int
    result: dict[str, Any]
    error: dict[str, Any] | None


def inspector(session: Session, words: str = "--method tools/list") -> Ran:
    """Run the command that was printed, for this instead of the list of tools."""
    printed = after(session.told, "for one call")
    assert printed.count("--method tools/list") == 1
    command = printed.replace("--method tools/list", f"--connect-timeout 120000 --format json {words}")
    done = session.box.run(command, cwd=INSPECTOR_HOME, env=session.env)
    result = json.loads(done.stdout)["result"] if done.stdout.strip() else {}
    error = json.loads(done.stderr.splitlines()[-1])["error"] if done.returncode else None
    return Ran(done.returncode, result, error)


def inspected_call(session: Session, tool: str, **arguments: Any) -> Ran:
    given = shlex.quote(json.dumps(arguments))
    return inspector(session, f"--method tools/call --tool-name {tool} --tool-args-json {given}")


def eids(result: Mapping[str, Any]) -> list[str]:
    return [row["eid"] for row in result["structuredContent"]["rows"]]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector(transport: str, box: Box) -> None:
    session = open_session(box, "inspector", transport)
    listed = inspector(session, "--method tools/list --strict")
    names = [tool["name"] for tool in listed.result["tools"]]
    assert (listed.code, names[0], "query_chart" in names) == (0, "get_patient_overview", False)

    overview = inspected_call(session, "get_patient_overview")
    assert (overview.code, overview.result["structuredContent"]["patient"]["sex"]) == (0, "F")
    assert overview.result["content"][0]["text"].startswith("search:1 · patient: sex F, age 62 · as of 2150-")

    first = inspected_call(session, "get_labs", limit=2)
    assert (first.code, eids(first.result)) == (0, ["lab:3", "lab:2"])
    cursor = first.result["structuredContent"]["next_cursor"]
    second = inspected_call(session, "get_labs", limit=2, cursor=cursor)
    if transport == "stdio":  # asked of another server, whose cursors are others
        assert (second.code, second.result["structuredContent"]["error"]["code"]) == (5, "cursor")
    else:
        assert (second.code, eids(second.result)) == (0, ["lab:4", "lab:1"])

    unknown = inspected_call(session, "query_chart", sql="select 1")
    assert (unknown.code, unknown.error) == (
        5, {"code": "tool_not_found", "message": "Tool 'query_chart' not found on server."},
    )  # fmt: skip
    late = inspected_call(session, "get_labs", start="2150-03-04")
    assert (late.code, late.result["isError"]) == (5, True)
    assert late.result["content"][0]["text"].startswith(TOO_LATE)
    assert late.error == {"code": "tool_is_error", "message": "Tool 'get_labs' returned isError:true."}

    assert session.noted() == [
        ("get_patient_overview", "ok", None),
        ("get_labs", "ok", None),
        ("get_labs", "error", "cursor") if transport == "stdio" else ("get_labs", "ok", None),
        ("get_labs", "error", "window"),
    ]
    if transport == "bearer":
        refused = inspector(replace(session, env={TOKEN_VARIABLE: "another"}))
        assert refused.error is not None
        assert (refused.code, refused.error["code"]) == (3, "auth_required")


# Claude Code, whose model is a script

SCRIPT: list[Step] = [
    {"tool": "mcp__mimic__get_patient_overview", "input": {}},
    {
        "tool": "mcp__mimic__get_labs",
        "input": {"limit": 2},
        "pages": True,
        "keep": {"labs": r'"eid": *"(lab:\d+)"'},
    },
    {"tool": "mcp__mimic__get_labs", "input": {"start": "2150-03-04"}},
    {"tool": "mcp__mimic__query_chart", "input": {"sql": "select 1"}},
    {
        "tool": "mcp__mimic__submit_determination",
        "input": {"report": "## Answer: YES\n\n- creatinine rose [${labs}]\n"},
    },
    {"text": "Handed in, with ${labs}."},
]
SETTING = {
    "ANTHROPIC_BASE_URL": _MODEL_URL,
    "ANTHROPIC_API_KEY": _KEY,
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    # on a slow machine its model would be asked before the server has started
    "MCP_CONNECTION_NONBLOCKING": "false",
    "MCP_CONNECT_TIMEOUT_MS": "120000",
    "MCP_TIMEOUT": "120000",
}


@dataclass(frozen=True)
class Conversation:
    """One run of Claude Code."""

    server: dict[str, Any]
    """The chart server as the first event has it."""
    tools: list[str]
    results: list[tuple[bool, str]]
    """Of each call whether it is an error, and the text that the model got."""
    said: str


def claude_code(session: Session, way: str) -> Conversation:
    """Run it in a folder of its own, set up in one of the ways that were printed."""
    folder, options = f"/home/client/{session.audit}-claude", ""
    if way == "added":
        session.box.told(f"mkdir -p {folder} && cd {folder} && {after(session.told, 'Run')}")
    else:
        session.box.write(f"{folder}/.mcp.json", after(session.told, ".mcp.json"))
        options = "--mcp-config .mcp.json"
    command = "claude --print Begin. --output-format stream-json --verbose --allowedTools mcp__mimic"
    told = session.box.told(f"{command} {options}", cwd=folder, env={**session.env, **SETTING})
    events = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    first, last = events[0], events[-1]
    contents = [event["message"]["content"] for event in events if event["type"] == "user"]
    blocks = [block for content in contents for block in content if block["type"] == "tool_result"]
    (server,) = first["mcp_servers"]
    return Conversation(
        server=server,
        tools=[name for name in first["tools"] if name.startswith("mcp__")],
        results=[(block.get("is_error", False), block["content"]) for block in blocks],
        said=last["result"],
    )


@pytest.mark.parametrize(
    ("transport", "way"), [("stdio", "added"), ("stdio", "file"), ("http", "file"), ("bearer", "file")]
)
def test_claude_code(transport: str, way: str, box: Box) -> None:
    session = open_session(box, "claude-code", transport)
    seen = claude_code(session, way)
    assert seen.server["status"] == "connected"
    assert "mcp__mimic__get_labs" in seen.tools
    assert "mcp__mimic__query_chart" not in seen.tools

    overview, first, second, late, outside, handed_in = seen.results
    assert json.loads(overview[1])["patient"] == {"sex": "F", "age": "62"}
    pages = [[row["eid"] for row in json.loads(page[1])["rows"]] for page in (first, second)]
    assert pages == [["lab:3", "lab:2"], ["lab:4", "lab:1"]]
    assert late[0]
    assert late[1].startswith(TOO_LATE)
    assert outside == (
        True, "<tool_use_error>Error: No such tool available: mcp__mimic__query_chart</tool_use_error>",
    )  # fmt: skip
    assert handed_in == (False, '{"call":"search:5","status":"recorded"}')
    assert seen.said == "Handed in, with lab:3, lab:2, lab:4, lab:1."

    assert session.noted() == [
        ("get_patient_overview", "ok", None),
        ("get_labs", "ok", None),
        ("get_labs", "ok", None),
        ("get_labs", "error", "window"),
        ("submit_determination", "ok", None),
    ]
    report = box.told(f"cat {session.audit}/report.md")
    assert report == "## Answer: YES\n\n- creatinine rose [lab:3, lab:2, lab:4, lab:1]\n"


def test_without_its_token_claude_code_has_no_tools(box: Box) -> None:
    session = open_session(box, "claude-code", "bearer")
    seen = claude_code(replace(session, env={}), "file")
    assert (seen.server["status"], seen.tools) == ("failed", [])


# The page


def test_the_page_shows_what_is_printed_and_which_versions(box: Box) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for client, transport in itertools.product(("inspector", "claude-code", "fastmcp"), TRANSPORTS):
        assert box.told(printing(client, transport)) in page, (client, transport)
    assert INSPECTOR.rpartition("@")[2] in page
    assert box.told("claude --version").split()[0] in page
    assert box.told("python -c 'import fastmcp; print(fastmcp.__version__)'").strip() in page
