"""Sign-offs: which clinicians stand behind a scenario, as it reads now, and on what charts they judged it.

`signoff.toml` lies in a scenario's folder and names the version and the content that was signed. Content is
everything that decides or judges an answer: all files of the folder but plants.toml, the shared definitions that
its SQL calls, and the instruction that all scenarios share. Whatever changes there, the sign-off lapses. It has a review for each packet that was signed;
`shortcoming` says what a review must have to count.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from harness.data import data_folder
from harness.errors import ScenarioError
from harness.rubric import DataModel, Text
from harness.words import counted
from mcp_mimic.text.counts import agree
from mcp_mimic.text.slips import first_slip

SIGNOFF_FILE = "signoff.toml"
LEAST_CASES = 8
"""Cases of a scenario that a review must have read to count: a rule of ours, and the sample of a packet by default."""

CHARTS = {
    "synthetic": "synthetic charts",
    "open": "charts of an open release",
    "credentialed": "charts of a credentialed release",
}
"""What a reader judged, by the store's classification."""

_ZONES = timedelta(days=1)
"""Dates of two places may differ by a day."""

_CONTENT = (
    "scenario.toml",
    "cohort.sql",
    "adjudicate.sql",
    "evidence.sql",
    "rubrics.toml",
    "policy_rubrics.toml",
)
_DIGEST = r"^sha256:[0-9a-f]{64}$"
_REMEDY = "correct it, or remove it: the scenario then counts as unsigned"
_MACRO = re.compile(r"^create or replace temp macro (\w+)\(", re.MULTILINE)
_DEFINITIONS = {
    "cohort": ("cohort.sql",),
    "adjudication": ("adjudicate.sql", "evidence.sql", "scenario.toml"),
}
"""Each file of shared definitions, and the files of a scenario that may call them."""


class Reviewer(DataModel):
    """Who signed and when, how many of the reader's verdicts were the labels', and the others that were settled."""

    name: Text
    role: Text
    date: date
    agreed: int = Field(ge=0)
    settled: tuple[Text, ...] = ()


class Review(DataModel):
    """What came of one packet: the packet, when and of which store it was made, its cases by label, who signed."""

    packet: str = Field(pattern=_DIGEST)
    made: date
    store: Text
    classification: Literal["synthetic", "open", "credentialed"]
    cases: dict[Text, Annotated[int, Field(ge=0)]]
    reviewer: tuple[Reviewer, ...] = Field(min_length=1)


class SignOff(DataModel):
    """A scenario's signoff.toml."""

    scenario: Text
    version: int = Field(ge=1)
    content: str = Field(pattern=_DIGEST)
    review: tuple[Review, ...] = Field(min_length=1)


@dataclass(frozen=True)
class Signer:
    """Who signed, with role and date, and the classification of the store whose charts were judged."""

    said: str
    classification: str

    def __str__(self) -> str:
        return f"{self.said} on {CHARTS[self.classification]}"


@dataclass(frozen=True)
class Standing:
    """Whose sign-off holds, and whose has lapsed because the scenario changed since."""

    signed: tuple[Signer, ...] = ()
    lapsed: tuple[Signer, ...] = ()


def standing_of(folder: Path, version: int, classes: Collection[str]) -> Standing:
    """What the sign-off in a scenario's folder is worth for this version, whose mix wants these classes.

    ScenarioError if it cannot be read, or if a review of it does not count.
    """
    file = folder / SIGNOFF_FILE
    signoff = read_signoff(file)
    if signoff is None:
        return Standing()
    if signoff.scenario != folder.name:
        raise ScenarioError(f"{file}: it is the sign-off of {signoff.scenario}", "move it to that scenario")
    signers = tuple(
        Signer(f"{one.name} ({one.role}, {one.date.isoformat()})", review.classification)
        for review in signoff.review
        for one in review.reviewer
    )
    if (signoff.version, signoff.content) != (version, content_digest(folder)):
        return Standing(lapsed=signers)
    for review in signoff.review:
        if lacking := shortcoming(review, classes):
            raise ScenarioError(f"{file}: it does not count: {lacking}", _REMEDY)
    return Standing(signed=signers)


def shortcoming(review: Review, classes: Collection[str]) -> str | None:
    """Why a review does not count for a scenario whose mix wants these classes; None if it does.

    It needs LEAST_CASES cases, one at least of each class; two readers of different names;
    dates that are neither before the packet nor to come; and no open difference between a reader and the label.
    """
    count = sum(review.cases.values())
    if count < LEAST_CASES:
        return f"its packet held {counted(count, 'case')}, and a sign-off needs {LEAST_CASES}"
    if absent := [name for name in classes if not review.cases.get(name)]:
        return f"its packet held no case of the class {absent[0]}"
    if len({" ".join(one.name.casefold().split()) for one in review.reviewer}) < 2:
        return f"only {review.reviewer[0].name} signed, and a sign-off needs two different readers"
    today = datetime.now(UTC).date()
    for one in review.reviewer:
        if not review.made - _ZONES <= one.date <= today + _ZONES:
            when = (
                f"before its packet was made ({review.made})" if one.date < review.made else "in the future"
            )
            return f"the date of {one.name}, {one.date}, lies {when}"
        if left := count - one.agreed - len(set(one.settled)):
            open_ones = counted(abs(left), "difference")
            return f"{open_ones} between {one.name} and the label {agree(abs(left), 'is', 'are')} not settled"
    return None


def counts_for(signed_on: str, classification: str) -> bool:
    """Whether charts of one classification, once judged, sign labels of another: synthetic ones only their own."""
    return signed_on != "synthetic" or classification == "synthetic"


def read_signoff(path: Path) -> SignOff | None:
    """A sign-off; None if there is no such file, ScenarioError if it is none."""
    if not path.exists():
        return None
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return SignOff.model_validate(data)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path} cannot be read: {error}", _REMEDY) from error
    except ValidationError as error:
        raise ScenarioError(f"{path}: {first_slip(error, SignOff, data)}", _REMEDY) from error


def write_signoff(signoff: SignOff, path: Path) -> None:
    """Write a sign-off as TOML."""
    lines = [
        f"scenario = {_quoted(signoff.scenario)}",
        f"version = {signoff.version}",
        f"content = {_quoted(signoff.content)}",
    ]
    for review in signoff.review:
        cases = ", ".join(f"{_quoted(name)} = {count}" for name, count in review.cases.items())
        lines += [
            "",
            "[[review]]",
            f"packet = {_quoted(review.packet)}",
            f"made = {review.made.isoformat()}",
            f"store = {_quoted(review.store)}",
            f"classification = {_quoted(review.classification)}",
            f"cases = {{ {cases} }}",
        ]
        for one in review.reviewer:
            lines += [
                "",
                "[[review.reviewer]]",
                f"name = {_quoted(one.name)}",
                f"role = {_quoted(one.role)}",
                f"date = {one.date.isoformat()}",
                f"agreed = {one.agreed}",
                f"settled = [{', '.join(map(_quoted, one.settled))}]",
            ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def content_digest(folder: Path) -> str:
    """Over what a sign-off of this scenario stands for."""
    total = sha256()
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in _CONTENT}
    shared = (data_folder("docker") / "task" / "instruction.md").read_text(encoding="utf-8")
    for name, text in (texts | {"instruction.md": shared}).items():
        total.update(f"{name}\0{sha256(text.encode()).hexdigest()}\n".encode())
    for definitions, callers in _DEFINITIONS.items():
        file = data_folder("scenarios") / "definitions" / f"{definitions}.sql"
        parts = _MACRO.split(re.sub(r"^\s*--.*$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE))
        macros = dict(zip(parts[1::2], parts[2::2], strict=True))
        for name in _called("\n".join(texts[caller] for caller in callers), macros):
            total.update(f"{name}\0{sha256(macros[name].strip().encode()).hexdigest()}\n".encode())
    return f"sha256:{total.hexdigest()}"


def _called(text: str, macros: Mapping[str, str]) -> list[str]:
    """The macros that a text calls, those that they call in turn included, by name."""
    found: set[str] = set()
    texts = [text]
    while texts:
        one = texts.pop()
        new = {name for name in macros.keys() - found if re.search(rf"\b{name}\s*\(", one)}
        found |= new
        texts += [macros[name] for name in new]
    return sorted(found)


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
