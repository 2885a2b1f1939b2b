"""From nothing to the first list of tools, and the memory that a server has then."""

import sys
import time
from collections.abc import Iterator, Sequence
from statistics import median

from bench.clients import call_request, first_answer, http_request
from bench.machine import free_port, resident_mb, running
from bench.place import Place
from bench.report import Figure, Outcome
from bench.serving import TRIVIAL

_LIST = http_request("tools/list")
_LABS = call_request(("get_labs", {"items": [50912], "limit": 20}))
_TRIVIAL = call_request((TRIVIAL, {}))


def measure(place: Place) -> Iterator[Outcome]:
    """Every server is started anew each round, by turns; the chart server by its real command over HTTP."""
    rounds = 4 if place.quick else 12
    taken: dict[str, list[float]] = {}
    memory: dict[str, list[float]] = {}
    for turn in range(rounds + 1):
        for name in ("raw", "bare", "duckdb", "chart"):
            audit = place.fresh("audit-start")
            call = _LABS if name == "chart" else _TRIVIAL
            seconds, resident = _started(place, _command(place, name, str(audit)), call)
            taken.setdefault(name, [])
            memory.setdefault(name, []).append(resident)
            taken[name] += [seconds] if turn else []  # the first round reads the files
    times = {name: median(values) for name, values in taken.items()}
    sizes = {name: median(values) for name, values in memory.items()}
    told = {f"{name}_s": round(value, 3) for name, value in times.items()}
    floor = f"raw {times['raw']:.2f} s; bare fastmcp {times['bare'] / times['raw']:.1f} ×, with DuckDB {times['duckdb'] / times['raw']:.1f} ×"
    yield Figure(
        "spawn → first tools/list ÷ raw ASGI",
        times["chart"] / times["raw"],
        most=7,
        floor=floor,
        measured=told,
    )
    told = {f"{name}_mb": round(value, 1) for name, value in sizes.items()}
    beyond = sizes["chart"] - sizes["duckdb"]
    floor = f"fastmcp with an empty DuckDB {sizes['duckdb']:.0f} MB, bare fastmcp {sizes['bare']:.0f} MB, raw {sizes['raw']:.0f} MB"
    yield Figure(
        "memory after the first call beyond fastmcp and DuckDB",
        beyond,
        "MB",
        most=25,
        floor=floor,
        measured=told,
    )
    yield Figure("memory of the base, fastmcp with an empty DuckDB", sizes["duckdb"], "MB", measured=told)


def _command(place: Place, name: str, audit: str) -> list[str]:
    if name == "chart":
        return place.serve_command("--http", "--audit", audit, "--port")
    return [sys.executable, "-m", "bench.serving", name]


def _started(place: Place, command: Sequence[str], call: bytes) -> tuple[float, float]:
    """Seconds until the tools are listed, and the memory after the first call."""
    port = free_port()
    started = time.perf_counter()
    with running([*command, str(port)], log=place.log("start")) as process:
        first_answer(port, _LIST, process)
        seconds = time.perf_counter() - started
        first_answer(port, call, process)
        return seconds, resident_mb(process.pid)
