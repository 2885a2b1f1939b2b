"""From a grant to a slice that is ready: all tables, with the store's pages in memory."""

import time
from collections.abc import Iterator
from datetime import datetime
from statistics import median

from bench.place import Place
from bench.report import Figure, Outcome
from mcp_mimic.chart.slice import open_slice
from mcp_mimic.contract import Grant
from mcp_mimic.governance.grant import bind_to_store
from mcp_mimic.store.store import Store

_PATIENTS = {"median": 0.35, "heaviest": 1.5, "fourfold": None}


def measure(place: Place) -> Iterator[Outcome]:
    """Openings of the full store and of a tenth of it, of each patient by turns: the same patients and rows."""
    rounds = 9 if place.quick else 25
    taken: dict[tuple[str, float], list[float]] = {}
    for turn in range(rounds + 1):
        for patient in _PATIENTS:
            for where in (place, place.tenth):
                seconds = opened(where, patient)
                kept = taken.setdefault((patient, where.scale), [])
                kept += [seconds] if turn else []  # the first round reads the pages
    for patient, most in _PATIENTS.items():
        whole, tenth = (median(taken[patient, where.scale]) for where in (place, place.tenth))
        rows = place.facts.patient_rows[patient]
        told = {
            "rows": rows,
            "whole_s": round(whole, 4),
            "tenth_s": round(tenth, 4),
            "least_s": round(min(taken[patient, place.scale]), 4),
        }
        floor = f"{rows:,} rows of {sum(place.facts.rows.values()):,}"
        yield Figure(
            f"grant → slice ready, {patient} patient", whole, "s", most=most, floor=floor, measured=told
        )
        if most is not None:
            name = f"growth from a tenth of the store, {patient} patient"
            yield Figure(name, whole / tenth, most=1.3, measured=told)


def opened(place: Place, patient: str) -> float:
    """Seconds from a grant to a slice that answers, the store's opening included."""
    grant = Grant(
        "bench", "bench", place.facts.subjects[patient], datetime.fromisoformat(place.facts.as_of[patient])
    )
    started = time.perf_counter()
    store = Store.open(place.store)
    bound = bind_to_store(grant, store.manifest.fingerprint)
    with open_slice(store, bound.subject_id, bound.as_of) as chart:
        seconds = time.perf_counter() - started
        found = chart.cursor().execute("select count(*) from hosp.labevents").fetchall()
    if found == [(0,)]:
        raise ValueError(f"the {patient} patient has no labs in {place.store}")
    return seconds
