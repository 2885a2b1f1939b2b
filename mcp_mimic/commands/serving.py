"""`mcp-mimic serve`, `mcp-mimic settings`, `mcp-mimic inspect`: a server, what it is told, and how it is reached."""

import gc
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from mcp_mimic.commands.options import (
    AsOfFlag,
    GrantsFlag,
    Json,
    KeyFlag,
    PatientFlag,
    ReaderFlag,
    SealedFlag,
    SettingsFlag,
    StoreFlag,
    settings_of,
)


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command()(serve)
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(settings)
    app.command()(inspect)


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
    from mcp_mimic.opening import opening

    told = settings_of(given).settings
    if not (told.http or told.grants):
        _require_streams()
    with nullcontext(None) if told.grants else opening(told) as chart:
        from mcp_mimic import http as transport
        from mcp_mimic.tools.catalogue import all_tools

        all_tools()
        gc.freeze()
        gc.enable()
        transport.serve(told, chart)


def settings(context: typer.Context, json: Json = False) -> None:
    """Show every setting of `serve`, its value, and where that came from.

    An option of serve counts before its MCP_MIMIC_<NAME> in the environment, that before the settings file, that before the default. Options that stand behind this command are taken as those of serve.

    Example: mcp-mimic settings --http --port 9000
    """
    from json import dumps

    served = _options_of_serve(context, context.args)
    found = settings_of(served)
    values = found.settings.model_dump(mode="json")
    shown = {
        name: {"value": value, "from": found.origins.get(name, "default")} for name, value in values.items()
    }
    typer.echo(dumps(shown) if json else _settings_text(shown))


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
    typer.echo(configuration(client, settings_of(given).settings, url, token=token))


def _require_streams() -> None:
    """SettingsError where nobody is at the other end of stdin or stdout, over which a server speaks without HTTP."""
    from mcp_mimic.errors import SettingsError

    closed = [name for name in ("stdin", "stdout") if getattr(sys, name) is None]
    if closed:
        raise SettingsError(
            f"closed: {' and '.join(closed)}; over stdio, a server needs both",
            "let an MCP client start it (see mcp-mimic inspect), or serve with --http",
        )


def _options_of_serve(context: typer.Context, arguments: Sequence[str]) -> dict[str, Any]:
    """The options that `serve`, beside the command of `context`, reads from `arguments`."""
    root = context.find_root()
    serving = root.command.get_command(root, "serve")  # type: ignore[attr-defined]
    with serving.make_context("serve", [*arguments], parent=root) as inner:
        return dict(inner.params)


def _settings_text(shown: Mapping[str, Mapping[str, Any]]) -> str:
    from json import dumps

    rows = [(name, dumps(setting["value"]), setting["from"]) for name, setting in shown.items()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for name, value, origin in rows)
