"""Options that several commands share."""

import re
from pathlib import Path
from typing import Annotated

import typer


def _job_name(name: str) -> str:
    """A name that is one plain folder."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise typer.BadParameter(f"{name!r} is not letters, digits, dots, dashes and underscores")
    return name


Store = Annotated[
    Path, typer.Option(envvar="CLINICARE_STORE", help="The chart store that `mcp-mimic import` made.")
]
Tasks = Annotated[Path, typer.Option(help="The tasks folder that `harness build` made.")]
JobsDir = Annotated[Path, typer.Option(help="Folder of jobs.")]
JobName = Annotated[
    str, typer.Option(callback=_job_name, help="The job; the same name resumes it.", show_default=False)
]
SystemsFile = Annotated[
    Path | None, typer.Option(help="A TOML file of further systems, in the form of harness/systems.toml.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
