"""What `mcp-mimic serve` is told: which store, whose chart, where the audit goes, how it is reached, who reads.

Each setting comes from the command line, else from the environment (`MCP_MIMIC_<NAME>`), else from the
settings file, else it has its default. None of them is a secret: keys are named by their files.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ByteSize, ConfigDict, Field, ValidationError

from mcp_mimic.contract import Grant
from mcp_mimic.errors import SettingsError
from mcp_mimic.governance.grant import grant_from_flags, read_grant
from mcp_mimic.governance.readers import NamedReader
from mcp_mimic.text.slips import first_slip

PREFIX = "MCP_MIMIC_"
FILE_VARIABLE = "MCP_MIMIC_SETTINGS"
DEFAULT_FILE = "mcp-mimic/settings.toml"
"""Below XDG_CONFIG_HOME, or ~/.config. Never the working folder: what a client opens there is not the operator's word."""

TOKEN_KEY_FILE = "token.key"  # noqa: S105 a file's name


class ServeSettings(BaseModel):
    """One server's settings, by the names that the environment and the settings file use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: Path | None = Field(default=None, description="Folder of the store.")
    grant: Path | None = Field(default=None, description="Grant file (JSON): one session.")
    grants: Path | None = Field(
        default=None,
        description="Folder of grants by their ids: many sessions, each with a bearer token of `mcp-mimic grant`.",
    )
    token_key: Path | None = Field(
        default=None,
        description="File of the key that signs the tokens; by default token.key among the grants.",
    )
    patient: int | None = Field(
        default=None, description="Subject whose chart is served, instead of a grant."
    )
    as_of: str | None = Field(default=None, description="The moment to be at, e.g. 2150-03-04T14:00:00.")
    sealed_hadm_id: int | None = Field(
        default=None, description="Admission whose summary and codes stay hidden."
    )
    audit: Path | None = Field(
        default=None, description="Folder for audits and reports; without it, one session keeps neither."
    )
    corpus: Path | None = Field(default=None, description="Folder of policy documents.")
    readers: tuple[NamedReader, ...] = Field(
        default=(),
        description="Models that may read a credentialed store, each with its agreement: MODEL=AGREEMENT, or a "
        "table with model and agreement.",
    )
    http: bool = Field(default=False, description="Streamable HTTP at /mcp instead of stdio.")
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 for any free one.")
    allow_hosts: tuple[str, ...] = Field(
        default=(),
        description="Names that clients use in the Host header, besides localhost and the address.",
    )
    connections: int = Field(
        default=128,
        ge=2,
        description="Connections at once; whoever comes beyond them is told to come back (503), so that together "
        "they fill no memory.",
    )
    slices: int = Field(default=16, ge=1, description="Charts in memory at once, with grants.")
    slice_memory: ByteSize = Field(
        default=ByteSize(1_000_000_000),
        ge=0,
        description="Bytes of charts in memory at once, with grants; charts in use are never put out.",
    )
    stop_seconds: int = Field(
        default=30, ge=0, description="How long calls in flight may take to finish after SIGTERM."
    )
    log: Literal["auto", "json", "text"] = Field(
        default="auto", description="Form of the log on stderr; auto is text on a terminal, else JSON lines."
    )

    def store_folder(self) -> Path:
        """The store; SettingsError if none is named."""
        if self.store is None:
            raise SettingsError("no store is named", "give --store DIR")
        return self.store

    def chosen_grant(self, command: str = "serve") -> Grant:
        """The grant of a server of one session; SettingsError if the settings name none or two.

        What is wrong with a flag points to the help of `command`.
        """
        self._require_one_source()
        if self.grant is not None:
            return read_grant(self.grant)
        if self.patient is None or self.as_of is None:
            raise SettingsError(
                "no grant, no chart",
                "give --grant FILE, or --patient SUBJECT and --as-of TIME, or --grants DIR for many sessions",
            )
        return grant_from_flags(self.patient, self.as_of, self.sealed_hadm_id, command=command)

    def grants_folder(self) -> Path:
        """The folder of grants of a server of many sessions; SettingsError if it lacks what that needs."""
        self._require_one_source()
        if self.grants is None:
            raise SettingsError("no folder of grants is named", "give --grants DIR")
        if not self.http:
            raise SettingsError(
                "bearer tokens travel over HTTP, and stdio has one session",
                "add --http, or give --grant FILE",
            )
        if self.audit is None:
            raise SettingsError(
                "the limits of many sessions are kept in their audits", "name a folder with --audit"
            )
        return self.grants

    def key_file(self) -> Path:
        """The file of the key that signs tokens."""
        if self.token_key is not None:
            return self.token_key
        return (self.grants or Path()) / TOKEN_KEY_FILE

    def _require_one_source(self) -> None:
        flags = any(flag is not None for flag in (self.patient, self.as_of, self.sealed_hadm_id))
        if sum((self.grant is not None, self.grants is not None, flags)) > 1:
            raise SettingsError(
                "two settings say whose chart is served",
                "give one of --grant FILE, --grants DIR, and --patient with --as-of; see mcp-mimic settings",
            )


@dataclass(frozen=True)
class Found:
    """Settings, and where each that has not its default came from: a flag, a variable, or the file."""

    settings: ServeSettings
    origins: Mapping[str, str]


def read_settings(flags: Mapping[str, Any], environment: Mapping[str, str]) -> Found:
    """The settings that flags, environment and file give together; SettingsError names what cannot be used.

    `flags` holds those that were given, by setting; `settings` among them names the file.
    """
    given = {name: value for name, value in flags.items() if value is not None and name != "settings"}
    layers = [
        {name: (value, flag_of(name)) for name, value in given.items()},
        dict(_from_environment(environment)),
        dict(_from_file(_file(flags.get("settings"), environment))),
    ]
    merged = {name: layer[name] for layer in reversed(layers) for name in layer}
    origins = {name: origin for name, (_, origin) in merged.items()}
    values = {name: value for name, (value, _) in merged.items()}
    try:
        settings = ServeSettings.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        slip = first_slip(error, ServeSettings, values)
        told = slip.problem if problem["type"] == "value_error" else slip.remedy  # without the value
        place = origins.get(str(problem["loc"][0]), str(problem["loc"][0]))
        raise SettingsError(
            f"{place}: {told}",
            "see docs/reference/settings.md, and mcp-mimic settings for where each comes from",
        ) from error
    return Found(settings, origins)


def flag_of(name: str) -> str:
    """The option of `mcp-mimic serve` for a setting."""
    singular = {"readers": "reader", "allow_hosts": "allow-host"}
    return f"--{singular.get(name, name.replace('_', '-'))}"


def _from_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, tuple[Any, str]]]:
    """A list is JSON, or its only item; an empty variable is none."""
    for variable in sorted(environment):
        text = environment[variable]
        if not variable.startswith(PREFIX) or variable == FILE_VARIABLE or not text:
            continue
        name = variable.removeprefix(PREFIX).lower()
        _require_known(name, variable)
        yield name, (_item_or_list(text, variable) if name in _LISTS else text, variable)


_LISTS = frozenset({"readers", "allow_hosts"})


def _item_or_list(text: str, variable: str) -> Any:
    if not text.lstrip().startswith("["):
        return [text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{variable}: not JSON", 'write it as a JSON list, such as ["a", "b"]') from error


def _file(flag: Path | None, environment: Mapping[str, str]) -> Path | None:
    if flag is not None:
        return flag
    if environment.get(FILE_VARIABLE):
        return Path(environment[FILE_VARIABLE])
    home = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '/nonexistent')}/.config"
    default = Path(home) / DEFAULT_FILE
    return default if default.is_file() else None


def _from_file(file: Path | None) -> Iterator[tuple[str, tuple[Any, str]]]:
    """Paths in the file are relative to its folder."""
    if file is None:
        return
    remedy = "name a readable TOML file with --settings"
    try:
        values = tomllib.loads(file.read_bytes().decode())
    except OSError as error:
        raise SettingsError(f"settings file {file} cannot be read: {error.strerror}", remedy) from error
    except ValueError as error:
        raise SettingsError(f"settings file {file} is not TOML: {error}", "mend it there") from error
    for name, value in values.items():
        _require_known(name, f"{file}: {name[:40]}")
        is_path = ServeSettings.model_fields[name].annotation == Path | None
        usable = file.parent / Path(value).expanduser() if is_path and isinstance(value, str) else value
        yield name, (usable, f"{file}: {name}")


def _require_known(name: str, where: str) -> None:
    if name not in ServeSettings.model_fields:
        raise SettingsError(
            f"{where}: there is no such setting", f"the settings are {', '.join(ServeSettings.model_fields)}"
        )
