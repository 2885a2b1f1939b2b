"""The `mcp-mimic` command: the one place that reads the command line and the environment."""

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_mimic.errors import ChartServerError, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_mimic.governance.verification import Verification
    from mcp_mimic.settings import Found
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
    for entry in manifest.tables.values():
        if entry.unread:
            unread = ", ".join(name or "(unnamed)" for name in entry.unread)
            typer.echo(f"{entry.source}: not served, no rule: {unread}", err=True)
    typer.echo(manifest.model_dump_json(indent=2) if json else _import_text(store, manifest))


@app.command()
def check(store: StoreOption, json: JsonOption = False) -> int:
    """Compare a store with what its release should hold.

    Official layout, manifest, content and the release's published row counts, where it is a release that has them. Ends with 1 where anything differs.

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
    str | None, typer.Option("--as-of", metavar="TIME", help="The moment to be at, e.g. 2150-03-04T14:00:00.")
]
SealedFlag = Annotated[
    int | None, typer.Option("--sealed-hadm-id", help="Admission whose summary and codes stay hidden.")
]
SettingsFlag = Annotated[
    Path | None, typer.Option("--settings", help="Settings file (TOML); by default the user's own, if any.")
]


@app.command()
def serve(
    store: StoreFlag = None,
    grant: Annotated[Path | None, typer.Option(help="Grant file (JSON).", show_default=False)] = None,
    grants: GrantsFlag = None,
    token_key: KeyFlag = None,
    patient: PatientFlag = None,
    as_of: AsOfFlag = None,
    sealed_hadm_id: SealedFlag = None,
    audit: Annotated[
        Path | None, typer.Option(help="Folder for the audit and the report; without it, neither is kept.")
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Folder of policy documents; a grant names those that may be read.")
    ] = None,
    reader: ReaderFlag = None,
    http: Annotated[
        bool | None, typer.Option("--http/--stdio", help="Streamable HTTP at /mcp, or stdio (the default).")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; by default 127.0.0.1.")] = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port to listen on, by default 8000; 0 for any free one."),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="Name that clients use in the Host header; repeatable.")
    ] = None,
    connections: Annotated[int | None, typer.Option(help="Connections at once.")] = None,
    slices: Annotated[int | None, typer.Option(help="Charts in memory at once, with --grants.")] = None,
    slice_memory: Annotated[
        str | None, typer.Option(help="Memory for charts, with --grants, e.g. 1GB.")
    ] = None,
    stop_seconds: Annotated[
        int | None, typer.Option(help="How long calls in flight may take to finish after SIGTERM.")
    ] = None,
    log: Annotated[str | None, typer.Option(metavar="FORM", help="auto, json or text.")] = None,
    settings: SettingsFlag = None,
) -> None:
    """Serve one patient's chart as of one moment over MCP, or many sessions with bearer tokens.

    Over stdio until the client leaves, or over HTTP with --http. The grant comes from a file, or from --patient and --as-of; with --grants, each request's token says which. Every option can also be set by MCP_MIMIC_<NAME> or in the settings file: see mcp-mimic settings.

    Example: mcp-mimic serve --store store --patient 12345678 --as-of 2150-03-04T14:00:00
    """
    given = dict(locals())
    # What is loaded to serve stays loaded: looking for rubbish in it would cost a tenth of the start.
    gc.disable()
    from mcp_mimic import http as transport
    from mcp_mimic.tools.catalogue import all_tools

    all_tools()
    gc.freeze()
    gc.enable()
    transport.serve(_settings(given).settings)


def _settings(given: dict[str, Any]) -> "Found":
    """The settings that options, environment and file give together; `given` holds options by their names."""
    from mcp_mimic.settings import ServeSettings, read_settings

    lists = {"readers": given.get("reader"), "allow_hosts": given.get("allow_host")}
    known = {
        name: value for name, value in given.items() if name in {*ServeSettings.model_fields, "settings"}
    }
    return read_settings(known | {name: value for name, value in lists.items() if value}, os.environ)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def settings(context: typer.Context, json: JsonOption = False) -> None:
    """Show every setting of `serve`, its value, and where that came from.

    An option of serve counts before its MCP_MIMIC_<NAME> in the environment, that before the settings file, that before the default. Options that stand behind this command are taken as those of serve.

    Example: mcp-mimic settings --http --port 9000
    """
    from json import dumps

    served = _options_of_serve(context.args)
    found = _settings(served)
    values = found.settings.model_dump(mode="json")
    shown = {
        name: {"value": value, "from": found.origins.get(name, "default")} for name, value in values.items()
    }
    typer.echo(dumps(shown) if json else _settings_text(shown))


def _options_of_serve(arguments: list[str]) -> dict[str, Any]:
    command = typer.main.get_command(app)
    with command.make_context("mcp-mimic", ["serve", *arguments]) as context:
        _, serving, rest = command.resolve_command(context, ["serve", *arguments])  # type: ignore[attr-defined]
        with serving.make_context("serve", rest, parent=context) as inner:
            return dict(inner.params)


@app.command()
def grant(
    grants: GrantsFlag = None,
    store: StoreFlag = None,
    patient: PatientFlag = None,
    as_of: AsOfFlag = None,
    sealed_hadm_id: SealedFlag = None,
    file: Annotated[Path | None, typer.Option("--from", help="A grant file to take instead.")] = None,
    renew: Annotated[
        str | None, typer.Option(metavar="ID", help="Give a new token for this grant; it stays as it is.")
    ] = None,
    grant_id: Annotated[
        str | None, typer.Option("--id", help="The grant's id; by default one that says nothing.")
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(help="A tool that may be used; repeatable. By default all but query_chart."),
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option(help="A policy document that may be read; repeatable.")
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Folder of policy documents, the server's; needed with --document.")
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(help="Folder of the server's audits, which tell what is sealed; needed with --renew."),
    ] = None,
    calls: Annotated[int | None, typer.Option(min=1, help="Calls of the session, by default 200.")] = None,
    expires: Annotated[str, typer.Option(help="How long the token is good, e.g. 30m, 8h, 7d.")] = "8h",
    token_key: KeyFlag = None,
    settings: SettingsFlag = None,
) -> None:
    """Issue a grant and its bearer token, for `serve --grants`.

    Writes the grant to the folder, and the key that signs tokens if there is none yet. The token is printed once, alone on stdout, and kept nowhere. Remove the grant's file to take it back. Refused are an as-of time by which nothing of the patient was known, a document that the corpus does not name, and a session that is sealed.

    Example: mcp-mimic grant --grants grants --store store --patient 12345678 --as-of 2150-03-04T14:00:00 --expires 8h
    """
    from mcp_mimic.governance.bearer import expiry_text
    from mcp_mimic.issuing import Request, issue_token

    given = {
        "grants": grants,
        "store": store,
        "corpus": corpus,
        "audit": audit,
        "token_key": token_key,
        "settings": settings,
    }
    asked = Request(
        file, renew, grant_id, patient, as_of, sealed_hadm_id, tuple(tool or ()), tuple(document or ()), calls
    )
    issued = issue_token(_settings(given).settings, asked, expires)
    sys.stderr.write(
        f"grant {issued.grant}, good until {expiry_text(issued.expires)}; the token is not kept\n"
    )
    typer.echo(issued.token)


@app.command()
def inspect(
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLIENT", help="inspector, claude-code, fastmcp, codex, gemini or claude-desktop."
        ),
    ],
    url: Annotated[
        str | None, typer.Option(help="Of a server that is running with --http, instead of a command.")
    ] = None,
    token: Annotated[
        bool, typer.Option("--token/--no-token", help="Whether the server at --url runs with --grants.")
    ] = True,
    store: StoreFlag = None,
    grant: Annotated[Path | None, typer.Option(help="Grant file (JSON).", show_default=False)] = None,
    patient: PatientFlag = None,
    as_of: AsOfFlag = None,
    sealed_hadm_id: SealedFlag = None,
    audit: Annotated[Path | None, typer.Option(help="Folder for the audit.", show_default=False)] = None,
    corpus: Annotated[Path | None, typer.Option(help="Folder of policy documents.")] = None,
    reader: ReaderFlag = None,
    settings: SettingsFlag = None,
) -> None:
    """Print the command and the configuration with which an MCP client reaches this server.

    Nothing is changed and nothing started. A token is never printed: configurations for --url name the variable MIMIC_TOKEN instead, or none with --no-token. Refused for a chart that the store has not, and for a credentialed store without a named reader; with --url no store is needed.

    Example: mcp-mimic inspect claude-code --store store --patient 12345678 --as-of 2150-03-04T14:00:00
    """
    from mcp_mimic.clients import configuration

    given = dict(locals())
    typer.echo(configuration(client, _settings(given).settings, url, token=token))


@app.command()
def seal(
    audit: Annotated[Path, typer.Option(help="Audit folder of the live server.", show_default=False)],
    grant: Annotated[
        str | None, typer.Option(metavar="ID", help="Which session, of a server with --grants.")
    ] = None,
) -> None:
    """Close the audit of a live server for good; it answers no further call.

    Prints the number of calls and the last hash as JSON, also where the audit is sealed already. Ends with 1 where it is not and no live server answers.

    Example: mcp-mimic seal --audit /audit
    """
    import json

    from mcp_mimic.governance.sealing import request_seal

    typer.echo(json.dumps(request_seal(audit, grant)))


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
    failure = found.failure(sealed=sealed)
    return DONE if failure is None else complain(*failure, code=FAILED)


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


def _settings_text(shown: "Mapping[str, Mapping[str, Any]]") -> str:
    from json import dumps

    rows = [(name, dumps(setting["value"]), setting["from"]) for name, setting in shown.items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for name, value, origin in rows)


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
    lines.append(f"release {report.release}, {report.classification}: {_verdict(report)}")
    return "\n".join(lines)


def _verdict(report: "CheckReport") -> str:
    if not report.ok:
        return "it differs"
    if any(table.published is not None for table in report.tables):
        return "nothing differs"
    return (
        "no official row counts to compare with; checked instead, and as they should be: the official layout, content "
        "and rules against the manifest, evidence ids and moments of availability"
    )
