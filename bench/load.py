"""Many sessions at once: calls a second, errors, and whether memory stays where it is."""

import asyncio
import threading
from collections.abc import Iterator
from statistics import mean, median

from bench.calls import HEADLINE, typed_calls
from bench.clients import Load, call_request, under_load
from bench.machine import resident_mb
from bench.place import Place
from bench.report import Figure, Outcome, spread
from bench.serving import TRIVIAL

SESSIONS = 64
_TRIVIAL = call_request((TRIVIAL, {}))


def measure(place: Place, soak_seconds: float) -> Iterator[Outcome]:
    """Blocks of both tools by turns at 64 connections of one server, then a soak of the typed one."""
    blocks, seconds = (4, 2.0) if place.quick else (10, 5.0)
    typed = [call_request(tool) for tool in typed_calls()[HEADLINE]]
    with place.serving("chart", "--audit", str(place.fresh("audit-load"))) as (process, port):
        asyncio.run(under_load(port, typed[0], SESSIONS, 1.0))
        rates: dict[str, list[float]] = {TRIVIAL: [], HEADLINE: []}
        loads: list[Load] = []
        for block in range(blocks):
            for name, data in ((TRIVIAL, _TRIVIAL), (HEADLINE, typed[block % len(typed)])):
                load = asyncio.run(under_load(port, data, SESSIONS, seconds))
                rates[name].append(load.rate)
                loads.append(load)
        memory, soak = _soak(process.pid, port, typed[0], soak_seconds)
    failed = sum(load.failed for load in loads) + soak.failed
    trivial, chart = median(rates[TRIVIAL]), median(rates[HEADLINE])
    told = {"trivial_per_s": round(trivial), "typed_per_s": round(chart), "failed": failed}
    yield Figure(
        f"calls a second at {SESSIONS} sessions ÷ trivial tool",
        chart / trivial,
        least=0.7,
        floor=f"trivial {trivial:,.0f}/s, typed {chart:,.0f}/s",
        measured=told,
    )
    yield Figure("calls that failed under load", failed, "", most=0, measured=told)
    third = max(len(memory) // 3, 1)
    grown = mean(memory[-third:]) - mean(memory[third : 2 * third] or memory[:third])
    told_soak = {
        "seconds": soak_seconds,
        "calls": soak.answered,
        "memory_mb": [round(m, 1) for m in memory],
        **spread(soak.taken),
    }
    yield Figure(
        f"memory growth over a soak of {soak_seconds:g} s, last third − middle third",
        grown,
        "MB",
        most=5,
        floor=f"{soak.answered:,} calls, {memory[0]:.0f} MB at its start, {memory[-1]:.0f} MB at its end",
        measured=told_soak,
    )


def _soak(pid: int, port: int, data: bytes, seconds: float) -> tuple[list[float], Load]:
    memory: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(max(seconds / 60, 0.2)):
            memory.append(resident_mb(pid))

    memory.append(resident_mb(pid))
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        load = asyncio.run(under_load(port, data, SESSIONS, seconds))
    finally:
        over.set()
        watcher.join()
    return [*memory, resident_mb(pid)], load
