"""Importing the labs: official csv.gz to a sorted store that answers, against a plain scan of the same file."""

import shutil
import sys
from collections.abc import Iterator
from statistics import median

from bench.m3 import convert
from bench.machine import Ran, ran, require_disk
from bench.place import STORE_BYTES_AT_FULL, Place, import_files, say
from bench.report import Figure, Outcome, Skipped
from mcp_mimic.store.sql import quote_text
from mcp_mimic.store.tables import TABLES

_LABS = TABLES["hosp.labevents"]


def measure(place: Place) -> Iterator[Outcome]:
    """Scan, import and m3's conversion by turns, each a process of its own; only the labs are at scale."""
    rows = place.facts.rows["hosp.labevents"]
    require_disk(place.root, round(STORE_BYTES_AT_FULL * place.scale))
    rounds = 3 if place.scale < 0.2 else 1
    scans, imports, conversions = [], [], []
    problem = ""
    _scan(place)  # reads the file into the page cache
    for _ in range(rounds):
        scans.append(_scan(place))
        imports.append(_imported(place))
        try:
            conversions.append(convert(place, place.fresh("m3-import")))
        except (OSError, RuntimeError) as error:
            problem = str(error).strip().splitlines()[-1][:120]
    scan, taken = median(run.seconds for run in scans), median(run.seconds for run in imports)
    peak = max(run.peak_mb for run in imports)
    told = {
        "rows": rows,
        "scan_s": round(scan, 2),
        "import_s": round(taken, 2),
        "peak_mb": round(peak),
        "rows_per_s": round(rows / taken),
    }
    floor = (
        f"scan {scan:.1f} s, import {taken:.1f} s of {rows:,} rows: {rows / taken / 1e6:.2f} million a second"
    )
    yield Figure(
        "import of the labs ÷ DuckDB's plain scan", taken / scan, most=3.5, floor=floor, measured=told
    )
    yield Figure("peak memory of the import", peak / 1000, "GB", most=1.5, measured=told)
    name = "speed of the import ÷ m3's conversion"
    if not conversions:
        yield Skipped(name, problem)
        return
    m3 = median(run.seconds for run in conversions)
    told |= {"m3_s": round(m3, 2), "m3_peak_mb": round(max(run.peak_mb for run in conversions))}
    yield Figure(
        name, m3 / taken, least=2, floor=f"m3 {m3:.1f} s, not sorted, nothing checked", measured=told
    )


def _scan(place: Place) -> Ran:
    """Every column read and typed, by DuckDB alone with its own defaults."""
    file = place.data / "hosp" / "labevents.csv.gz"
    types = ", ".join(f"{quote_text(column.name)}: '{column.type}'" for column in _LABS.columns)
    counts = ", ".join(f"count({column.name})" for column in _LABS.columns)
    query = f"select {counts} from read_csv({quote_text(str(file))}, header = true, columns = {{{types}}})"
    return ran(
        [sys.executable, "-c", f"import duckdb; duckdb.connect().execute({query!r}).fetchall()"],
        log=place.log("scan"),
    )


def _imported(place: Place) -> Ran:
    store = place.root / "fresh" / "store-labs"
    shutil.rmtree(store, ignore_errors=True)
    store.parent.mkdir(parents=True, exist_ok=True)
    try:
        return import_files(place.labs, store, place.log("import-labs"))
    finally:
        say("imported the labs once")
        shutil.rmtree(store, ignore_errors=True)
