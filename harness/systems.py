"""The systems under test: what `systems.toml` and a user's own systems file declare."""

import difflib
import importlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import UnknownSystemError

_BUILT_IN = Path(__file__).with_name("systems.toml")


class System(BaseModel):
    """One system: how it is called, how it runs, and whether it is a contestant or an instrument."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tag: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)
    runner: Literal["direct"]
    agent: str = Field(pattern=r"^[\w.]+:\w+$")
    about: str
    instrument: bool = False
    sees_gold: bool = False

    @model_validator(mode="after")
    def _only_instruments_see_gold(self) -> "System":
        if self.sees_gold and not self.instrument:
            raise ValueError(f"{self.tag}: only an instrument may see the gold")
        return self

    def create(self) -> object:
        """A fresh agent of this system: an Instrument if it sees the gold, else an Agent.

        UnknownSystemError if its class is not to be had or has not the method that is called.
        """
        module, _, name = self.agent.partition(":")
        try:
            factory = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise UnknownSystemError(
                f"system {self.tag}: {self.agent} cannot be loaded ({error})",
                "name an importable module:class in the systems file; PYTHONPATH=. finds modules beside you",
            ) from error
        method = "answer_knowing" if self.sees_gold else "answer"
        if not callable(getattr(factory, method, None)):
            raise UnknownSystemError(
                f"system {self.tag}: {self.agent} has no method {method}",
                "harness/agents/base.py says what an agent is; an instrument that sees the gold has answer_knowing",
            )
        agent: object = factory()
        return agent


class _SystemsFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    system: list[System]


def load_systems(extra: Path | None = None) -> dict[str, System]:
    """All known systems by tag: the built-in ones and those of the user's file, which may not reuse a tag."""
    systems = {system.tag: system for system in _read(_BUILT_IN)}
    for system in _read(extra) if extra else ():
        if system.tag in systems:
            raise UnknownSystemError(
                f"{extra}: system {system.tag} exists already", "give it a tag of its own"
            )
        systems[system.tag] = system
    return systems


def choose_systems(tags: Sequence[str], extra: Path | None = None) -> list[System]:
    """The systems that `tags` name, in that order; UnknownSystemError names what was probably meant."""
    known = load_systems(extra)
    if not tags:
        raise UnknownSystemError("no system is named", f"name one or more of: {', '.join(known)}")
    for tag in tags:
        if tag not in known:
            close = difflib.get_close_matches(tag, known, n=2, cutoff=0.5)
            meant = f"did you mean {' or '.join(close)}? " if close else ""
            raise UnknownSystemError(f"unknown system {tag!r}", f"{meant}known systems: {', '.join(known)}")
    return [known[tag] for tag in dict.fromkeys(tags)]


def _read(path: Path) -> list[System]:
    try:
        return _SystemsFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).system
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UnknownSystemError(
            f"systems file {path} cannot be read: {error}", "name a TOML file of [[system]] tables"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UnknownSystemError(
            f"systems file {path}: {where}: {first['msg']}",
            "each [[system]] has tag, runner, agent, about, and may have instrument and sees_gold",
        ) from error
