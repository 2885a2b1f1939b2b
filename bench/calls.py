"""Tool calls over a kept HTTP connection, against the trivial tool of the same server."""

import os
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

from bench.clients import Connection, Tool, call_request
from bench.place import Place
from bench.report import Figure, Outcome, quantile, spread
from bench.serving import TRIVIAL
from bench.tables import CHART_ITEMS, LAB_ITEMS

HEADLINE = "get_labs, one item, newest 20"
_TRIVIAL = call_request((TRIVIAL, {}))


def typed_calls() -> dict[str, list[Tool]]:
    """Typed calls as agents make them, by what they are called here; each asks for other things in turn."""
    labs, chart = LAB_ITEMS[:40], CHART_ITEMS[:40]
    return {
        HEADLINE: [("get_labs", {"items": [item], "limit": 20}) for item in labs],
        "get_labs, by label, oldest 20": [
            ("get_labs", {"items": [name], "limit": 20, "order": "oldest"})
            for name in ("creatinine", "glucose")
        ],
        "get_labs, any item, a full page": [("get_labs", {"order": order}) for order in ("newest", "oldest")],
        "get_observations, one item, newest 20": [
            ("get_observations", {"items": [item], "limit": 20}) for item in chart
        ],
        "get_medications, doses, newest 20": [("get_medications", {"limit": 20})],
        "search_items": [("search_items", {"query": word}) for word in ("creatinine", "analyte 7", "rate")],
        "get_patient_overview": [("get_patient_overview", {})],
    }


def measure(place: Place) -> Iterator[Outcome]:
    """Blocks of both tools by turns, so that whatever else the machine does meets both."""
    blocks, size = (8, 25) if place.quick else (40, 50)
    taken, floors = _blocks(place, blocks, size)
    base = taken.pop(TRIVIAL)
    floor = f"trivial tool {median(base) * 1e3:.2f} ms; raw ASGI {floors['raw'] * 1e3:.2f}, bare fastmcp {floors['bare'] * 1e3:.2f}, a synced audit line {floors['line'] * 1e3:.2f}"
    typed = taken[HEADLINE]
    told = {
        TRIVIAL: spread(base),
        HEADLINE: spread(typed),
        "floors_ms": {k: round(v * 1e3, 3) for k, v in floors.items()},
    }
    yield Figure(
        f"p50 of {HEADLINE} ÷ trivial", median(typed) / median(base), most=1.8, floor=floor, measured=told
    )
    p95 = quantile(typed, 0.95)
    yield Figure(
        "p95 of the same ÷ p95 of trivial",
        p95 / quantile(base, 0.95),
        most=3,
        floor=f"÷ the trivial tool's p50: {p95 / median(base):.2f}",
        measured=told,
    )
    for name, times in taken.items():
        if name != HEADLINE:
            yield Figure(f"p50 of {name} ÷ trivial", median(times) / median(base), measured=spread(times))


def _blocks(place: Place, blocks: int, size: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    calls = {name: [call_request(tool) for tool in tools] for name, tools in typed_calls().items()}
    audit = place.fresh("audit")
    with (
        place.serving("chart", "--audit", str(audit)) as (_, port),
        place.serving("raw") as (_, raw_port),
        place.serving("bare") as (_, bare_port),
        Connection(port) as chart,
        Connection(raw_port) as raw,
        Connection(bare_port) as bare,
    ):
        for requests in calls.values():
            for data in requests:
                chart.ask(data)
        arms: list[tuple[str, Connection, Sequence[bytes]]] = [
            (TRIVIAL, chart, [_TRIVIAL]),
            *((name, chart, requests) for name, requests in calls.items()),
            ("raw", raw, [_TRIVIAL]),
            ("bare", bare, [_TRIVIAL]),
        ]
        turns = {name: cycle(requests) for name, _, requests in arms}
        taken: dict[str, list[float]] = {name: [] for name, _, _ in arms}
        for block in range(blocks + 1):
            for name, connection, _ in arms:
                times = [t for data in islice(turns[name], size) for t in connection.timed(data, 1)]
                taken[name] += times if block else []  # the first block warms up
            taken.setdefault("line", []).extend(_synced_lines(audit, size))
    floors = {name: median(taken.pop(name)) for name in ("raw", "bare", "line")}
    return taken, floors


def _synced_lines(folder: Path, times: int) -> list[float]:
    """Seconds of bringing a line to the disk, which every audited call waits for and the trivial tool does not."""
    taken = []
    with (folder / "line").open("ab", buffering=0) as file:
        for _ in range(times):
            started = time.perf_counter()
            file.write(b"x" * 700 + b"\n")
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - started)
    return taken


def notes(place: Place) -> Iterator[Outcome]:
    """A search of the 300 notes of one patient, against the trivial tool."""
    queries = ("pneumonia", '"no pneumonia"', "lvef", "corem*", "stadi menos")
    blocks, size = (6, 10) if place.quick else (20, 25)
    requests: list[bytes] = [
        call_request(("search_notes", {"query": query, "kind": kind, "limit": 20}))
        for query in queries
        for kind in ("discharge", "radiology")
    ]
    with place.serving("chart", patient="noted") as (_, port), Connection(port) as chart:
        first: list[float] = [chart.timed(requests[0], 1)[0]]
        told: list[dict[str, Any]] = [chart.ask(data)["structuredContent"] for data in requests]
        searched = {answer["searched"]: answer["notes"] for answer in told}
        base, typed, turn = [], [], cycle(requests)
        for _ in range(blocks):
            base += chart.timed(_TRIVIAL, size)
            typed += [t for data in islice(turn, size) for t in chart.timed(data, 1)]
    ratio = median(typed) / median(base)
    measured = {
        TRIVIAL: spread(base),
        "search": spread(typed),
        "first_ms": round(first[0] * 1e3, 1),
        "notes": searched,
    }
    floor = f"trivial {median(base) * 1e3:.2f} ms; the session's first search {first[0] * 1e3:.0f} ms reads {sum(searched.values())} notes"
    yield Figure("note search, 300 notes ÷ trivial", ratio, most=3, floor=floor, measured=measured)
