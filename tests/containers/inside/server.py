"""Whatever may bring the chart server down, or make it do what it must not; after each, whether it still answers."""

import http.client
import json
import select
import socket
import time
from concurrent.futures import ThreadPoolExecutor

SERVER = (socket.gethostbyname("mimic"), 8000)
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
FOUND = {}


def ask(method, path, body=None, headers=HEADERS, seconds=30):
    """Status and text of an answer; 0 and the error if there is none."""
    one = http.client.HTTPConnection(*SERVER, timeout=seconds)
    try:
        one.request(method, path, body, dict(headers))
        answer = one.getresponse()
        return answer.status, answer.read(1 << 20).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, type(error).__name__
    finally:
        one.close()


def call(name, **arguments):
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }
    return ask("POST", "/mcp", json.dumps(body))


def alive():
    """Whether it is healthy within a few seconds."""
    for _ in range(20):
        if ask("GET", "/health", headers={"host": "mimic:8000"}, seconds=5)[0] == 200:
            return True
        time.sleep(0.5)
    return False


def open_ports():
    """Which TCP ports are open, all of them tried."""
    found, waiting, ports = [], {}, iter(range(1, 65536))
    poll = select.poll()
    while True:
        while len(waiting) < 400 and (port := next(ports, None)):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex((SERVER[0], port))
            waiting[one.fileno()] = (one, port)
            poll.register(one, select.POLLOUT)
        if not waiting or not (events := poll.poll(3000)):
            return found
        for number, _ in events:
            one, port = waiting.pop(number)
            poll.unregister(one)
            if one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
                found.append(port)
            one.close()


def pour(size):
    """A body of so many bytes: the status that it gets, or the error."""
    piece = b" " * (1 << 20)
    with socket.create_connection(SERVER, timeout=60) as one:
        head = f"POST /mcp HTTP/1.1\r\nHost: mimic:8000\r\nContent-Length: {size}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
        try:
            one.sendall(head.encode() + b"\r\n")
            while size > 0 and not select.select([one], [], [], 0)[0]:
                one.sendall(piece[: min(size, 1 << 20)])
                size -= 1 << 20
            return one.recv(100).decode("latin-1").partition("\r\n")[0]
        except OSError as error:
            return type(error).__name__


def crowd(number, head):
    """So many connections at once, each with the beginning of a request."""
    held = []
    for _ in range(number):
        try:
            one = socket.create_connection(SERVER, timeout=5)
            one.sendall(head)
            held.append(one)
        except OSError:
            break
    return held


def withhold(number, size):
    """So many requests, each of them sent but for its end, all at once."""
    head = f"POST /mcp HTTP/1.1\r\nHost: mimic:8000\r\nContent-Length: {size + 1}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    data = head.encode() + b"\r\n" + b" " * size
    left, done, poll = {}, [], select.poll()
    for one in crowd(number, b""):
        one.setblocking(False)
        left[one.fileno()] = [one, 0]
        poll.register(one, select.POLLOUT)
    while left and (events := poll.poll(2000)):
        for handle, _ in events:
            one, sent = left[handle]
            try:
                left[handle][1] = sent = sent + one.send(data[sent : sent + (1 << 18)])
            except BlockingIOError:
                continue
            except OSError:
                sent = len(data)
            if sent >= len(data):
                poll.unregister(one)
                done.append(left.pop(handle)[0])
    return done


FOUND["before"] = alive()
FOUND["overview"] = call("get_patient_overview")[0]
FOUND["ports"] = open_ports()
PATHS = (
    "/",
    "/seal",
    "/metrics",
    "/docs",
    "/mcp/",
    "/mcp/../grant.json",
    "/audit/audit.jsonl",
    "/%2e%2e/grant.json",
    "//store/manifest.json",
    "/sse",
    "/messages",
    "/.well-known/oauth-protected-resource",
)
FOUND["paths"] = {path: ask("GET", path, headers={"host": "mimic:8000"})[0] for path in PATHS}
FOUND["methods"] = {
    f"{method} {path}": ask(method, path, headers={"host": "mimic:8000"})[0]
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "POST", "NONSENSE")
    for path in ("/health", "/mcp")
}
FOUND["hosts"] = {
    host: ask("POST", "/mcp", "{}", HEADERS | {"host": host})[0]
    for host in ("evil.example", "mimic.evil.example", "")
}
FOUND["nonsense"] = [
    ask("POST", "/mcp", body)[0]
    for body in (
        b"",
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b"\xff\xfe",
        b"[]",
        b"null",
        json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 50_000),
    )
]
FOUND["after nonsense"] = alive()
HELD = crowd(2000, b"POST /mcp HTTP/1.1\r\nHost: mimic:8000\r\nX: " + b"x" * 10_000)
FOUND["held"] = len(HELD)
for one in HELD:
    one.close()
FOUND["after a crowd"] = alive()
FOUND["withheld"] = len(withhold(400, 4_000_000))
FOUND["after withholding"] = alive()
with ThreadPoolExecutor(16) as pool:
    FOUND["poured"] = sorted(set(pool.map(pour, [100 << 20] * 16)))
FOUND["after pouring"] = alive()
ONE = call("get_labs", limit=1)
FOUND["answers"] = [ONE[0], '"eid"' in ONE[1]]
FOUND["codes"] = []
for _ in range(260):
    status, text = call("list_encounters", kind="admissions")
    FOUND["codes"].append(
        "calls" if "limit" in text.lower() and '"isError":true' in text.replace(" ", "") else status
    )
FOUND["codes"] = {str(code): FOUND["codes"].count(code) for code in set(FOUND["codes"])}
FOUND["last"] = text[:300]
FOUND["after"] = alive()
print(json.dumps(FOUND))
