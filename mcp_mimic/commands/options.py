"""Options that several commands share, and the settings that they, the environment and a file give together."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mcp_mimic.settings import Found

StoreFolder = Annotated[Path, typer.Option("--store", help="Folder of the store.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

StoreFlag = Annotated[Path | None, typer.Option("--store", help="Folder of the store.", show_default=False)]
GrantsFlag = Annotated[
    Path | None, typer.Option("--grants", help="Folder of grants, for many sessions with bearer tokens.")
]
KeyFlag = Annotated[
    Path | None, typer.Option("--token-key", help="File of the tokens' key; by default among the grants.")
]
ReaderFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--reader", metavar="MODEL=AGREEMENT", help="Who may read a credentialed store; repeatable."
    ),
]
PatientFlag = Annotated[
    int | None, typer.Option("--patient", metavar="SUBJECT", help="Whose chart, instead of a grant file.")
]
AsOfFlag = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="The moment to be at, e.g. 2150-03-04T14:00:00; a bare date is the midnight that begins it.",
    ),
]
SealedFlag = Annotated[
    int | None, typer.Option("--sealed-hadm-id", help="Admission whose summary and codes stay hidden.")
]
SettingsFlag = Annotated[
    Path | None, typer.Option("--settings", help="Settings file (TOML); by default the user's own, if any.")
]


def settings_of(given: Mapping[str, Any]) -> "Found":
    """The settings that options, environment and file give together; `given` holds options by their names."""
    from mcp_mimic.settings import ServeSettings, read_settings

    lists = {"readers": given.get("reader"), "allow_hosts": given.get("allow_host")}
    known = {
        name: value for name, value in given.items() if name in {*ServeSettings.model_fields, "settings"}
    }
    return read_settings(known | {name: value for name, value in lists.items() if value}, os.environ)
