"""`mcp-mimic grant`, `mcp-mimic seal`, `mcp-mimic audit verify`: a session's begin, its end, and what it left."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mcp_mimic.commands.options import (
    AsOfFlag,
    GrantsFlag,
    Json,
    KeyFlag,
    PatientFlag,
    SealedFlag,
    SettingsFlag,
    StoreFlag,
    settings_of,
)
from mcp_mimic.errors import told

if TYPE_CHECKING:
    from mcp_mimic.governance.verification import Verification


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command()(grant)
    app.command()(seal)
    audits = typer.Typer(name="audit", help="What the audits of sessions prove.", rich_markup_mode=None)
    audits.command()(verify)
    app.add_typer(audits)


def grant(
    grants: GrantsFlag = None,
    store: StoreFlag = None,
    patient: PatientFlag = None,
    as_of: AsOfFlag = None,
    sealed_hadm_id: SealedFlag = None,
    file: Annotated[Path | None, typer.Option("--from", help="A grant file to take instead.")] = None,
    renew: Annotated[
        str | None, typer.Option(metavar="ID", help="Give a new token for this grant, whose terms stay.")
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
    issued = issue_token(settings_of(given).settings, asked, expires)
    granted = issued.grant
    sys.stderr.write(
        f"grant {granted.grant}: patient {granted.subject_id} as of {granted.as_of.isoformat()}\n"
        f"good until {expiry_text(issued.expires)}; the token is not kept\n"
    )
    typer.echo(issued.token)


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


def verify(
    audit: Annotated[Path, typer.Argument(metavar="FILE", help="An audit.jsonl, or its folder.")],
    sealed: Annotated[bool, typer.Option("--sealed", help="End with 1 where it is not sealed, too.")] = False,
    json: Json = False,
) -> None:
    """Say how far an audit holds: its lines, calls and seal, and where it breaks.

    Ends with 1 where a line breaks the chain or is torn. An audit without its seal may be a live server's.

    Example: mcp-mimic audit verify audit/audit.jsonl --sealed
    """
    from json import dumps

    from mcp_mimic.governance import verification

    found = verification.verify(audit)
    typer.echo(dumps(found.to_json()) if json else _audit_text(found))
    failure = found.failure(sealed=sealed)
    if failure is not None:
        sys.stderr.write(told(*failure))
        raise typer.Exit(1)


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
