"""Serving one session over stdio or streamable HTTP, from its settings to its end."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse

from mcp_mimic.chart.slice import open_slice
from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.grant import bind_to_store
from mcp_mimic.governance.sealing import SealListener
from mcp_mimic.server import ChartServer, create_server
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store

MCP_PATH = "/mcp"

_MAX_BODY = 512 * 1024
"""Bytes of a request: the longest report fits, however its JSON escapes it."""

_MAX_HEAD = 16 * 1024
_MAX_CONNECTIONS = 64
"""Connections beyond it are told to come back: no client needs so many, and together they may fill no memory."""

_QUIET_LOGGERS = ("fastmcp", "mcp", "uvicorn")


def serve(settings: ServeSettings) -> None:
    """Serve until the client leaves (stdio) or a signal ends it; whatever is wrong is said before it starts.

    StoreError, GrantError and SettingsError name what cannot be used.
    """
    for name in _QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)
    with ExitStack() as stack:
        stack.enter_context(_ended_by_signals(reads_stdin=not settings.http))
        listener = stack.enter_context(_listen(settings.host, settings.port)) if settings.http else None
        server = stack.enter_context(open_server(settings))
        if listener is None:
            asyncio.run(server.mcp.run_stdio_async(show_banner=False))
        else:
            _run_http(server, listener, settings.allow_hosts)


@contextmanager
def open_server(settings: ServeSettings) -> Iterator[ChartServer]:
    """The server that the settings describe, with its slice in memory and the store let go."""
    grant = settings.grant()
    store = Store.open(settings.store)
    grant = bind_to_store(grant, store.manifest.fingerprint)
    with ExitStack() as stack:
        chart = stack.enter_context(open_slice(store, grant.subject_id, grant.as_of, grant.sealed_hadm_id))
        folder = None if settings.audit is None else _audit_folder(settings.audit)
        server = create_server(chart, grant, audit_dir=folder)
        stack.callback(server.close)
        if folder is not None:
            stack.enter_context(SealListener(folder, server.seal))
        if folder is None:
            _notice("no audit is kept and no report taken: name a folder with --audit")
        if store.manifest.classification == "credentialed":
            _notice(
                "this store is credentialed: only models under an agreement may read it, see DATA_ACCESS.md"
            )
        yield server


def http_app(server: ChartServer, allow_hosts: tuple[str, ...]) -> Starlette:
    """The ASGI application: `/mcp`, stateless with JSON responses, and `/health`, for known hosts only."""

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    server.mcp.custom_route("/health", methods=["GET"], include_in_schema=False)(health)
    return server.mcp.http_app(
        path=MCP_PATH,
        middleware=[Middleware(RequestBodyLimitMiddleware, max_body_size=_MAX_BODY)],
        stateless_http=True,
        json_response=True,
        host_origin_protection=True,
        allowed_hosts=list(allow_hosts),
    )


def _run_http(server: ChartServer, listener: socket.socket, allow_hosts: tuple[str, ...]) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        http_app(server, allow_hosts),
        log_level="error",
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=2,
        limit_concurrency=_MAX_CONNECTIONS,
        h11_max_incomplete_event_size=_MAX_HEAD,
        ws="none",
    )
    http = _AnnouncedServer(config, f"http://{shown}:{port}{MCP_PATH}")
    asyncio.run(http.serve(sockets=[listener]))


class _AnnouncedServer(uvicorn.Server):
    """Says where it listens once it really answers, so that who waits for the line can call at once."""

    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets=sockets)
        if self.started:
            _notice(f"listening on {self._url}")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host}:{port}: {error.strerror or error}", "choose another --host or --port"
        ) from error


def _audit_folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"the audit folder {path} cannot be made: {error.strerror}",
            "name a folder that this user may write with --audit",
        ) from error
    return path


@contextmanager
def _ended_by_signals(*, reads_stdin: bool) -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C, so that files and sockets are let go; neither shows a traceback."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if reads_stdin:
            # A thread waits for the next line of stdin, and an ordinary exit would wait for that thread.
            os._exit(0)
    finally:
        signal.signal(signal.SIGTERM, before)


def _notice(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
