"""The `harness` command: the one place that reads the command line and the environment."""

import sys
from typing import Annotated

import typer

from harness.commands import containers, corpus, data, demo, doctor, review, runs, scenario
from harness.errors import HarnessError, RunError
from mcp_mimic.errors import ChartServerError, told

app = typer.Typer(
    name="harness",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
data.register(app)
review.register(app)
runs.register(app)
demo.register(app)
containers.register(app)
doctor.register(app)
scenario.register(app)
corpus.register(app)

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
_A_TYPES_OWN = "Value error, "  # before what is wrong with an option's value, where a type of its own says so
AGAIN = {
    "synthetic": "run the same command again: nothing of an unfinished hospital is kept",
    "cohort": "run the same command again: it begins anew",
    "build": "run the same command again: it begins anew",
    "review": "run the same command again: it begins anew",
    "run": "run the same command again: trials that are whole are kept",
    "case": "run the same command again: a trial that is whole is kept",
    "grade": "run the same command again: the trials are as they were",
    "demo": "run the same command again: steps and trials that are whole are kept",
    "images": "run the same command again: images that were made are kept",
    "scenario": "run the same command again: it begins anew",
    "corpus": "run the same command again: documents that are whole are kept",
}
"""What Ctrl-C leaves, by command, and what to do about it."""
_DUCKDB_INTERRUPTED = "Query interrupted"  # what Ctrl-C becomes inside a query


def _print_version(wanted: bool) -> None:
    if wanted:
        from harness.version import harness_version

        sys.stdout.write(f"harness {harness_version()}\n")
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
    """Builds tasks from scenarios, runs systems on them, and scores what they return."""


def main() -> None:
    """Run the command; a mistake is one line, then a hint, and never a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of `harness ARGUMENTS`."""
    failed = USAGE if arguments[:1] == ["case"] else FAILED  # a case's line can be trusted or there is none
    try:
        code = app(arguments or ["--help"], prog_name="harness", standalone_mode=False)
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "harness"
        what = error.format_message().replace(_A_TYPES_OWN, "")
        return complain(what, f"see {path} --help")
    except RunError as error:
        return complain(error.message, error.remedy, failed)
    except (HarnessError, ChartServerError) as error:
        return complain(error.message, error.remedy)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        return complain(what, "check the path, its permissions and the free disk space", failed)
    except Exception as error:
        if str(error) == _DUCKDB_INTERRUPTED:
            code = INTERRUPTED
        elif _is_the_engines(error):
            what = f"the store cannot be read: {str(error).splitlines()[0]}"
            return complain(
                what, "check it with `mcp-mimic check`, and the free memory and disk space", failed
            )
        elif failed == USAGE:
            what = f"the case came to nothing: {type(error).__name__}: {' '.join(str(error).split())}"
            return complain(what, "see where with `harness run`, which takes the same options")
        else:
            raise
    if code == INTERRUPTED:
        command = arguments[0] if arguments else ""
        return complain("interrupted", AGAIN.get(command, "run the same command again"), INTERRUPTED)
    return code if isinstance(code, int) else DONE


def _is_the_engines(error: Exception) -> bool:
    """Whether DuckDB raised it; the module is too slow to be imported for commands that need no chart."""
    return any(kind.__module__ == "_duckdb" for kind in type(error).__mro__)


def complain(message: str, remedy: str, code: int = USAGE) -> int:
    """Say what is wrong and what to do, one line each, on stderr; returns the exit code."""
    sys.stderr.write(told(message, remedy))
    return code
