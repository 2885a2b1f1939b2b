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
from harness.review.signoff import Reviewer, SignOff, content_digest
from harness.scenario import Scenario

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
) -> list[SignOff]:
    """A sign-off of each scenario that a reader signs; ReviewError if one has changed since the packet was made."""
    known = {scenario.id: scenario for scenario in scenarios}
    signatures = [(reading, s) for reading in readings if (s := reading.signature) is not None]
    found = []
    for name in sorted({scenario for _, signature in signatures for scenario in signature.signed}):
        read, now = key.scenarios[name], known.get(name)
        signing = [(reading, signature) for reading, signature in signatures if name in signature.signed]
        where = reader_folder(path, signing[0][0].reader) / SIGNATURE_FILE
        if now is None:
            raise ReviewError(
                f"{where}: signed.{name}: there is no such scenario any more", "set it to false"
            )
        if (now.version, content_digest(now.folder)) != (read.version, read.content):
            raise ReviewError(
                f"{where}: signed.{name}: the scenario has changed since it was read (version {read.version})",
                "make a packet of it again, or set it to false",
            )
        found.append(
            SignOff(
                scenario=name,
                version=read.version,
                content=read.content,
                reviewer=tuple(_reviewers(key, name, signing)),
            )
        )
    return found


def _reviewers(
    key: PacketKey, scenario: str, signing: Sequence[tuple[Reading, Signature]]
) -> Iterator[Reviewer]:
    for reading, signature in signing:
        labels = {case: one.label for case, one in key.cases.items() if one.scenario == scenario}
        agreed = sum(reading.answers[case].verdict == label for case, label in labels.items())
        yield Reviewer(
            name=signature.name, role=signature.role, date=signature.date, cases=len(labels), agreed=agreed
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
