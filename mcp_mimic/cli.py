"""The `mcp-mimic` command: the one place that reads the command line and tells what went wrong."""

import sys

from mcp_mimic.errors import ChartServerError, told

# All else is imported in `run`: Ctrl-C is told in one line as soon as there is somebody to tell it.

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_WORK_FAILED = "work_failed"
_DUCKDB_INTERRUPTED = "Query interrupted"  # what Ctrl-C becomes inside a query

_AGAIN = {
    "import": "run the same command again; an import goes on where it stopped",
    "serve": "no call was answered yet; run the same command again",
}


def main() -> None:
    """Run the command; a mistake is one line, then a hint, and never a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """The exit code of `mcp-mimic ARGUMENTS`."""
    try:
        code = _run(arguments)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        command = arguments[0] if arguments else ""
        return complain("interrupted", _AGAIN.get(command, "run the same command again"), INTERRUPTED)
    return code


def _run(arguments: list[str]) -> int:
    import typer

    from mcp_mimic.commands.app import app

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
        return INTERRUPTED
    return code if isinstance(code, int) else DONE


def complain(message: str, remedy: str, code: int = USAGE) -> int:
    """Say what is wrong and what to do, one line each, on stderr; returns the exit code."""
    if sys.stderr is not None:  # it may have been closed before the start
        sys.stderr.write(told(message, remedy))
    return code
