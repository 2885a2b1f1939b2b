"""What was measured, beside what it may be and what the floor is: a table for people, JSON for the rest."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from bench.machine import described


def quantile(values: Sequence[float], part: float) -> float:
    """The value below which that part of them lies."""
    ordered = sorted(values)
    return ordered[min(round(part * (len(ordered) - 1)), len(ordered) - 1)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile in milliseconds."""
    return {"p50_ms": round(median(values) * 1e3, 3), "p95_ms": round(quantile(values, 0.95) * 1e3, 3)}


@dataclass(frozen=True)
class Figure:
    """One number, mostly a ratio within this run, and its bound: `most` or `least`, or none at all.

    `floor` says in words what the number cannot fall below and why; `measured` are the numbers behind it.
    """

    name: str
    value: float
    unit: str = "×"
    most: float | None = None
    least: float | None = None
    floor: str = ""
    measured: Mapping[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the bound holds; None without one."""
        if self.most is not None:
            return self.value <= self.most
        return None if self.least is None else self.value >= self.least

    @property
    def bound(self) -> str:
        """The bound as the table shows it."""
        if self.most is not None:
            return f"≤ {self.most:g}"
        return "-" if self.least is None else f"≥ {self.least:g}"

    def line(self) -> str:
        """One line of the table."""
        mark = {True: "met", False: "MISSED", None: ""}[self.met]
        value = (
            f"{self.value:.3g} {self.unit}".strip() if self.value < 1000 else f"{self.value:,.0f} {self.unit}"
        )
        return f"{self.name:<62} {value:>11} {self.bound:>8}  {mark:<7} {self.floor}"


@dataclass(frozen=True)
class Skipped:
    """A figure that could not be taken, and why."""

    name: str
    why: str

    def line(self) -> str:
        """One line of the table."""
        return f"{self.name:<62} {'-':>11} {'':>8}  skipped {self.why}"


type Outcome = Figure | Skipped


def table(outcomes: Iterable[Outcome], scale: float) -> str:
    """The outcomes as a table that says at which scale they were taken."""
    head = f"scale {scale:g} of 50 million labs and 100 million chart rows"
    if scale != 1:
        head += "; bounds are meant at scale 1"
    load, cores = os.getloadavg()[1], os.cpu_count() or 1
    head += f"\nload {load:.1f} on {cores} cores" + ("; others use this machine" if load > cores + 1 else "")
    return "\n".join([head, *(outcome.line() for outcome in outcomes)])


def write(folder: Path, outcomes: Sequence[Outcome], settings: Mapping[str, Any]) -> Path:
    """Write the run as JSON; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    file = folder / f"{now:%Y%m%dT%H%M%S}-scale-{settings['scale']:g}.json"
    run = {
        "taken": now.isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": described(),
        "settings": dict(settings),
        "figures": [asdict(o) | {"met": o.met} for o in outcomes if isinstance(o, Figure)],
        "skipped": [asdict(o) for o in outcomes if isinstance(o, Skipped)],
    }
    file.write_text(json.dumps(run, indent=2, ensure_ascii=False, default=str) + "\n")
    return file


def _commit() -> str | None:
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.stdout.strip()
