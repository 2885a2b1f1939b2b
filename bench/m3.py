"""m3-mcp, another MCP server over MIMIC-IV, on the same labs: PyPI's, in an environment of its own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.clients import Stdio, Tool
from bench.machine import Ran, ran, resident_mb, running
from bench.place import Place, say
from bench.report import Figure, Outcome, Skipped, spread
from bench.tables import LAB_ITEMS

VERSION = "0.4.0"
_DATASET = "mimic-iv-full"


def environment(place: Place) -> Path:
    """The folder of its programs; made with uv if it is missing. RuntimeError: it cannot be installed."""
    home = place.root / f"m3-{VERSION}"
    programs = home / "bin"
    if not (programs / "m3-mcp-server").is_file():
        say(f"installing m3-mcp {VERSION}")
        uv = shutil.which("uv")
        if uv is None:
            raise RuntimeError("uv is not on the PATH")
        log = place.log("m3-install")
        ran([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home)], log=log)
        ran(
            [uv, "pip", "install", "--quiet", "--python", str(programs / "python"), f"m3-mcp=={VERSION}"],
            log=log,
        )
    return programs


def convert(place: Place, home: Path) -> Ran:
    """Its own preparation of the labs in a fresh home: csv.gz to Parquet, with its default settings."""
    program = environment(place) / "m3"
    return ran(
        [str(program), "init", _DATASET, "--src", str(place.labs)],
        environment={"HOME": str(home)},
        log=place.log("m3-init"),
    )


def _database(home: Path) -> Path:
    return home / "m3_data" / "databases" / "mimic_iv_full.duckdb"


def _prepared(place: Place) -> Path:
    home = place.root / f"m3-home-{place.scale:g}"
    if not (home / "ready").is_file():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        say("m3 converts the labs")
        convert(place, home)
        (home / "ready").touch()
    return home


def measure(place: Place) -> Iterator[Outcome]:
    """The same question over stdio to both servers by turns, each with its own tools."""
    name = "typed lab query: m3-mcp's time ÷ ours, over stdio"
    try:
        programs, home = environment(place), _prepared(place)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        yield Skipped(name, str(error).strip().splitlines()[-1][:160])
        return
    blocks, size = (6, 5) if place.quick else (20, 10)
    subject = place.facts.subjects["median"]
    settings = {
        "HOME": str(home),
        "M3_BACKEND": "duckdb",
        "M3_DB_PATH": str(_database(home)),
        "PATH": os.environ["PATH"],
    }
    audit = place.fresh("audit-m3")
    with (
        running(
            [str(programs / "m3-mcp-server")], environment=settings, log=place.log("m3"), pipes=True
        ) as theirs,
        running(place.serve_command("--audit", str(audit)), log=place.log("stdio"), pipes=True) as ours,
    ):
        rival, chart = Stdio(theirs), Stdio(ours)
        first: dict[str, float] = {}
        arms: dict[str, tuple[Stdio, Iterator[Tool]]] = {
            "ours": (chart, _ours()),
            "theirs, by tool": (rival, _their_tool(subject)),
            "theirs, by SQL": (rival, _their_sql(subject)),
        }
        taken: dict[str, list[float]] = {arm: [] for arm in arms}
        for block in range(blocks + 1):
            for arm, (client, calls) in arms.items():
                times = [t for _ in range(size) for t in client.timed(next(calls), 1)]
                first.setdefault(arm, times[0])
                taken[arm] += times if block else []
        memory = {"ours_mb": round(resident_mb(ours.pid), 1), "theirs_mb": round(resident_mb(theirs.pid), 1)}
    times = {arm: median(values) for arm, values in taken.items()}
    told = {arm: spread(values) for arm, values in taken.items()} | {"first_s": first, **memory}
    # Judged by the one that is harder to beat.
    rivals = (times["theirs, by tool"], times["theirs, by SQL"])
    floor = f"ours {times['ours'] * 1e3:.1f} ms; m3's get_lab_results {rivals[0] * 1e3:.1f}, the same question in SQL {rivals[1] * 1e3:.1f} ms"
    yield Figure(name, min(rivals) / times["ours"], least=15, floor=floor, measured=told)


def _ours() -> Iterator[Tool]:
    while True:
        for item in LAB_ITEMS[:40]:
            yield "get_labs", {"items": [item], "limit": 20}


def _their_tool(subject: int) -> Iterator[Tool]:
    while True:
        yield "get_lab_results", {"patient_id": subject, "limit": 20}


def _their_sql(subject: int) -> Iterator[Tool]:
    while True:
        for item in LAB_ITEMS[:40]:
            query = f"select * from hosp_labevents where subject_id = {subject} and itemid = {item} order by charttime desc limit 20"
            yield "execute_mimic_query", {"sql_query": query}
