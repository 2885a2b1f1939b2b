"""The `mcp-mimic` command: the one place that reads the command line and tells what went wrong."""

import sys
from typing import Annotated

import typer

from mcp_mimic.commands import serving, sessions, store
from mcp_mimic.errors import ChartServerError, told

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

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_WORK_FAILED = "work_failed"
_DUCKDB_INTERRUPTED = "Query interrupted"  # what Ctrl-C becomes inside a query


def main() -> None:
    """Run the command; a mistake is one line, then a hint, and never a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of `mcp-mimic ARGUMENTS`."""
    try:
        code = app(arguments or ["--help"], prog_name="mcp-mimic", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "mcp-mimic"
        return complain(error.format_message(), f"see {path} --help")
    except ChartServerError as error:
        return complain(error.message, error.remedy, FAILED if error.code == _WORK_FAILED else USAGE)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return complain(what, "check the path, its permissions and the free disk space", FAILED)
    except RuntimeError as error:
        if str(error) != _DUCKDB_INTERRUPTED:
            raise
        code = INTERRUPTED
    if code == INTERRUPTED:
        return complain(
            "interrupted", "run the same command again; an import goes on where it stopped", INTERRUPTED
        )
    return code if isinstance(code, int) else DONE


def complain(message: str, remedy: str, code: int = USAGE) -> int:
    """Say what is wrong and what to do, one line each, on stderr; returns the exit code."""
    sys.stderr.write(told(message, remedy))
    return code


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
