"""A web site on this machine that answers as it is told, for tests of fetching."""

import ipaddress
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness.corpus.addresses import Rules


@dataclass(frozen=True)
class Reply:
    """What a request is answered; `cut` leaves out the end of the body that was promised."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    ranges: bool = False
    """Whether a range that is asked for with the right validator is served."""


class Site:
    """Paths with their replies, the last of which is given from then on; and the requests that were made."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.replies: dict[str, list[Reply]] = {"/robots.txt": [Reply(status=404)]}
        self.requests: list[tuple[str, dict[str, str]]] = []

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        """The address of a path."""
        return f"http://{host}:{self.port}{path}"

    def rules(self, scheme: str = "http") -> Rules:
        """Rules under which this site alone may be opened."""
        here = ipaddress.ip_address("127.0.0.1")
        return Rules(
            scheme,
            lambda address, port: (address, port) == (here, self.port),
            lambda host, _port: [ipaddress.ip_address(host if host[0].isdigit() else "127.0.0.1")],
        )

    def asked(self, path: str) -> list[dict[str, str]]:
        """The headers of the requests for a path."""
        return [headers for each, headers in self.requests if each == path]

    def reply(self, path: str) -> Reply:
        """The next reply for a path."""
        replies = self.replies.get(path, [Reply(status=404)])
        return replies.pop(0) if len(replies) > 1 else replies[0]


@contextmanager
def serve(context: ssl.SSLContext | None = None) -> Iterator[Site]:
    """A site for the time of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            reply = site.reply(self.path)
            body, status, headers = reply.body, reply.status, dict(reply.headers)
            asked = self.headers.get("Range")
            if asked and reply.ranges and self.headers.get("If-Range") == headers.get("ETag"):
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
                headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
                body, status = body[start:], 206
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if reply.cut is None else body[: reply.cut])
            self.close_connection = True

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that leaves is no error
    site = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
