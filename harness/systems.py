"""The systems under test: what `systems.toml` and a user's own systems file declare."""

import importlib
import importlib.util
import inspect
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from harness.digests import digest_bytes
from harness.errors import UnknownSystemError
from harness.place import PLACES, Place
from mcp_mimic.text.near import did_you_mean
from mcp_mimic.text.slips import Slip, first_slip

_BUILT_IN = Path(__file__).with_name("systems.toml")
_RULES = {
    "tag": "a tag is lower-case letters and digits, in words joined by single dashes, 60 characters at most",
    "agent": "an agent is module:class, such as my_agent:MyAgent",
    "harbor": "harbor is a table with agent, and may have model, options, environment and compose",
    "harbor.agent": "an agent is Harbor's name of one, such as claude-code, or module:class",
    "harbor.model": "a model is text, such as provider/model",
    "harbor.options": "options are a table",
    "harbor.environment": 'environment is a table of text: NAME = "value"',
    "harbor.compose": 'compose is a list of files, such as ["model.yaml"]',
    "about": "about is a line of text",
    "instrument": "instrument is true or false",
    "sees_gold": "sees_gold is true or false",
}
"""What each key of a system must be, in words."""
_KEYS = (
    "each [[system]] has tag, about, agent or a [system.harbor] table, and may have instrument and sees_gold"
)
_HINTS = {"harbor.compose": "put it beside the systems file, or name it by its path from there"}
"""What to do about a key, where it is not plain from what keys there are."""


class HarborAgent(BaseModel):
    """An agent as Harbor runs it in a container.

    `agent` is Harbor's name of it or the module:class of one of your own, `model` as Harbor writes it
    (provider/model), `options` are the agent's own in Harbor, `environment` is set in its container, and
    `compose` names compose files, beside the systems file, that join each trial.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str = Field(pattern=r"^[\w.-]+(:\w+)?$")
    model: str | None = None
    options: dict[str, Any] = {}
    environment: dict[str, str] = {}
    compose: tuple[Path, ...] = ()

    @field_validator("compose")
    @classmethod
    def _beside_the_systems_file(cls, files: tuple[Path, ...], info: ValidationInfo) -> tuple[Path, ...]:
        """As absolute paths, where they are named in a systems file; a job's record holds such already."""
        if not info.context:
            return files
        found = tuple((info.context["folder"] / file).resolve() for file in files)
        for file in found:
            if not file.is_file():
                raise ValueError(f"there is no compose file {file}")
        return found


class System(BaseModel):
    """One system: how it is called, how it runs, and whether it is a contestant or an instrument.

    `agent` lets it run in this process, `harbor` in containers; one of them is needed, and it may have both.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tag: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)
    agent: str | None = Field(default=None, pattern=r"^[\w.]+:\w+$")
    harbor: HarborAgent | None = None
    about: str
    instrument: bool = False
    sees_gold: bool = False

    @model_validator(mode="after")
    def _only_instruments_see_gold(self) -> "System":
        if self.sees_gold and not self.instrument:
            raise ValueError(f"{self.tag}: only an instrument may see the gold")
        return self

    @model_validator(mode="after")
    def _runs_somewhere(self) -> "System":
        if self.agent is None and self.harbor is None:
            raise ValueError(f"{self.tag}: name an agent (module:class), or a [system.harbor] table")
        return self

    @property
    def places(self) -> tuple[Place, ...]:
        """Where it can run; the first is where it does if nothing else is asked for."""
        open_to: dict[Place, object] = {"direct": self.agent, "docker": self.harbor}
        return tuple(place for place, needed in open_to.items() if needed is not None)

    def place(self, environment: Place | None) -> Place:
        """Where it runs: in `environment` if one is asked for; UnknownSystemError if it cannot run there."""
        if environment is None:
            return self.places[0]
        if environment not in self.places:
            raise UnknownSystemError(
                f"system {self.tag} cannot run in {PLACES[environment]}",
                "leave --env out: each system then runs where it can",
            )
        return environment

    def create(self) -> object:
        """A fresh agent of this system: an Instrument if it sees the gold, else an Agent.

        UnknownSystemError if its class is not to be had, has not the method that is called, or cannot be made.
        """
        factory = self._class()
        method = "answer_knowing" if self.sees_gold else "answer"
        if not callable(getattr(factory, method, None)):
            raise UnknownSystemError(
                f"system {self.tag}: {self.agent} has no method {method}",
                "harness/agents/base.py says what an agent is; an instrument that sees the gold has answer_knowing",
            )
        if not inspect.iscoroutinefunction(getattr(factory, method)):
            raise UnknownSystemError(
                f"system {self.tag}: the method {method} of {self.agent} is no coroutine function",
                f"define it as `async def {method}`; harness/agents/base.py says what an agent is",
            )
        try:
            agent: object = factory()
        except (Exception, SystemExit) as error:
            raise UnknownSystemError(
                f"system {self.tag}: {self.agent} cannot be made ({_told(error)})",
                "its class is made without arguments; read settings from the environment",
            ) from error
        return agent

    def code_digest(self, place: Place) -> str:
        """sha256 over the file that defines the agent's class; empty if there is none, or it is Harbor's own."""
        if place == "direct":
            try:
                source = inspect.getsourcefile(self._class())
            except TypeError:
                source = None
        else:  # not imported: Harbor must not be before it is told how to behave
            source = _source(self.harbor.agent if self.harbor else "")
        return _digest_of([Path(source)] if source else [])

    def services_digest(self, place: Place) -> str:
        """sha256 over the compose files that join its trials; empty if there are none."""
        return _digest_of(self.harbor.compose if self.harbor and place != "direct" else ())

    def _class(self) -> Any:
        module, _, name = (self.agent or "").partition(":")
        try:
            loaded = importlib.import_module(module)
        except (Exception, SystemExit) as error:
            raise self._unloaded(error, _import_hint(module, error)) from error
        try:
            return getattr(loaded, name)
        except (Exception, SystemExit) as error:
            raise self._unloaded(error, _class_hint(loaded, name)) from error

    def _unloaded(self, error: BaseException, remedy: str) -> UnknownSystemError:
        return UnknownSystemError(
            f"system {self.tag}: {self.agent} cannot be loaded ({_told(error)})", remedy
        )


def _import_hint(module: str, error: BaseException) -> str:
    """What to do about a module that is not there, or that is there and fails itself."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing and f"{module}.".startswith(f"{missing}."):
        return "name an importable module:class; modules beside the systems file are found"
    if missing:
        return f"{module} was found, but not {missing}, which it imports: install that, or mend the import"
    if isinstance(error, ImportError):
        return f"{module} was found, but one of its own imports fails: mend that import, or install what it needs"
    return f"{module} was found, but fails while it is imported: mend it; python -c 'import {module}' shows where"


def _class_hint(module: ModuleType, name: str) -> str:
    own = [
        found
        for found, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    ]
    there = f"it has {', '.join(own)}" if own else "it has no class of its own"
    return f"{did_you_mean(name, own)} name a class of {module.__name__}: {there}".strip()


def _source(agent: str) -> str | None:
    """The file of the module in module:class, without importing it; None for a name of Harbor's."""
    module, colon, _ = agent.partition(":")
    try:
        spec = importlib.util.find_spec(module) if colon else None
    except (ImportError, ValueError):
        return None
    return spec.origin if spec and spec.has_location else None


def _digest_of(files: Sequence[Path]) -> str:
    if not files:
        return ""
    return digest_bytes(b"".join(file.read_bytes() for file in files))


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


class _SystemsFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    system: list[System]


def load_systems(extra: Path | None = None) -> dict[str, System]:
    """All known systems by tag: the built-in ones and those of the user's file, which may not reuse a tag.

    From then on, modules beside that file can be imported, in worker processes too.
    """
    systems = {system.tag: system for system in _read(_BUILT_IN)}
    if extra:
        _find_modules_in(extra.parent)
    for system in _read(extra) if extra else ():
        if system.tag in systems:
            raise UnknownSystemError(
                f"{extra}: system {system.tag} exists already", "give it a tag of its own"
            )
        systems[system.tag] = system
    return systems


def choose_systems(
    tags: Sequence[str], extra: Path | None = None, environment: Place | None = None
) -> list[System]:
    """The systems that `tags` name, in that order; UnknownSystemError names what was probably meant.

    It also names those that can run in `environment`, if one is asked for and one of `tags` cannot.
    """
    known = load_systems(extra)
    if not tags:
        raise UnknownSystemError("no system is named", f"name one or more of: {', '.join(known)}")
    for tag in tags:
        if tag not in known:
            raise UnknownSystemError(
                f"unknown system {tag!r}",
                f"{did_you_mean(tag, known, most=2)} known systems: {', '.join(known)}".strip(),
            )
    chosen = [known[tag] for tag in dict.fromkeys(tags)]
    unable = [system.tag for system in chosen if environment and environment not in system.places]
    if environment and unable:
        able = [system.tag for system in known.values() if environment in system.places]
        raise UnknownSystemError(
            f"{', '.join(unable)} cannot run in {PLACES[environment]}",
            f"these can: {', '.join(able)}; without --env each system runs where it can",
        )
    return chosen


def _read(path: Path) -> list[System]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UnknownSystemError(
            f"systems file {path} cannot be read: {error}", "name a TOML file of [[system]] tables"
        ) from error
    try:
        return _SystemsFile.model_validate(tables, context={"folder": path.parent}).system
    except ValidationError as error:
        problems = error.errors(include_url=False)
        first = next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])
        meant = _key_meant(first) if first["type"] == "extra_forbidden" else ""
        told = _in_words(first, first_slip(error, _SystemsFile, tables))
        raise UnknownSystemError(
            f"systems file {path}: {told}", f"{meant} {_hint(_key(first))}".strip()
        ) from error


def _in_words(problem: ErrorDetails, slip: Slip) -> str:
    """What is wrong with one key of one system; systems are counted from 1. `slip` says it of what has no rule here."""
    place, kind = problem["loc"], problem["type"]
    if len(place) < 2 and kind != "extra_forbidden":
        return "it has no [[system]] tables"
    where = f"system {int(place[1]) + 1}: " if len(place) > 1 else ""
    if kind == "extra_forbidden":
        return f"{where}unknown key {place[-1]}"
    if kind == "missing":
        return f"{where}{place[-1]} is missing"
    key = _key(problem)
    if kind == "value_error" or key not in _RULES:
        return where + slip.problem
    if key == "harbor.environment":  # of which no value is told, as it may be a key
        return f"{where}{'.'.join(map(str, place[2:]))} is no text, but {_RULES[key]}"
    return f"{where}{key} = {problem['input']!r}, but {_RULES[key]}"


def _key_meant(problem: ErrorDetails) -> str:
    """The question whether a key was meant that may stand where the unknown one does."""
    *table, key = problem["loc"]
    keys: dict[int, type[BaseModel]] = {0: _SystemsFile, 2: System, 3: HarborAgent}
    return did_you_mean(str(key), keys[len(table)].model_fields)


def _key(problem: ErrorDetails) -> str:
    """The key of a system that a problem is about: one of the system's own, or one of its harbor table's."""
    names = [part for part in problem["loc"][2:] if isinstance(part, str)]
    return ".".join(names[: 2 if names[:1] == ["harbor"] else 1])


def _hint(key: str) -> str:
    return _HINTS.get(key) or (_RULES["harbor"] if key.startswith("harbor.") else _KEYS)


def _find_modules_in(folder: Path) -> None:
    """Put the folder where Python looks for modules first, as it does with a script's own."""
    place = str(folder.resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
