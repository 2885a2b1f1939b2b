"""What a review comes to: how far readers and labels agree, which cases are disputed, who signs what."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ReviewError
from harness.review.agreement import Agreement, agreement
from harness.review.answers import Reading, Signature
from harness.review.packet import SIGNATURE_FILE, PacketKey, reader_folder
from harness.review.signoff import (
    SIGNOFF_FILE,
    Review,
    Reviewer,
    SignOff,
    content_digest,
    read_signoff,
    shortcoming,
)
from harness.scenario import Scenario
from mcp_mimic.contract import VERDICTS

DISPUTED_FILE = "disputed.csv"
SIGNOFF_FOLDER = "signoff"


@dataclass(frozen=True)
class Compared:
    """Agreement of two raters over one scenario, or over `all` of them; raters are readers and the `label`."""

    scenario: str
    raters: tuple[str, str]
    agreement: Agreement


@dataclass(frozen=True)
class Disputed:
    """A case on which some reader and the label, or two readers, differ: each reader's verdict, empty if none."""

    task: str
    scenario: str
    label: str
    verdicts: Mapping[str, str]
    comments: Mapping[str, str]


def compare(key: PacketKey, readings: Sequence[Reading]) -> list[Compared]:
    """Each reader with the label and each pair of readers, by scenario and over all, where both have a verdict."""
    raters = {
        reading.reader: {case: a.verdict for case, a in reading.answers.items()} for reading in readings
    }
    raters["label"] = {case: one.label for case, one in key.cases.items()}
    names = [*sorted(raters.keys() - {"label"}), "label"]
    pairs = [(first, second) for place, first in enumerate(names) for second in names[place + 1 :]]
    found = []
    for scenario in (*key.scenarios, "all"):
        cases = [case for case, one in key.cases.items() if scenario in (one.scenario, "all")]
        for first, second in pairs:
            both = [
                (raters[first][c], raters[second][c])
                for c in cases
                if c in raters[first] and c in raters[second]
            ]
            if both:
                found.append(Compared(scenario, (first, second), agreement(both)))
    return found


def find_disputed(key: PacketKey, readings: Sequence[Reading]) -> list[Disputed]:
    """The disputed cases, by id."""
    found = []
    for case, one in sorted(key.cases.items()):
        verdicts = {r.reader: r.answers[case].verdict for r in readings if case in r.answers}
        if set(verdicts.values()) - {one.label}:
            comments = {r.reader: r.comments[case] for r in readings if case in r.comments}
            found.append(Disputed(case, one.scenario, one.label, verdicts, comments))
    return found


def write_disputed(disputed: Sequence[Disputed], readers: Sequence[str], path: Path) -> None:
    """Write disputed.csv, which `harness grade --without` reads: task, scenario, label, then the readers' columns."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [f"{what}_{reader}" for reader in readers for what in ("verdict", "comment")]
    writer.writerow(("task", "scenario", "label", *columns))
    for one in disputed:
        said = [table.get(r, "") for r in readers for table in (one.verdicts, one.comments)]
        writer.writerow((one.task, one.scenario, one.label, *said))
    path.write_text(text.getvalue(), encoding="utf-8")


def sign_offs(
    path: Path, key: PacketKey, readings: Sequence[Reading], scenarios: Sequence[Scenario]
) -> tuple[list[SignOff], list[str]]:
    """A sign-off of each scenario that readers sign, and why others are refused: place, reason, remedy.

    Reviews of other packets that the scenario's present sign-off has, and that hold, are kept in it.
    """
    known = {scenario.id: scenario for scenario in scenarios}
    signatures = [(reading, s) for reading in readings if (s := reading.signature) is not None]
    found, refused = [], []
    for name in sorted({scenario for _, signature in signatures for scenario in signature.signed}):
        signing = [(reading, signature) for reading, signature in signatures if name in signature.signed]
        try:
            found.append(_sign_off(name, key, signing, known.get(name)))
        except _RefusedError as error:
            where = reader_folder(path, signing[0][0].reader) / SIGNATURE_FILE
            refused.append(f"{where}: signed.{name}: {error}")
    return found, refused


class _RefusedError(Exception):
    """A sign-off that would not count, and what to do."""


_Signing = Sequence[tuple[Reading, Signature]]


def _sign_off(name: str, key: PacketKey, signing: _Signing, now: Scenario | None) -> SignOff:
    read = key.scenarios[name]
    if now is None:
        raise _RefusedError("there is no such scenario any more; set it to false")
    if (now.version, content_digest(now.folder)) != (read.version, read.content):
        raise _RefusedError(
            f"the scenario has changed since it was read (version {read.version}); make a packet of it again"
        )
    labels = {case: one.label for case, one in key.cases.items() if one.scenario == name}
    review = Review(
        packet=key.digest,
        made=key.made,
        store=key.store,
        classification=key.classification,
        cases={verdict: sum(label == verdict for label in labels.values()) for verdict in VERDICTS},
        reviewer=tuple(_reviewers(labels, signing)),
    )
    if lacking := shortcoming(review, now.wanted):
        raise _RefusedError(f"{lacking}; mend that in the readers' forms, or make a new packet")
    before = read_signoff(now.folder / SIGNOFF_FILE)
    holds = before is not None and (before.version, before.content) == (read.version, read.content)
    others = [one for one in before.review if one.packet != key.digest] if before and holds else []
    return SignOff(scenario=name, version=read.version, content=read.content, review=(*others, review))


def _reviewers(labels: Mapping[str, str], signing: _Signing) -> Iterator[Reviewer]:
    open_cases: list[str] = []
    for reading, signature in signing:
        differing = [case for case, label in labels.items() if reading.answers[case].verdict != label]
        open_cases += [f"{reading.reader} {case}" for case in differing if case not in signature.settled]
        yield Reviewer(
            name=signature.name,
            role=signature.role,
            date=signature.date,
            agreed=len(labels) - len(differing),
            settled=tuple(case for case in differing if case in signature.settled),
        )
    if open_cases:
        raise _RefusedError(
            f"a reader and the label differ on {', '.join(open_cases)}; where the label stands, the reader says why"
            f" under [settled] in {SIGNATURE_FILE}; where it does not, change the scenario and its version"
        )


def read_tasks(path: Path) -> dict[str, int]:
    """The tasks that a CSV file lists in its column `task`, with their lines; ReviewError if it lists none."""
    try:
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")), strict=True)
        if "task" not in (reader.fieldnames or ()):
            raise ReviewError(
                f"{path}: no column task",
                f"name a {DISPUTED_FILE} of `harness review --import`, or a CSV like it",
            )
        tasks = {(row["task"] or "").strip(): reader.line_num for row in reader}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReviewError(f"{path} cannot be read as CSV: {error}", f"name a {DISPUTED_FILE}") from error
    return {task: line for task, line in tasks.items() if task}
