"""What came back with a packet: each reader's verdicts and signature, every fault named with its file and place."""

import csv
import io
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from harness.errors import ReviewError
from harness.review.packet import ANSWER_COLUMNS, ANSWERS_FILE, SIGNATURE_FILE, PacketKey, reader_folder
from harness.words import counted
from mcp_mimic.contract import VERDICT_LABELS, VERDICTS
from mcp_mimic.text.counts import agree

_NEEDED = ("case", "verdict")


@dataclass(frozen=True)
class Answer:
    """A reader's verdict of one case, and what the reader says of it."""

    verdict: str
    comment: str


@dataclass(frozen=True)
class Signature:
    """Who read, when, which scenarios that person signs, and why the label stands on cases judged otherwise."""

    name: str
    role: str
    date: date
    signed: frozenset[str]
    settled: Mapping[str, str]


@dataclass(frozen=True)
class Reading:
    """What one reader handed back: verdicts by case, the unanswered ones left out; no signature if none was given."""

    reader: str
    answers: Mapping[str, Answer]
    comments: Mapping[str, str]
    signature: Signature | None


def read_readings(path: Path, key: PacketKey) -> list[Reading]:
    """Every reader's forms; ReviewError names the first file and place that is wrong, or that nothing came back."""
    readings = [_reading(path, key, reader) for reader in key.readers]
    if not any(reading.answers for reading in readings):
        raise ReviewError(
            f"{path}: no reader has answered a case", f"fill in {ANSWERS_FILE} in each reader's folder"
        )
    return readings


def _reading(path: Path, key: PacketKey, reader: str) -> Reading:
    folder = reader_folder(path, reader)
    answers, comments = _answers(folder / ANSWERS_FILE, key)
    signature = _signature(folder / SIGNATURE_FILE, key) if key.blind else None
    if signature is not None:
        for scenario in sorted(signature.signed):
            cases = {case for case, one in key.cases.items() if one.scenario == scenario}
            if missing := sorted(cases - answers.keys()):
                raise ReviewError(
                    f"{folder / SIGNATURE_FILE}: signed.{scenario} is true, and {len(missing)} of its "
                    f"{counted(len(cases), 'case')} {agree(len(missing), 'has', 'have')} no verdict, {missing[0]} for one",
                    f"answer them in {folder / ANSWERS_FILE}, or set it to false",
                )
    return Reading(reader, answers, comments, signature)


def _answers(file: Path, key: PacketKey) -> tuple[dict[str, Answer], dict[str, str]]:
    text = _text(file)
    header = text.partition("\n")[0]
    semicolons = ";" in header and "," not in header  # as spreadsheets of many countries write
    reader = csv.DictReader(io.StringIO(text), delimiter=";" if semicolons else ",", strict=True)
    answers: dict[str, Answer] = {}
    comments: dict[str, str] = {}
    seen: dict[str, int] = {}
    try:
        if missing := [name for name in _NEEDED if name not in (reader.fieldnames or ())]:
            raise ReviewError(
                f"{file}: no column {missing[0]}", f"its first line must be {','.join(ANSWER_COLUMNS)}"
            )
        for row in reader:
            where = f"{file}, line {reader.line_num}"
            case, verdict, comment = (
                (row.get(name) or "").strip() for name in ("case", "verdict", "comment")
            )
            if not case and not verdict and not comment:
                continue
            if case not in key.cases:
                raise ReviewError(f"{where}: {case!r} is no case of this packet", "restore the case's id")
            if case in seen:
                raise ReviewError(
                    f"{where}: {case} stands in line {seen[case]} already", "keep one line a case"
                )
            seen[case] = reader.line_num
            if comment:
                comments[case] = comment
            if verdict:
                answers[case] = Answer(_verdict(verdict, where), comment)
    except csv.Error as error:
        raise ReviewError(
            f"{file}, line {reader.line_num}: {error}", "correct the line; a cell with a comma needs quotes"
        ) from error
    return answers, comments


_ACCEPTED = {verdict: verdict for verdict in VERDICTS} | {
    " ".join(label.casefold().replace("—", "-").split()): verdict for verdict, label in VERDICT_LABELS.items()
}


def _verdict(text: str, where: str) -> str:
    plain = text.casefold().replace("—", "-").replace("–", "-")
    found = _ACCEPTED.get(" ".join(plain.split()))
    if found is None:
        raise ReviewError(
            f"{where}: verdict is {text[:80]!r}", f"write one of {', '.join(VERDICTS)}, or nothing"
        )
    return found


def _signature(file: Path, key: PacketKey) -> Signature | None:
    """The signature; None if no scenario is signed."""
    try:
        data: dict[str, Any] = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise ReviewError(f"{file}: {error}", "correct the line it names; texts stand in quotes") from error
    signed = data.get("signed", {})
    if not isinstance(signed, dict):
        raise ReviewError(f"{file}: signed is no table", "restore its line [signed]")
    for name, value in signed.items():
        if name not in key.scenarios:
            raise ReviewError(f"{file}: signed.{name} is no scenario of this packet", "restore its id")
        if not isinstance(value, bool):
            raise ReviewError(f"{file}: signed.{name} is {value!r}", "write true or false, without quotes")
    chosen = frozenset(name for name, value in signed.items() if value)
    if not chosen:
        return None
    for name in ("name", "role"):
        if not isinstance(data.get(name), str) or not data[name].strip():
            raise ReviewError(f"{file}: {name} is empty", f"a sign-off needs a {name}")
    day, settled = _date(data.get("date"), file), _settled(data.get("settled", {}), file, key)
    return Signature(data["name"].strip(), data["role"].strip(), day, chosen, settled)


def _settled(settled: object, file: Path, key: PacketKey) -> dict[str, str]:
    if not isinstance(settled, dict):
        raise ReviewError(f"{file}: settled is no table", "restore its line [settled]")
    for case, reason in settled.items():
        if case not in key.cases:
            raise ReviewError(f"{file}: settled.{case} is no case of this packet", "restore the case's id")
        if not isinstance(reason, str) or not reason.strip():
            raise ReviewError(f"{file}: settled.{case} has no reason", "say in quotes why the label stands")
    return settled


def _date(value: object, file: Path) -> date:
    try:
        return value if type(value) is date else date.fromisoformat(str(value).strip())
    except ValueError as error:
        raise ReviewError(f"{file}: date is {value!r}", "write it as 2031-05-01") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReviewError(
            f"{file} cannot be read ({error.strerror})", "put the reader's folder back into the packet"
        ) from error
    except UnicodeDecodeError as error:
        raise ReviewError(f"{file} is not UTF-8", "save it as UTF-8") from error
