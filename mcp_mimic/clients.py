"""How MCP clients reach this server: the command and the configuration of each, ready to be pasted.

A client starts its own server over stdio, or calls one that runs over HTTP. If that one runs with grants, the
token is named by a variable of the client's environment, and never written out. Which clients were seen to work
with what is printed here is in docs/clients.md.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from mcp_mimic.chart.subject import require_grantable
from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.grant import bind_to_store
from mcp_mimic.governance.readers import require_readers
from mcp_mimic.settings import ServeSettings, flag_of
from mcp_mimic.store.store import Store

NAME = "mimic"
TOKEN_VARIABLE = "MIMIC_TOKEN"  # noqa: S105 a variable's name

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
"""In the version that was tried: others place the server's options elsewhere, and npm chooses by Node's version."""

_PASSED_ON = (
    "store", "grant", "patient", "as_of", "sealed_hadm_id", "audit", "corpus", "readers",
)  # fmt: skip


def configuration(client: str, settings: ServeSettings, url: str | None = None, *, token: bool = True) -> str:
    """What to do for `client`, as text; with `url`, for a running server, which takes tokens or is one session's.

    SettingsError for an unknown client, one that cannot call a URL, or a credentialed store without readers;
    GrantError for a chart that the store has not. With `url` a store is not needed: that server has its own.
    """
    if client not in CLIENTS:
        raise SettingsError(
            f"{client[:40]!r} is no client that is known here", f"name one of {', '.join(CLIENTS)}"
        )
    if url is not None:
        if not url.startswith(("http://", "https://")):
            raise SettingsError(
                f"{url[:60]!r} is not the URL of a server", "give one as http://host:8000/mcp"
            )
        if settings.store is not None:
            _readable_store(settings)
        return CLIENTS[client][1](url, token)
    store = _readable_store(settings)
    require_grantable(store, bind_to_store(settings.chosen_grant("inspect"), store.manifest.fingerprint))
    return CLIENTS[client][0](serve_command(settings))


def _readable_store(settings: ServeSettings) -> Store:
    """The store, if who reads it is named where that is needed."""
    store = Store.open(settings.store_folder())
    require_readers(store.path, store.manifest.classification, settings.readers)
    return store


def serve_command(settings: ServeSettings) -> list[str]:
    """The command that serves what the settings say, whatever folder and environment a client starts it in."""
    command = [shutil.which("mcp-mimic") or str(Path(sys.executable).with_name("mcp-mimic")), "serve"]
    for name in _PASSED_ON:
        value = getattr(settings, name)
        if name == "readers":
            for reader in value:
                command += [flag_of(name), f"{reader.model}={reader.agreement}"]
        elif value is not None:
            command += [flag_of(name), str(value.absolute() if isinstance(value, Path) else value)]
    return command


def _stdio(command: list[str], **more: object) -> str:
    return _servers({**more, "command": command[0], "args": command[1:]})


def _servers(server: Mapping[str, object]) -> str:
    return json.dumps({"mcpServers": {NAME: server}}, indent=2)


def _bearer(reference: str) -> str:
    return f"Bearer {reference}"


def _headers(token: bool, reference: str) -> dict[str, dict[str, str]]:
    """The part of a server's entry that sends the token; `reference` is how the client names the variable."""
    return {"headers": {"Authorization": _bearer(reference)}} if token else {}


def _set_token(token: bool) -> str:
    """What comes first where a token is needed."""
    told = f"Set {TOKEN_VARIABLE} to the token of `mcp-mimic grant` in the client's environment. "
    return told if token else ""


def _inspector(command: list[str]) -> str:
    # For its page the options of the server stand behind --, and on its command line before.
    page = shlex.join(["npx", INSPECTOR, command[0], command[1], "--", *command[2:]])
    call = shlex.join(["npx", INSPECTOR, "--cli", *command, "--", "--method", "tools/list"])
    return f"Run for its page:\n\n{page}\n\nor for one call:\n\n{call}"


def _inspector_url(url: str, token: bool) -> str:
    header = f' --header "Authorization: {_bearer(f"${TOKEN_VARIABLE}")}"' if token else ""
    page = shlex.join(["npx", INSPECTOR, "--transport", "http", "--server-url", url])
    call = shlex.join(["npx", INSPECTOR, "--cli", url, "--transport", "http"])
    return (
        f"{_set_token(token)}Run for its page:\n\n{page}{header}"
        f"\n\nor for one call:\n\n{call}{header} --method tools/list"
    )


def _claude_code(command: list[str]) -> str:
    add = shlex.join(["claude", "mcp", "add", "--transport", "stdio", NAME, "--", *command])
    return f"Run:\n\n{add}\n\nor write into .mcp.json:\n\n{_stdio(command, type='stdio')}"


def _claude_code_url(url: str, token: bool) -> str:
    server = _servers({"type": "http", "url": url, **_headers(token, f"${{{TOKEN_VARIABLE}}}")})
    return f"{_set_token(token)}Write into .mcp.json:\n\n{server}"


def _fastmcp(command: list[str]) -> str:
    return (
        "Write into a program:\n\nfrom fastmcp import Client\nfrom fastmcp.client.transports import StdioTransport\n\n"
        f"client = Client(StdioTransport({command[0]!r}, {command[1:]!r}))"
    )


def _fastmcp_url(url: str, token: bool) -> str:
    if not token:
        return f"Write into a program:\n\nfrom fastmcp import Client\n\nclient = Client({url!r})"
    return (
        f"{_set_token(token)}Write into a program:\n\nimport os\n\nfrom fastmcp import Client\n\n"
        f"client = Client({url!r}, auth=os.environ[{TOKEN_VARIABLE!r}])"
    )


def _codex(command: list[str]) -> str:
    add = shlex.join(["codex", "mcp", "add", NAME, "--", *command])
    table = f"[mcp_servers.{NAME}]\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}"
    return f"Run:\n\n{add}\n\nor write into ~/.codex/config.toml:\n\n{table}"


def _codex_url(url: str, token: bool) -> str:
    table = f"[mcp_servers.{NAME}]\nurl = {json.dumps(url)}"
    if token:
        table += f"\nbearer_token_env_var = {json.dumps(TOKEN_VARIABLE)}"
    return f"{_set_token(token)}Write into ~/.codex/config.toml:\n\n{table}"


def _gemini(command: list[str]) -> str:
    return f"Write into ~/.gemini/settings.json:\n\n{_stdio(command)}"


def _gemini_url(url: str, token: bool) -> str:
    server = _servers({"httpUrl": url, **_headers(token, f"${TOKEN_VARIABLE}")})
    return f"{_set_token(token)}Write into ~/.gemini/settings.json:\n\n{server}"


def _claude_desktop(command: list[str]) -> str:
    return (
        "Write into claude_desktop_config.json (Settings, Developer, Edit Config), and start Claude Desktop "
        f"again:\n\n{_stdio(command)}"
    )


def _claude_desktop_url(_url: str, _token: bool) -> str:
    raise SettingsError(
        "Claude Desktop's configuration file starts servers, and calls none by URL",
        "leave out --url, or use another client",
    )


CLIENTS: dict[str, tuple[Callable[[list[str]], str], Callable[[str, bool], str]]] = {
    "inspector": (_inspector, _inspector_url),
    "claude-code": (_claude_code, _claude_code_url),
    "fastmcp": (_fastmcp, _fastmcp_url),
    "codex": (_codex, _codex_url),
    "gemini": (_gemini, _gemini_url),
    "claude-desktop": (_claude_desktop, _claude_desktop_url),
}
"""By client: what to do with a command, and with a URL that takes a token or none."""
