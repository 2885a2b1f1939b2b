"""Finding and labelling the cases of every scenario in the whole store."""

import sys
from collections.abc import Iterator

from bench.machine import ran
from bench.place import Place
from bench.report import Figure, Outcome

HARNESS = (sys.executable, "-c", "from harness.cli import main; main()")
"""What the installed `harness` runs."""


def measure(place: Place) -> Iterator[Outcome]:
    """One run of `harness cohort`: all scenarios' cohorts and adjudications, and the fragility of sampled cases.

    The bounds are of seconds and memory, not ratios: nothing else does this work, and they are what a laptop has.
    """
    out = place.fresh("cohort") / "cohort.csv"
    run = ran([*HARNESS, "cohort", "--store", str(place.store), "--out", str(out)], log=place.log("cohort"))
    cases = max(0, len(out.read_text().splitlines()) - 1)
    told = {"seconds": round(run.seconds, 1), "peak_mb": round(run.peak_mb), "cases": cases}
    floor = f"{cases} cases sampled in {sum(place.facts.rows.values()):,} rows"
    yield Figure("cohorts of all scenarios", run.seconds, "s", most=600, floor=floor, measured=told)
    yield Figure("peak memory of the cohorts", run.peak_mb / 1000, "GB", most=4, measured=told)
