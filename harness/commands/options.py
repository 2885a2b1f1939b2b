"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Store = Annotated[
    Path, typer.Option(envvar="CLINICARE_STORE", help="The chart store that `mcp-mimic import` made.")
]
Tasks = Annotated[Path, typer.Option(help="The tasks folder that `harness build` made.")]
JobsDir = Annotated[Path, typer.Option(help="Folder of jobs.")]
JobName = Annotated[str, typer.Option(help="The job; the same name resumes it.")]
SystemsFile = Annotated[
    Path | None, typer.Option(help="A TOML file of further systems, in the form of harness/systems.toml.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
