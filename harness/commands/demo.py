"""`harness demo`: the whole path on the synthetic hospital."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import Json

if TYPE_CHECKING:
    from harness.demo import DemoScores
    from harness.stages import Outcome


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for everything that the demo makes.")] = Path("demo"),
    as_json: Json = False,
) -> None:
    """Make a synthetic hospital, build tasks on it, run every built-in system and score them.

    Needs no data and no network. A second run does only what is missing.

    Example: harness demo --out demo/
    """
    from harness.demo import run_demo
    from harness.progress import trial_progress

    scores = run_demo(out, _tell, trial_progress)
    if as_json:
        text = json.dumps({**scores.summary, "probes": scores.probes}, indent=2, ensure_ascii=False)
        sys.stdout.write(text + "\n")
    else:
        _print(scores)
    if scores.surprises:
        sys.stderr.write(f"error: not as expected: {', '.join(scores.surprises)}\n")
        sys.stderr.write(f"hint: see probes.json and trials.csv in {scores.report}\n")
        raise typer.Exit(1)


def _print(scores: "DemoScores") -> None:
    from rich.console import Console
    from rich.text import Text

    from harness.probes import probe_sheet
    from harness.report.headlines import lines_of
    from harness.report.terminal import sheet_table

    console, sheet = Console(), probe_sheet(scores.probes)
    console.print(Text(sheet.title, style="bold"))
    console.print(sheet_table(sheet))
    for line in (sheet.note, *lines_of(scores.summary)):
        console.print(Text(line))
    console.print(Text(f"all tables: {scores.report / 'index.html'}"))


def _tell(outcome: "Outcome") -> None:
    spent = "there already" if outcome.skipped else f"{outcome.seconds:.1f} s"
    sys.stderr.write(f"{outcome.name:<9} {outcome.said} ({spent})\n")
    sys.stderr.flush()
