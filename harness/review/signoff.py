"""Sign-offs: which clinicians stand behind a scenario, as it reads now.

`signoff.toml` lies in a scenario's folder and names the version and the content that was signed. Content is
everything that decides or judges an answer: all files of the folder but plants.toml, and the shared definitions
that its SQL calls. Whatever changes there, the sign-off lapses.
"""

import re
import tomllib
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path

from pydantic import Field, ValidationError

from harness.data import data_folder
from harness.errors import ScenarioError
from harness.rubric import DataModel, Text

SIGNOFF_FILE = "signoff.toml"
_CONTENT = (
    "scenario.toml",
    "cohort.sql",
    "adjudicate.sql",
    "evidence.sql",
    "rubrics.toml",
    "policy_rubrics.toml",
)
_MACRO = re.compile(r"^create or replace temp macro (\w+)\(", re.MULTILINE)
_DEFINITIONS = {
    "cohort": ("cohort.sql",),
    "adjudication": ("adjudicate.sql", "evidence.sql", "scenario.toml"),
}
"""Each file of shared definitions, and the files of a scenario that may call them."""


class Reviewer(DataModel):
    """Who signed and when, and how many of the reviewer's verdicts were the labels'."""

    name: Text
    role: Text
    date: date
    cases: int = Field(ge=0)
    agreed: int = Field(ge=0)


class SignOff(DataModel):
    """A scenario's signoff.toml."""

    scenario: Text
    version: int = Field(ge=1)
    content: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    reviewer: tuple[Reviewer, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Standing:
    """Whose sign-off holds, and whose has lapsed because the scenario changed since."""

    signed: tuple[str, ...] = ()
    lapsed: tuple[str, ...] = ()


def standing_of(folder: Path, version: int) -> Standing:
    """What the sign-off in a scenario's folder is worth for this version; ScenarioError if it cannot be read."""
    signoff = read_signoff(folder / SIGNOFF_FILE)
    if signoff is None:
        return Standing()
    if signoff.scenario != folder.name:
        raise ScenarioError(
            f"{folder / SIGNOFF_FILE}: it is the sign-off of {signoff.scenario}", "move it to that scenario"
        )
    names = tuple(f"{one.name} ({one.role}, {one.date.isoformat()})" for one in signoff.reviewer)
    holds = signoff.version == version and signoff.content == content_digest(folder)
    return Standing(signed=names) if holds else Standing(lapsed=names)


def read_signoff(path: Path) -> SignOff | None:
    """A sign-off; None if there is no such file, ScenarioError if it is none."""
    if not path.exists():
        return None
    remedy = "correct it, or remove it: the scenario then counts as unsigned"
    try:
        return SignOff.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path} cannot be read: {error}", remedy) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ScenarioError(f"{path}: {where}: {first['msg']}", remedy) from error


def write_signoff(signoff: SignOff, path: Path) -> None:
    """Write a sign-off as TOML."""
    lines = [
        f"scenario = {_quoted(signoff.scenario)}",
        f"version = {signoff.version}",
        f"content = {_quoted(signoff.content)}",
    ]
    for one in signoff.reviewer:
        lines += [
            "",
            "[[reviewer]]",
            f"name = {_quoted(one.name)}",
            f"role = {_quoted(one.role)}",
            f"date = {one.date.isoformat()}",
            f"cases = {one.cases}",
            f"agreed = {one.agreed}",
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def content_digest(folder: Path) -> str:
    """Over what a sign-off of this scenario stands for."""
    total = sha256()
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in _CONTENT}
    for name, text in texts.items():
        total.update(f"{name}\0{sha256(text.encode()).hexdigest()}\n".encode())
    for definitions, callers in _DEFINITIONS.items():
        file = data_folder("scenarios") / "definitions" / f"{definitions}.sql"
        parts = _MACRO.split(re.sub(r"^\s*--.*$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE))
        called = "\n".join(texts[caller] for caller in callers)
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if re.search(rf"\b{name}\s*\(", called):
                total.update(f"{name}\0{sha256(body.strip().encode()).hexdigest()}\n".encode())
    return f"sha256:{total.hexdigest()}"


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
