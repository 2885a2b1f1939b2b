"""Clients that cost next to nothing, so that what is measured is the server: requests as bytes, kept connections."""

import asyncio
import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Mapping
from typing import Any

VERSION = "2025-11-25"
"""The protocol version that clients of today negotiate; over stateless HTTP it needs no handshake."""

type Tool = tuple[str, Mapping[str, Any]]


def request(method: str, params: Mapping[str, Any] | None = None, ident: int = 1) -> bytes:
    """One JSON-RPC request."""
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params or {}}).encode()


def http_request(method: str, params: Mapping[str, Any] | None = None) -> bytes:
    """The whole bytes of a POST to /mcp."""
    body = request(method, params)
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {VERSION}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def call_request(tool: Tool) -> bytes:
    """The whole bytes of a tool call."""
    return http_request("tools/call", {"name": tool[0], "arguments": dict(tool[1])})


class BadAnswerError(RuntimeError):
    """The server did not answer as it should have: a measurement of that would be worth nothing."""


def checked(status: bytes, body: bytes) -> dict[str, Any]:
    """The result of a whole answer; BadAnswerError if it is none, or an error."""
    answer = json.loads(body) if b" 200 " in status else {}
    result = answer.get("result")
    if not isinstance(result, dict) or result.get("isError"):
        raise BadAnswerError(f"{status!r}: {body[:400]!r}")
    return result


class Connection:
    """One kept connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")

    def send(self, data: bytes) -> tuple[bytes, bytes]:
        """Status line and body of the answer."""
        self._socket.sendall(data)
        status = self._stream.readline()
        length = 0
        while (line := self._stream.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return status, self._stream.read(length)

    def ask(self, data: bytes) -> dict[str, Any]:
        """The checked result."""
        return checked(*self.send(data))

    def timed(self, data: bytes, times: int) -> list[float]:
        """Seconds of each of so many calls; the answers are checked after the clock has stopped."""
        taken = []
        for _ in range(times):
            started = time.perf_counter()
            status, body = self.send(data)
            taken.append(time.perf_counter() - started)
            if b" 200 " not in status or b'"isError":true' in body:
                raise BadAnswerError(f"{status!r}: {body[:400]!r}")
        return taken

    def close(self) -> None:
        """Let the connection go."""
        self._stream.close()
        self._socket.close()

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def first_answer(
    port: int, data: bytes, process: subprocess.Popen[bytes], patience: float = 120
) -> dict[str, Any]:
    """The first answer of a server that is starting; asked again every two milliseconds until it listens."""
    deadline = time.perf_counter() + patience
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            raise BadAnswerError(f"the server ended with {process.returncode} before it answered")
        with contextlib.suppress(ConnectionError), Connection(port) as connection:
            return connection.ask(data)
        time.sleep(0.002)
    raise BadAnswerError(f"no answer within {patience} s")


class Stdio:
    """A client of a server over stdio, handshake included."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._next = 0
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one request; notifications in between are passed over."""
        self._next += 1
        self._write({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._next:
                if "result" not in answer or answer["result"].get("isError"):
                    raise BadAnswerError(str(answer)[:400])
                return dict(answer["result"])
        raise BadAnswerError(f"the server left with {self._process.poll()}")

    def timed(self, tool: Tool, times: int) -> list[float]:
        """Seconds of each of so many calls."""
        taken = []
        for _ in range(times):
            started = time.perf_counter()
            self.ask("tools/call", {"name": tool[0], "arguments": tool[1]})
            taken.append(time.perf_counter() - started)
        return taken

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


class Load:
    """How many calls a number of connections got answered, and how many failed."""

    def __init__(self) -> None:
        self.answered = 0
        self.failed = 0
        self.seconds = 0.0
        self.taken: list[float] = []

    @property
    def rate(self) -> float:
        """Answered calls a second."""
        return self.answered / self.seconds


async def _keep_asking(port: int, data: bytes, until: float, load: Load) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while (started := time.perf_counter()) < until:
            writer.write(data)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            good = head.startswith(b"HTTP/1.1 200") and b'"isError":false' in body
            load.answered += good
            load.failed += not good
            load.taken.append(time.perf_counter() - started)
    except (OSError, asyncio.IncompleteReadError):
        load.failed += 1
    finally:
        writer.close()


async def under_load(port: int, data: bytes, connections: int, seconds: float) -> Load:
    """Every connection asks again as soon as it is answered, for so many seconds."""
    load, started = Load(), time.perf_counter()
    await asyncio.gather(*(_keep_asking(port, data, started + seconds, load) for _ in range(connections)))
    load.seconds = time.perf_counter() - started
    return load
