"""Serving over stdio or streamable HTTP, from the settings to the end: one session, or those of many grants."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import uvicorn
from fastmcp import FastMCP
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse

from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.readers import require_readers
from mcp_mimic.governance.sealing import GrantSealListener, SealListener
from mcp_mimic.logs import event, logging_to_stderr
from mcp_mimic.opening import OpenedChart, open_chart
from mcp_mimic.server import ChartServer, create_server, server_label
from mcp_mimic.settings import ServeSettings
from mcp_mimic.store.store import Store

MCP_PATH = "/mcp"

_MAX_BODY = 512 * 1024
"""Bytes of a request: the longest report fits, however its JSON escapes it."""

_MAX_HEAD = 16 * 1024
_LOOK_SECONDS = 1.0
"""How old an answer of /ready may be: who asks more often costs nothing."""
_FLUSH_SECONDS = 0.1


class Served(Protocol):
    """A server of one session or of many, as it is reached."""

    @property
    def mcp(self) -> FastMCP[Any]:
        """The protocol's side."""

    def problem(self) -> str | None:
        """Why no call could be answered now, or None."""


def serve(settings: ServeSettings, chart: Callable[[], OpenedChart] | None = None) -> None:
    """Serve until the client leaves (stdio) or a signal ends it; whatever is wrong is said before it starts.

    `chart` returns the chart of one session, if somebody else opens it already.
    StoreError, GrantError and SettingsError name what cannot be used. After SIGTERM or Ctrl-C no call is begun,
    those in flight are finished, and audits are closed but not sealed: a session goes on when its server
    starts again, and only `mcp-mimic seal` ends it.
    """
    with logging_to_stderr(settings.log):
        if settings.grants is None:
            _serve_one(settings, chart)
        else:
            _serve_many(settings)


def _serve_one(settings: ServeSettings, chart: Callable[[], OpenedChart] | None) -> None:
    """Serve one session over stdio or HTTP."""
    with ExitStack() as stack:
        stack.enter_context(_ended_by_signals(reads_stdin=not settings.http))
        listener = stack.enter_context(_listen(settings.host, settings.port)) if settings.http else None
        server = stack.enter_context(open_server(settings, chart))
        if listener is None:
            asyncio.run(_run_stdio(server, settings.stop_seconds))
        else:
            asyncio.run(_run_http(server, listener, settings))


@contextmanager
def open_server(
    settings: ServeSettings, chart: Callable[[], OpenedChart] | None = None
) -> Iterator[ChartServer]:
    """The server of one session that the settings describe, with its slice in memory and the store let go."""
    opened = open_chart(settings) if chart is None else chart()
    with ExitStack() as stack:
        stack.enter_context(opened.chart)
        folder = None if settings.audit is None else _audit_folder(settings.audit)
        server = create_server(opened.chart, opened.grant, audit_dir=folder, corpus=settings.corpus)
        stack.callback(server.close)
        if folder is not None:
            stack.enter_context(SealListener(folder, server.seal))
        if folder is None:
            event(
                "no_audit",
                "no audit is kept and no report taken: name a folder with --audit",
                level=logging.WARNING,
            )
        _tell_readers(opened.store, settings)
        yield server


def _serve_many(settings: ServeSettings) -> None:
    """Serve the sessions of a folder of grants over HTTP."""
    from mcp_mimic.authentication import BearerAuth
    from mcp_mimic.governance.bearer import read_key
    from mcp_mimic.governance.grants import GrantFolder
    from mcp_mimic.many import create_many_server
    from mcp_mimic.policies.corpus import open_corpus
    from mcp_mimic.sessions import SessionOpener, Sessions

    grants = settings.grants_folder()
    with ExitStack() as stack:
        stack.enter_context(_ended_by_signals(reads_stdin=False))
        listener = stack.enter_context(_listen(settings.host, settings.port))
        store = Store.open(settings.store_folder())
        require_readers(store.path, store.manifest.classification, settings.readers)
        fingerprint = store.manifest.fingerprint
        key = read_key(settings.key_file())
        folder = GrantFolder(grants, fingerprint)
        audits = _audit_folder(settings.audit or Path())
        corpus = None if settings.corpus is None else open_corpus(settings.corpus)
        opener = SessionOpener(store.path, fingerprint, audits, server_label(), key, corpus)
        sessions = Sessions(opener, settings.slices, settings.slice_memory)
        server = create_many_server(opener, sessions, BearerAuth(key, fingerprint, folder))
        _tell_readers(store, settings)

        async def run() -> None:
            loop = asyncio.get_running_loop()

            def seal(grant_id: str) -> Mapping[str, Any]:
                return asyncio.run_coroutine_threadsafe(sessions.seal(folder.read(grant_id)), loop).result()

            try:
                with GrantSealListener(audits, seal):
                    await _run_http(server, listener, settings)
            finally:
                await sessions.close()

        asyncio.run(run())


def http_app(server: Served, allow_hosts: tuple[str, ...]) -> Starlette:
    """The ASGI application, for known hosts only: `/mcp`, stateless with JSON responses, `/health`, `/ready`.

    `/health` says that the process answers, `/ready` that a call could be answered too (else 503 and why).
    """
    problem = _looked_at_most_once_a_second(server.problem)

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> JSONResponse:
        found = await asyncio.to_thread(problem)
        if found is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "not ready", "reason": found}, status_code=503)

    for path, route in (("/health", health), ("/ready", ready)):
        server.mcp.custom_route(path, methods=["GET"], include_in_schema=False)(route)
    return server.mcp.http_app(
        path=MCP_PATH,
        middleware=[Middleware(RequestBodyLimitMiddleware, max_body_size=_MAX_BODY)],
        stateless_http=True,
        json_response=True,
        host_origin_protection=True,
        allowed_hosts=list(allow_hosts),
    )


def _looked_at_most_once_a_second(look: Callable[[], str | None]) -> Callable[[], str | None]:
    lock = threading.Lock()
    looked, found = -_LOOK_SECONDS, None

    def last() -> str | None:
        nonlocal looked, found
        with lock:
            if time.monotonic() - looked >= _LOOK_SECONDS:
                found = look()
                looked = time.monotonic()
            return found

    return last


async def _run_http(server: Served, listener: socket.socket, settings: ServeSettings) -> None:
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        http_app(server, settings.allow_hosts),
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=settings.stop_seconds,
        limit_concurrency=settings.connections,
        h11_max_incomplete_event_size=_MAX_HEAD,
        ws="none",
    )
    await _AnnouncedServer(config, f"http://{shown}:{port}{MCP_PATH}").serve(sockets=[listener])


class _AnnouncedServer(uvicorn.Server):
    """Says where it listens once it really answers, so that who waits for the line can call at once."""

    def __init__(self, config: uvicorn.Config, url: str) -> None:
        super().__init__(config)
        self._url = url

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets=sockets)
        if self.started:
            event("listening", f"listening on {self._url}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, finish what is in flight, and say both."""
        event("stopping")
        await super().shutdown(sockets=sockets)
        event("stopped")


async def _run_stdio(server: ChartServer, stop_seconds: int) -> None:
    """Serve one client; a signal ends it once the calls in flight are answered."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    protocol = asyncio.ensure_future(server.mcp.run_stdio_async(show_banner=False))
    signalled = asyncio.ensure_future(stopping.wait())
    await asyncio.wait({protocol, signalled}, return_when=asyncio.FIRST_COMPLETED)
    if not protocol.done():
        event("stopping")
        await _answered_in_flight(server, stop_seconds)
        raise KeyboardInterrupt
    signalled.cancel()
    await protocol


async def _answered_in_flight(server: ChartServer, stop_seconds: int) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(stop_seconds):
            while server.session.busy:
                await asyncio.sleep(_FLUSH_SECONDS)
    await asyncio.sleep(_FLUSH_SECONDS)  # the last answer is on its way to stdout


def _tell_readers(store: Store, settings: ServeSettings) -> None:
    if store.manifest.classification == "credentialed":
        named = ", ".join(map(str, settings.readers))
        event("readers", f"this store is credentialed, and read by {named}")


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
