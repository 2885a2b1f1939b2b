"""`harness doctor`: whether this machine can run trials in containers."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands.options import JobsDir, Json

if TYPE_CHECKING:
    from harness.doctor.check import Check


_STORES = (Path("store"), Path("demo/store"))
_STYLES = {"ok": "", "warning": "yellow", "problem": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(doctor)


def doctor(
    store: Annotated[
        Path | None,
        typer.Option(
            envvar="CLINICARE_STORE",
            help="The chart store that trials are to read.",
            show_default=f"the first that is there of {', '.join(map(str, _STORES))}",
        ),
    ] = None,
    jobs_dir: JobsDir = Path("jobs"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Start no container; what only one can tell is left open.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether this machine can run trials in containers, and what to do where it cannot.

    Ends with 1 if there is a problem. What it starts for the examination it removes again.

    Example: harness doctor --store store/
    """
    from harness.doctor.examination import Places, examine

    checks = examine(Places([store] if store else _STORES, jobs_dir), os.environ, quick=quick, tell=_tell)
    well = all(check.status != "problem" for check in checks)
    if as_json:
        text = json.dumps({"checks": [asdict(check) for check in checks], "ok": well}, indent=2)
        sys.stdout.write(text + "\n")
    else:
        _print(checks)
    if not well:
        raise typer.Exit(1)


def _tell(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"{line}\n")


def _print(checks: Sequence["Check"]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("check", "status", "found"):
        table.add_column(Text(heading), overflow="fold")
    for check in checks:
        table.add_row(Text(check.name), Text(check.status, style=_STYLES[check.status]), Text(check.found))
    console.print(table)
    console.print()
    for check in checks:
        if check.remedy:
            remedy = check.remedy.replace("\n", "\n    ")
            console.print(Text(f"{check.name}: {remedy}"), soft_wrap=True)
