"""`just bench`: every figure as a ratio within one run, with its floor; see docs/design/speed.md."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from bench import calls, cohorts, imports, load, m3, slices, starts
from bench.machine import ShortageError
from bench.place import Place, say
from bench.report import Figure, Outcome, Skipped, table, write

RESULTS = Path(__file__).parent / "results"
FULL_SOAK, QUICK_SOAK = 600.0, 30.0


def parts(place: Place, soak: float) -> dict[str, Callable[[], Iterator[Outcome]]]:
    """What can be measured, by name."""
    return {
        "calls": partial(calls.measure, place),
        "m3": partial(m3.measure, place),
        "slices": partial(slices.measure, place),
        "starts": partial(starts.measure, place),
        "load": partial(load.measure, place, soak),
        "imports": partial(imports.measure, place),
        "notes": partial(calls.notes, place),
        "cohorts": partial(cohorts.measure, place),
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="just bench", description=__doc__)
    parser.add_argument(
        "--scale", type=float, default=1.0, help="of 50 million labs and 100 million chart rows"
    )
    parser.add_argument(
        "--work", type=Path, default=Path.home() / ".cache" / "clinicare-bench", help="for data and stores"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="PART",
        help=f"one of {', '.join(parts(Place(Path(), 1), 0))}; repeatable",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds; the default below scale 0.2")
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="600 at full scale, 30 when quick")
    parser.add_argument(
        "--prepare", action="store_true", help="make the data and the stores, and measure nothing"
    )
    asked = parser.parse_args(arguments)
    quick = asked.quick or asked.scale < 0.2
    soak = asked.soak if asked.soak is not None else QUICK_SOAK if quick else FULL_SOAK
    place = Place(asked.work.resolve(), asked.scale, quick)
    wanted = parts(place, soak)
    if unknown := set(asked.only) - set(wanted):
        parser.error(f"no part is called {min(unknown)}")
    try:
        for where in (place, place.tenth):
            say(f"store of scale {where.scale:g}: {where.store}")
        if asked.prepare:
            return 0
        outcomes = _measured({name: wanted[name] for name in asked.only or wanted})
    except (ShortageError, ValueError) as error:
        say(f"error: {error}")
        return 1
    settings = {
        "scale": asked.scale,
        "quick": quick,
        "soak_seconds": soak,
        "parts": asked.only or list(wanted),
    }
    print(table(outcomes, asked.scale))
    print(write(RESULTS, outcomes, settings))
    missed = [outcome for outcome in outcomes if isinstance(outcome, Figure) and outcome.met is False]
    return 1 if missed else 0


def _measured(wanted: dict[str, Callable[[], Iterator[Outcome]]]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for name, part in wanted.items():
        say(f"measuring {name}")
        try:
            for outcome in part():
                outcomes.append(outcome)
                say(outcome.line())
        except (OSError, RuntimeError) as error:
            outcomes.append(Skipped(name, f"{type(error).__name__}: {error}"[:200]))
    return outcomes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
