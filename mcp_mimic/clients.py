"""How MCP clients reach this server: the command and the configuration of each, ready to be pasted.

A client starts its own server over stdio, or calls one that runs with grants over HTTP. In the latter case the
token is named by a variable of the client's environment, and never written out.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.grant import bind_to_store
from mcp_mimic.governance.readers import require_readers
from mcp_mimic.settings import ServeSettings, flag_of
from mcp_mimic.store.store import Store

NAME = "mimic"
TOKEN_VARIABLE = "MIMIC_TOKEN"  # noqa: S105 a variable's name

_PASSED_ON = (
    "store", "grant", "patient", "as_of", "sealed_hadm_id", "audit", "corpus", "readers",
)  # fmt: skip


def configuration(client: str, settings: ServeSettings, url: str | None = None) -> str:
    """What to do for `client`, as text; with `url`, for a server that is running with grants.

    SettingsError for an unknown client, one that cannot call a URL, or a credentialed store without readers.
    """
    if client not in CLIENTS:
        raise SettingsError(
            f"{client[:40]!r} is no client that is known here", f"name one of {', '.join(CLIENTS)}"
        )
    store = Store.open(settings.store_folder())
    require_readers(store.path, store.manifest.classification, settings.readers)
    if url is not None:
        if not url.startswith(("http://", "https://")):
            raise SettingsError(
                f"{url[:60]!r} is not the URL of a server", "give one as http://host:8000/mcp"
            )
        return CLIENTS[client][1](url)
    bind_to_store(settings.chosen_grant(), store.manifest.fingerprint)
    return CLIENTS[client][0](serve_command(settings))


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


def _set_token() -> str:
    return f"Set {TOKEN_VARIABLE} to the token of `mcp-mimic grant` in the client's environment."


def _inspector(command: list[str]) -> str:
    # The options of the server stand behind --, so that the inspector does not take them for its own.
    shown = [command[0], command[1], "--", *command[2:]]
    return f"Run:\n\n{shlex.join(['npx', '@modelcontextprotocol/inspector', *shown])}"


def _inspector_url(url: str) -> str:
    address = shlex.join(
        ["npx", "@modelcontextprotocol/inspector", "--transport", "http", "--server-url", url]
    )
    return f'{_set_token()} Run:\n\n{address} --header "Authorization: Bearer ${TOKEN_VARIABLE}"'


def _claude_code(command: list[str]) -> str:
    add = shlex.join(["claude", "mcp", "add", "--transport", "stdio", NAME, "--", *command])
    return f"Run:\n\n{add}\n\nor write into .mcp.json:\n\n{_stdio(command, type='stdio')}"


def _claude_code_url(url: str) -> str:
    headers = {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}"}
    server = _servers({"type": "http", "url": url, "headers": headers})
    return f"{_set_token()} Write into .mcp.json:\n\n{server}"


def _codex(command: list[str]) -> str:
    add = shlex.join(["codex", "mcp", "add", NAME, "--", *command])
    table = f"[mcp_servers.{NAME}]\ncommand = {json.dumps(command[0])}\nargs = {json.dumps(command[1:])}"
    return f"Run:\n\n{add}\n\nor write into ~/.codex/config.toml:\n\n{table}"


def _codex_url(url: str) -> str:
    table = (
        f"[mcp_servers.{NAME}]\nurl = {json.dumps(url)}\nbearer_token_env_var = {json.dumps(TOKEN_VARIABLE)}"
    )
    return f"{_set_token()} Write into ~/.codex/config.toml:\n\n{table}"


def _gemini(command: list[str]) -> str:
    return f"Write into ~/.gemini/settings.json:\n\n{_stdio(command)}"


def _gemini_url(url: str) -> str:
    server = _servers({"httpUrl": url, "headers": {"Authorization": f"Bearer ${TOKEN_VARIABLE}"}})
    return f"{_set_token()} Write into ~/.gemini/settings.json:\n\n{server}"


def _claude_desktop(command: list[str]) -> str:
    return (
        "Write into claude_desktop_config.json (Settings, Developer, Edit Config), and start Claude Desktop "
        f"again:\n\n{_stdio(command)}"
    )


def _claude_desktop_url(_: str) -> str:
    raise SettingsError(
        "Claude Desktop's configuration file starts servers, and calls none by URL",
        "leave out --url, or use another client",
    )


CLIENTS: dict[str, tuple[Callable[[list[str]], str], Callable[[str], str]]] = {
    "inspector": (_inspector, _inspector_url),
    "claude-code": (_claude_code, _claude_code_url),
    "codex": (_codex, _codex_url),
    "gemini": (_gemini, _gemini_url),
    "claude-desktop": (_claude_desktop, _claude_desktop_url),
}
"""By client: what to do with a command, and with a URL."""
