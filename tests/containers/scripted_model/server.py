"""A scripted model behind the Anthropic Messages API: one file, standard library only, no image of its own.

    MODEL_KEY=KEY python server.py SCRIPT [PORT]

The script is a JSON list of steps. Which step is due follows from the conversation that a request carries, so
the server remembers nothing: the same request gets the same answer, and a client may retry.

| step | what the model does |
|---|---|
| `{"tool": NAME, "input": {…}}` | calls a tool of the client, such as Bash or mcp__mimic__get_labs |
| … `"keep": {NAME: REGEX}` | adds what the regex finds in the tool's results (its group, each once) to NAME |
| … `"pages": true` | repeats the call with each `next_cursor` that a result holds; `keep` sees all pages |
| `{"error": STATUS, "message": TEXT}` | is refused by the provider, again and again |
| `{"text": TEXT}` | says so and ends its turn |

In the strings of `input` and `text`, `${NAME}` stands for what was kept, joined by commas: an answer can only
cite what came back through the client. What was never found stays as written, for all to see. After the last
step the model says "Done." A request that offers no tools is one of the client's own errands, and gets "ok".
Without the key nothing is answered. Each request is one line on stdout: method, path, model, number of tool
results, status; never a body.
"""

import hmac
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Step = Mapping[str, Any]
Block = dict[str, Any]

_CURSOR = re.compile(r'"next_cursor": *"([^"]+)"')
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_USAGE = {"input_tokens": 100, "output_tokens": 20}


class RefusedError(Exception):
    """What the provider refuses: the HTTP status and the words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def next_block(script: Sequence[Step], results: Sequence[str]) -> Block:
    """The content block that is due after these tool results, in the order of the calls.

    RefusedError where the script has the provider fail.
    """
    kept: dict[str, list[str]] = {}
    left = list(results)
    for step in script:
        if "error" in step:
            raise RefusedError(step["error"], step["message"])
        if "text" in step:
            return {"type": "text", "text": _fill(step["text"], kept)}
        arguments = _fill(step["input"], kept)
        pages: list[str] = []
        cursor = None
        while not pages or cursor:
            if not left:
                return _call(step["tool"], arguments | ({"cursor": cursor} if cursor else {}), len(results))
            pages.append(left.pop(0))
            found = _CURSOR.search(pages[-1]) if step.get("pages") else None
            cursor = found and found[1]
        for name, pattern in step.get("keep", {}).items():
            kept.setdefault(name, []).extend(re.findall(pattern, "\n".join(pages)))
    return {"type": "text", "text": "Done."}


def tool_results(body: Mapping[str, Any]) -> list[str]:
    """The texts of all tool results in a request, in order."""
    contents = [message["content"] for message in body["messages"] if message["role"] == "user"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [_text(block.get("content")) for block in blocks if block["type"] == "tool_result"]


def events(message: Mapping[str, Any]) -> Iterator[str]:
    """The message as the server-sent events of a stream."""
    (block,) = message["content"]
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        whole = json.dumps(block["input"])
        start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": whole}
    for name, data in (
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": start}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        (
            "message_delta",
            {"delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": _USAGE},
        ),
        ("message_stop", {}),
    ):
        yield f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n"


def _call(name: str, arguments: Mapping[str, Any], number: int) -> Block:
    return {"type": "tool_use", "id": f"toolu_scripted{number:04}", "name": name, "input": dict(arguments)}


def _fill(value: Any, kept: Mapping[str, Sequence[str]]) -> Any:
    if isinstance(value, dict):
        return {name: _fill(inner, kept) for name, inner in value.items()}
    if not isinstance(value, str):
        return value
    return _PLACEHOLDER.sub(lambda hole: ", ".join(dict.fromkeys(kept.get(hole[1], []))) or hole[0], value)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(_text(block.get("text")) for block in content)
    return content or ""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Sequence[Step] = ()
    key = ""

    def do_GET(self) -> None:
        self._answer(200, b"{}", "application/json")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        model = str(body.get("model", "-"))
        try:
            self._respond(body, model)
        except RefusedError as error:
            kind = "rate_limit_error" if error.status == 429 else "api_error"
            told = {"type": "error", "error": {"type": kind, "message": str(error)}}
            self._answer(
                error.status,
                json.dumps(told).encode(),
                "application/json",
                model,
                len(tool_results(body)) if "messages" in body else 0,
            )

    def _respond(self, body: Mapping[str, Any], model: str) -> None:
        given = self.headers.get("x-api-key") or (self.headers.get("authorization") or "").removeprefix(
            "Bearer "
        )
        if not hmac.compare_digest(given.encode(), self.key.encode()):
            raise RefusedError(401, "this is not the key")
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._answer(200, json.dumps({"input_tokens": 100}).encode(), "application/json", model)
            return
        if path != "/v1/messages":
            raise RefusedError(404, f"there is no {path}")
        results = tool_results(body)
        block = next_block(self.script, results) if body.get("tools") else {"type": "text", "text": "ok"}
        message = {
            "id": f"msg_scripted{len(results):04}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
            "stop_sequence": None,
            "usage": _USAGE,
        }
        if body.get("stream"):
            self._answer(200, "".join(events(message)).encode(), "text/event-stream", model, len(results))
        else:
            self._answer(200, json.dumps(message).encode(), "application/json", model, len(results))

    def _answer(self, status: int, data: bytes, kind: str, model: str = "-", results: int = 0) -> None:
        print(self.command, self.path.partition("?")[0], model, results, status, flush=True)
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing but the one line a request."""


def create_server(script: Sequence[Step], key: str, address: tuple[str, int]) -> ThreadingHTTPServer:
    """A server that plays the script to whoever has the key; not started yet."""
    handler = type("Handler", (_Handler,), {"script": script, "key": key})
    return ThreadingHTTPServer(address, handler)


if __name__ == "__main__":
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 9000
    steps = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    create_server(steps, os.environ["MODEL_KEY"], ("0.0.0.0", port)).serve_forever()
