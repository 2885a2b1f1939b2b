"""The commands of `mcp-mimic`, put together."""

from typing import Annotated

import typer

from mcp_mimic.commands import serving, sessions, store

# The commands import what is slow to load inside them, so that --help answers at once.

app = typer.Typer(
    name="mcp-mimic",
    help="A governed MCP server over one patient's MIMIC-IV chart, and the store it reads.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)

store.register(app)
serving.register(app)
sessions.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"mcp-mimic {version('clinicare')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """A governed MCP server over one patient's MIMIC-IV chart, and the store it reads."""
