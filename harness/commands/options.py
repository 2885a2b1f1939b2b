"""Options that several commands share."""

import re
from pathlib import Path
from typing import Annotated

import typer

from harness.place import Place
from mcp_mimic.errors import StoreError


def _job_name(name: str) -> str:
    """A name that is one plain folder."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise typer.BadParameter(f"{name!r} is not letters, digits, dots, dashes and underscores")
    return name


def _store(path: Path) -> Path:
    """A folder that only holds a store, as the demo's does, is told with the store's own path."""
    name = "manifest.json"
    if not (path / name).exists() and (path / "store" / name).is_file():
        raise StoreError(f"{path}: no store here", f"there is one in it: --store {path / 'store'}")
    return path


Store = Annotated[
    Path,
    typer.Option(
        envvar="CLINICARE_STORE", callback=_store, help="The chart store that `mcp-mimic import` made."
    ),
]
Corpus = Annotated[
    Path | None,
    typer.Option(
        envvar="CLINICARE_CORPUS",
        help="Folder of policy documents; a task's grant names those that may be read.",
        show_default="the house policies",
    ),
]
Readers = Annotated[
    list[str] | None,
    typer.Option(
        "--reader",
        metavar="MODEL=AGREEMENT",
        help="A model that may read a credentialed store, and its agreement; may be repeated.",
    ),
]
Tasks = Annotated[Path, typer.Option(help="The tasks folder that `harness build` made.")]
JobsDir = Annotated[Path, typer.Option(help="Folder of jobs.")]
JobName = Annotated[str, typer.Option(callback=_job_name, help="The job; the same name resumes it.")]
Environment = Annotated[
    Place | None,
    typer.Option(
        help="Where to run: direct (in this process) or docker (in containers).",
        show_default="where each system can, direct if both",
    ),
]
SystemsFile = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file of further systems, in the form of harness/systems.toml; modules beside it are found."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
