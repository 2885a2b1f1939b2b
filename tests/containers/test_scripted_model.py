"""The scripted model plays its script from what a request carries, and only to whoever has the key."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from threading import Thread
from typing import Any

import pytest

from tests.containers.scripted_model.server import Step, create_server, next_block

KEY = "placeholder-key"
CALL: Step = {
    "tool": "look",
    "input": {"what": "labs"},
    "pages": True,
    "keep": {"found": r'"eid": *"(lab:\d+)"'},
}
SCRIPT: list[Step] = [CALL, {"text": "seen [${found}] and [${nothing}]"}]
PAGES = [
    '{"next_cursor": "p2", "rows": [{"eid": "lab:1"}]}',
    '{"next_cursor": null, "rows": [{"eid": "lab:2"}]}',
]


@pytest.fixture
def port() -> Iterator[int]:
    server = create_server(SCRIPT, KEY, ("127.0.0.1", 0))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def _ask(port: int, results: list[str], *, key: str = KEY, **more: Any) -> tuple[int, str]:
    blocks = [{"type": "tool_result", "content": [{"type": "text", "text": text}]} for text in results]
    body = {"model": "m", "messages": [{"role": "user", "content": blocks}], **more}
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/v1/messages?beta=true", json.dumps(body), {"x-api-key": key})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_pages_are_followed_and_what_was_served_is_cited() -> None:
    first, second, last = (next_block(SCRIPT, PAGES[:number]) for number in range(3))
    assert first["input"] == {"what": "labs"}
    assert second["input"] == {"what": "labs", "cursor": "p2"}
    assert last["text"] == "seen [lab:1, lab:2] and [${nothing}]"


def test_a_message_comes_whole_or_as_a_stream(port: int) -> None:
    tools = [{"name": "look"}]
    status, whole = _ask(port, PAGES, tools=tools)
    assert (status, json.loads(whole)["stop_reason"]) == (200, "end_turn")
    status, stream = _ask(port, [], tools=tools, stream=True)
    events = [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line[:5] == "data:"]
    assert [event["type"] for event in events] == [
        "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
        "message_stop",
    ]  # fmt: skip
    assert json.loads(events[2]["delta"]["partial_json"]) == {"what": "labs"}
    assert events[4]["delta"]["stop_reason"] == "tool_use"


def test_another_key_is_refused(port: int) -> None:
    assert _ask(port, [], key="another")[0] == 401


def test_a_line_a_request_and_never_a_body(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    _ask(port, PAGES, tools=[{"name": "look"}])
    assert capsys.readouterr().out == "POST /v1/messages m 2 200\n"
