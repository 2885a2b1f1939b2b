"""The `mcp-mimic` command: the one place that reads the command line and the environment."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_mimic.errors import ChartServerError, told

if TYPE_CHECKING:
    from mcp_mimic.governance.verification import Verification
    from mcp_mimic.store.check import CheckReport
    from mcp_mimic.store.manifest import Manifest

# Packages that are slow to load are imported inside the commands, so that --help answers at once.

app = typer.Typer(
    name="mcp-mimic",
    help="A governed MCP server over one patient's MIMIC-IV chart, and the store it reads.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)

audits = typer.Typer(name="audit", help="What the audits of sessions prove.", rich_markup_mode=None)
app.add_typer(audits)

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_WORK_FAILED = "work_failed"
_DUCKDB_INTERRUPTED = "Query interrupted"  # what Ctrl-C becomes inside a query

StoreOption = Annotated[Path, typer.Option("--store", help="Folder of the store.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


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


@app.command("import")
def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Folders that hold hosp/, icu/ and optional modules.",
            show_default=False,
        ),
    ],
    store: StoreOption,
    release: Annotated[
        str | None,
        typer.Option(help="Release of the files (2.2 or 3.1), where their row counts do not tell it."),
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory for sorting; by default 4GB, or half of the machine's.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Turn official MIMIC-IV files into a store.

    Reads csv.gz, csv and parquet, of the releases 2.2 and 3.1 and the demo. Every file is checked from end to end first. Interrupted, the same command goes on where it stopped.

    Example: mcp-mimic import mimiciv/3.1 mimic-iv-note/2.2 --store store
    """
    from mcp_mimic.progress import import_progress
    from mcp_mimic.store.importer import import_store
    from mcp_mimic.store.releases import RELEASES

    if release is not None and release not in RELEASES:
        raise typer.BadParameter(f"{release!r} is not one of {', '.join(RELEASES)}", param_hint="--release")
    with import_progress() as progress:
        manifest = import_store(sources, store, release=release, memory=memory, progress=progress)
    typer.echo(manifest.model_dump_json(indent=2) if json else _import_text(store, manifest))


@app.command()
def check(store: StoreOption, json: JsonOption = False) -> int:
    """Compare a store with what its release should hold.

    Official layout, manifest, content and the release's published row counts. Ends with 1 where anything differs.

    Example: mcp-mimic check --store store --json
    """
    from mcp_mimic.progress import check_progress
    from mcp_mimic.store.check import check_store
    from mcp_mimic.store.store import Store

    opened = Store.open(store)
    with check_progress(len(opened.manifest.tables)) as progress:
        report = check_store(opened, progress=progress)
    typer.echo(report.model_dump_json(indent=2) if json else _check_text(report))
    return DONE if report.ok else FAILED


@app.command()
def serve(
    store: StoreOption,
    grant: Annotated[Path | None, typer.Option(help="Grant file (JSON).", show_default=False)] = None,
    patient: Annotated[
        int | None, typer.Option(metavar="SUBJECT", help="Whose chart, instead of a grant file.")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="The moment to be at, e.g. 2150-03-04T14:00:00.")
    ] = None,
    sealed_hadm_id: Annotated[
        int | None, typer.Option(help="Admission whose summary and codes stay hidden.")
    ] = None,
    audit: Annotated[
        Path | None, typer.Option(help="Folder for the audit and the report; without it, neither is kept.")
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Folder of policy documents; a grant names those that may be read.")
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP at /mcp instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8000,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Name that clients use in the Host header; repeatable.")
    ] = None,
) -> None:
    """Serve one patient's chart as of one moment over MCP.

    Over stdio until the client leaves, or over HTTP with --http. The grant comes from a file, or from --patient and --as-of.

    Example: mcp-mimic serve --store store --patient 12345678 --as-of 2150-03-04T14:00:00
    """
    from mcp_mimic import http as transport
    from mcp_mimic.settings import ServeSettings

    transport.serve(
        ServeSettings(
            store=store,
            grant_file=grant,
            patient=patient,
            as_of=as_of,
            sealed_hadm_id=sealed_hadm_id,
            audit=audit,
            corpus=corpus,
            http=http,
            host=host,
            port=port,
            allow_hosts=tuple(allow_host or ()),
        )
    )


@app.command()
def seal(
    audit: Annotated[Path, typer.Option(help="Audit folder of the live server.", show_default=False)],
) -> None:
    """Close the audit of a live server for good; it answers no further call.

    Prints the number of calls and the last hash as JSON, also where the audit is sealed already. Ends with 1 where it is not and no live server answers.

    Example: mcp-mimic seal --audit /audit
    """
    import json

    from mcp_mimic.governance.sealing import request_seal

    typer.echo(json.dumps(request_seal(audit)))


@audits.command()
def verify(
    audit: Annotated[Path, typer.Argument(metavar="FILE", help="An audit.jsonl, or its folder.")],
    sealed: Annotated[bool, typer.Option("--sealed", help="End with 1 where it is not sealed, too.")] = False,
    json: JsonOption = False,
) -> int:
    """Say how far an audit holds: its lines, calls and seal, and where it breaks.

    Ends with 1 where a line breaks the chain or is torn. An audit without its seal may be a live server's.

    Example: mcp-mimic audit verify audit/audit.jsonl --sealed
    """
    from json import dumps

    from mcp_mimic.governance import verification

    found = verification.verify(audit)
    typer.echo(dumps(found.to_json()) if json else _audit_text(found))
    return DONE if found.holds and (found.sealed or not sealed) else FAILED


def _audit_text(found: "Verification") -> str:
    outcomes = ", ".join(f"{name} {number}" for name, number in found.outcomes.items())
    calls = f"{found.calls} calls ({outcomes})" if outcomes else "no call"
    unlogged = f", {found.unlogged} more refused and only counted" if found.unlogged else ""
    lines = [f"{found.lines} lines hold: {calls}{unlogged}, {'sealed' if found.sealed else 'not sealed'}"]
    if found.problem is not None:
        lines.append(f"it breaks: {found.problem}")
    if found.torn:
        lines.append(f"{found.torn} bytes of a torn line follow: its server was killed, or is writing")
    return "\n".join(lines)


def _import_text(store: Path, manifest: "Manifest") -> str:
    rows = sum(entry.rows for entry in manifest.tables.values())
    files = sum(entry.source is not None for entry in manifest.tables.values())
    return (
        f"{store}: release {manifest.release}, {manifest.classification}, {rows:,} rows of {files} files\n"
        f"fingerprint {manifest.fingerprint}"
    )


def _check_text(report: "CheckReport") -> str:
    lines = [f"{'table':<25}{'rows':>13}{'published':>13}  status"]
    for table in report.tables:
        published = "-" if table.published is None else f"{table.published:,}"
        status = "; ".join([table.status, *table.problems])
        lines.append(f"{table.table:<25}{table.rows:>13,}{published:>13}  {status}")
    lines.append("")
    sources = sorted({table.source for table in report.tables if table.source})
    lines += [f"published counts: {source}" for source in sources]
    lines += [f"problem: {problem}" for problem in report.problems]
    verdict = "nothing differs" if report.ok else "it differs"
    lines.append(f"release {report.release}, {report.classification}: {verdict}")
    return "\n".join(lines)
