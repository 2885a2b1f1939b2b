"""The servers that are measured, each a process of its own: `python -m bench.serving KIND PORT …`.

`chart`: the chart server over a store's patient, with one trivial tool beside its own. The trivial tool is
registered among the server's tools before the server is made, so that it passes the same transport, gate and
limits; it reads nothing and is not audited, which is what a tool call is compared with.
`bare`: fastmcp with that trivial tool alone; `duckdb`: the same with an empty database open. `raw`: an ASGI
application that answers every request with the bytes of the trivial tool's answer, or of the list of tools.
"""

import argparse
import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any

TRIVIAL = "trivial"

type Message = MutableMapping[str, Any]


def trivial() -> str:
    """Answer ok."""
    return "ok"


def _chart(asked: argparse.Namespace) -> Any:
    from datetime import datetime

    from fastmcp.tools import Tool

    from mcp_mimic.chart.slice import open_slice
    from mcp_mimic.contract import Grant, Limits
    from mcp_mimic.http import http_app
    from mcp_mimic.server import create_server
    from mcp_mimic.store.store import Store
    from mcp_mimic.tools.catalogue import all_tools

    all_tools()[TRIVIAL] = Tool.from_function(trivial)
    as_of = datetime.fromisoformat(asked.as_of)
    store = Store.open(asked.store)
    # Limits that no measurement reaches.
    limits = Limits(calls=10**9, total_chars=10**13)
    grant = Grant("bench", "bench", asked.patient, as_of, limits=limits, store=store.manifest.fingerprint)
    chart = open_slice(store, asked.patient, as_of)
    return http_app(create_server(chart, grant, audit_dir=asked.audit), ())


def _bare(asked: argparse.Namespace) -> Any:
    from fastmcp import FastMCP

    server: FastMCP[Any] = FastMCP("bare", tools=[trivial])
    if asked.kind == "duckdb":
        import duckdb

        server.database = duckdb.connect(":memory:")  # type: ignore[attr-defined]
    return server.http_app(path="/mcp", stateless_http=True, json_response=True)


_ANSWERS = {
    "tools/call": {
        "content": [{"text": "ok", "type": "text"}],
        "isError": False,
        "structuredContent": {"result": "ok"},
    },
    "tools/list": {
        "tools": [{"name": TRIVIAL, "description": "Answer ok.", "inputSchema": {"type": "object"}}]
    },
}


async def raw(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Answer a JSON-RPC request by its method."""
    if scope["type"] == "lifespan":
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    request = json.loads(body)
    answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": _ANSWERS[request["method"]]})
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer.encode()})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench.serving", description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=("chart", "bare", "duckdb", "raw"))
    parser.add_argument("port", type=int)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--patient", type=int)
    parser.add_argument("--as-of")
    parser.add_argument("--audit", type=Path)
    asked = parser.parse_args(arguments)
    import uvicorn

    for name in ("fastmcp", "mcp", "uvicorn"):
        logging.getLogger(name).setLevel(logging.ERROR)
    app = raw if asked.kind == "raw" else _chart(asked) if asked.kind == "chart" else _bare(asked)
    # Blocks of one server's calls may keep another's connection waiting for longer than the default.
    config = uvicorn.Config(
        app,
        port=asked.port,
        log_level="error",
        access_log=False,
        lifespan="on",
        ws="none",
        timeout_keep_alive=600,
    )
    asyncio.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    main()
