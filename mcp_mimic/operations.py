"""The reference pages of settings, commands and errors, made from the code."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import typer
from pydantic.fields import FieldInfo

from mcp_mimic.codes import CALLS, COMMANDS, EVENTS, TOKENS, is_refusal
from mcp_mimic.commands.app import app
from mcp_mimic.logs import FIELDS
from mcp_mimic.settings import DEFAULT_FILE, FILE_VARIABLE, PREFIX, ServeSettings, flag_of

_MADE = "Made from the code by `just docs`."
_TYPES = {
    "Path | None": "path",
    "str | None": "text",
    "int | None": "whole number",
    "<class 'str'>": "text",
    "<class 'int'>": "whole number",
    "<class 'bool'>": "true or false",
    "<class 'pydantic.types.ByteSize'>": "size, such as 1GB",
}


def settings_page() -> str:
    """Every setting of `mcp-mimic serve`, its names, type and default."""
    lines = [
        "# Settings",
        "",
        f"{_MADE} `mcp-mimic settings` shows the values that hold now, and where each comes from.",
        "",
        "The first of these that gives a setting counts: the option of `mcp-mimic serve`; the variable "
        f"`{PREFIX}<NAME>` of the environment, unless it is empty; the settings file (TOML); the default. The file "
        f"is the one that `--settings` or `{FILE_VARIABLE}` names, else `$XDG_CONFIG_HOME/{DEFAULT_FILE}` or "
        f"`~/.config/{DEFAULT_FILE}` where that exists. The working folder is never searched for one: a client may "
        "have been started in a folder that somebody else wrote. Paths in the file are relative to it. A variable "
        "for a list holds JSON, or its only item. A name that is no setting is refused, in the file as in the "
        "environment. No setting is a secret: the key that signs tokens is named by its file.",
        "",
        *_table(
            ("setting", "option", "type", "default", "meaning"),
            (_setting(name, field) for name, field in ServeSettings.model_fields.items()),
        ),
        "",
        "```toml",
        "# settings.toml",
        'store = "/secure/store"',
        'audit = "/secure/audits"',
        'readers = [{model = "local-model", agreement = "runs on our own machines"}]',
        "```",
    ]
    return "\n".join(lines) + "\n"


def commands_page() -> str:
    """Every command of `mcp-mimic` with its arguments and options."""
    return describe_commands("Commands", "mcp-mimic", app)


def describe_commands(title: str, program: str, commands: typer.Typer) -> str:
    """The page of a program's commands: what each does, an example, its arguments and options."""
    lines = [
        f"# {title}",
        "",
        f"{_MADE} A command ends with 0 when it did its work, 1 when the work failed, 2 where it could not begin "
        "and 130 when it was interrupted. What it found goes to stdout, all else to stderr.",
        "",
    ]
    for name, command in _commands(program, typer.main.get_command(commands)):
        lines += [f"## {name}", "", *_prose(command.help or ""), ""]
        if rows := [_parameter(parameter) for parameter in command.params if parameter.name != "help"]:
            lines += [*_table(("argument", "meaning"), rows), ""]
    return "\n".join(lines).rstrip() + "\n"


def errors_page() -> str:
    """Every code of a refusal or an error, and every event of the log."""
    answers = (
        (f"`{code}`", "refused" if is_refusal(code) else "error", what) for code, what in CALLS.items()
    )
    lines = [
        "# Errors",
        "",
        f"{_MADE}",
        "",
        "## Calls",
        "",
        "A call that is not answered has `is_error`, and `error` with one of these codes, a sentence and a remedy. "
        "The audit writes the code as the call's rule.",
        "",
        *_table(("code", "outcome", "meaning"), answers),
        "",
        "## Over HTTP",
        "",
        *_table(("status", "when"), _STATUSES),
        "",
        "Why a token was refused stands in the log only, at most ten times a second:",
        "",
        *_meanings("reason", TOKENS),
        "",
        "## Commands",
        "",
        "A command says what is wrong and what to do, a line each. In the log of a server with grants, these are "
        "the reasons why a session could not be opened.",
        "",
        *_meanings("code", COMMANDS),
        "",
        "## The log",
        "",
        "JSON lines on stderr, or text on a terminal: `time`, `level`, `event`, and of these what applies: "
        f"{', '.join(f'`{field}`' for field in FIELDS)}. No argument and no value of a record is ever among them. "
        "Refused calls are told at most ten times a second for each session.",
        "",
        *_meanings("event", EVENTS),
    ]
    return "\n".join(lines) + "\n"


_STATUSES = (
    ("200", "a call was answered, refused or in error: see its content"),
    ("401", "with grants: no token, or none that gives access; always the same bytes"),
    ("403, 421", "a web page's origin, or a name in the Host header, that is not allowed"),
    ("`/health` 200", "the process answers"),
    ("`/ready` 200, 503", "a call could be answered now, or not and why: looked at once a second at most"),
)


def _setting(name: str, field: FieldInfo) -> tuple[str, ...]:
    kind = str(field.annotation).replace("pathlib.", "")
    choices = [f"`{value}`" for value in getattr(field.annotation, "__args__", ()) if isinstance(value, str)]
    shown = ", ".join(choices) or _TYPES.get(kind, "list")
    default = "-" if field.default is None or field.default == () else f"`{field.default}`".lower()
    option = "--http/--stdio" if name == "http" else flag_of(name)
    return f"`{name}`", f"`{option}`", shown, default, field.description or ""


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    if not inner:
        yield path, command
    for name in inner:
        yield from _commands(f"{path} {name}", inner[name])


def _prose(text: str) -> list[str]:
    description, *examples = text.strip().split("Example: ")
    return [description.strip(), "", "```", *(example.strip() for example in examples), "```"]


def _parameter(parameter: Any) -> tuple[str, str]:
    named = parameter.metavar or parameter.name.upper()
    needed = " Required." if parameter.required else ""
    if parameter.envvar:
        before = " Required, or" if parameter.required else " Or"
        needed = f"{before} `{parameter.envvar}` of the environment."
    if parameter.param_type_name == "argument":
        return f"`{named}`", f"{parameter.help}{needed}"
    names = "/".join([*parameter.opts, *parameter.secondary_opts])
    takes = "" if parameter.is_flag else f" {named}"
    told = getattr(parameter, "show_default", None)  # in words, where the value does not say it
    default = told if isinstance(told, str) else parameter.default
    shown = "" if default in (None, False) or callable(default) else f" By default {default}."
    return f"`{names}{takes}`", f"{parameter.help or ''}{needed}{shown}"


def _meanings(head: str, codes: Mapping[str, str]) -> list[str]:
    return _table((head, "meaning"), ((f"`{code}`", what) for code, what in codes.items()))


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(heads), line("---" for _ in heads), *(line(row) for row in rows)]
