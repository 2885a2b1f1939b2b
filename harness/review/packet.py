"""Review packets: what clinicians read, a folder a reader, and the key that only who compares them keeps."""

import csv
import io
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from harness.adjudication import Requirement, adjudicate, gather_evidence, gather_windows
from harness.build import choose_key, task_id
from harness.cohort_file import CohortRow
from harness.errors import CohortError, ReviewError
from harness.instruction import shared_rules
from harness.review.case_page import case_page
from harness.review.sample import order_for, sample_cases
from harness.review.signoff import content_digest
from harness.review.timeline import Chart
from harness.rubric import DataModel
from harness.scenario import Scenario, Verdict
from harness.scenario_page import scenario_page
from harness.words import counted
from mcp_mimic.chart.tasks import open_tasks
from mcp_mimic.store.store import Store
from mcp_mimic.text.slips import slip_in_json

Progress = Callable[[str], None]

FORMAT = 2
KEY_FILE, ANSWERS_FILE, SIGNATURE_FILE = "key.json", "answers.csv", "signature.toml"
ANSWER_COLUMNS = ("number", "scenario", "case", "verdict", "comment")

_PRIVATE = 0o700


class PacketScenario(DataModel):
    """A scenario as the readers saw it."""

    version: int
    content: str


class PacketCase(DataModel):
    """A case's scenario and its label."""

    scenario: str
    label: Verdict
    rule: str


class PacketKey(DataModel):
    """key.json: the labels, the readers, of what store and scenarios the packet is, and its day (UTC)."""

    format: int
    made: date
    store: str
    release: str
    classification: str
    blind: bool
    readers: tuple[str, ...]
    scenarios: Mapping[str, PacketScenario]
    cases: Mapping[str, PacketCase]

    @property
    def digest(self) -> str:
        """What tells this packet from every other."""
        return f"sha256:{sha256(self.model_dump_json().encode()).hexdigest()}"


@dataclass(frozen=True)
class Packet:
    """What was written: the key, and where."""

    path: Path
    key: PacketKey


def write_packet(
    store: Store,
    rows: Sequence[CohortRow],
    scenarios: Sequence[Scenario],
    out: Path,
    *,
    cases: int,
    blind: bool = False,
    key: bytes | None = None,
    progress: Progress | None = None,
) -> Packet:
    """Write a packet of up to `cases` cases of each scenario that `rows` have into the new or empty folder `out`.

    Blind, there are two readers with orders of their own, and no page shows a label. ReviewError if `out` holds
    something, or is open to others while the store is credentialed; CohortError if a label is not this store's.
    """
    tell = progress or (lambda _: None)
    manifest = store.manifest
    secret = choose_key(manifest.classification, key)
    require_private(out, manifest.classification)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ReviewError(f"{out} is there and not empty", "name a new folder with --out")
    chosen = {task_id(row, secret): row for row in sample_cases(rows, cases)}
    if not chosen:
        raise ReviewError("the cohort has no cases of these scenarios", "make one with: harness cohort")
    names = {row.scenario for row in chosen.values()}
    used = {each.id: each.on(manifest.classification) for each in scenarios if each.id in names}
    pages: dict[str, str] = {}
    for scenario in used.values():
        tell(f"{scenario.id}: charts")
        pages |= _pages(store, scenario, chosen, blind)
    readers = ("A", "B") if blind else ("A",)
    packet = PacketKey(
        format=FORMAT,
        made=datetime.now(UTC).date(),
        store=manifest.fingerprint,
        release=manifest.release,
        classification=manifest.classification,
        blind=blind,
        readers=readers,
        scenarios={
            name: PacketScenario(version=each.version, content=content_digest(each.folder))
            for name, each in used.items()
        },
        cases={
            task: PacketCase(scenario=row.scenario, label=row.gold, rule=row.rule)
            for task, row in sorted(chosen.items())
        },
    )
    files = {KEY_FILE: packet.model_dump_json(indent=1) + "\n", "README.md": _readme(packet, used)}
    orders: dict[str, list[str]] = {}
    for reader in readers:
        order = order_for(reader, list(packet.cases))
        orders[reader] = order[::-1] if order in orders.values() else order
        files |= _reader_files(packet, used, pages, reader, orders[reader])
    _write(out, files)
    return Packet(out, packet)


def read_key(path: Path) -> PacketKey:
    """The key of a packet; ReviewError if the folder is no packet."""
    file = path / KEY_FILE
    remedy = "name the folder that `harness review --out` wrote"
    try:
        text = file.read_bytes()
        key = PacketKey.model_validate_json(text)
    except OSError as error:
        raise ReviewError(f"{path} is no review packet: {KEY_FILE} cannot be read", remedy) from error
    except ValidationError as error:
        raise ReviewError(f"{file}: {slip_in_json(error, PacketKey, text)}", remedy) from error
    if key.format != FORMAT:
        raise ReviewError(f"{file}: format {key.format} is not {FORMAT}", "make the packet again")
    return key


def reader_folder(path: Path, reader: str) -> Path:
    """Where a reader's pages and forms are."""
    return path / f"reader-{reader}"


def require_private(path: Path, classification: str) -> None:
    """ReviewError if patients' data would lie in, or be read from, a folder that others can open."""
    if classification != "credentialed":
        return
    folder = path if path.exists() else path.absolute().parent
    if not folder.is_dir():
        raise ReviewError(f"{folder} is no folder", "make it first, with: mkdir -m 700")
    if mode := folder.stat().st_mode & 0o077:
        raise ReviewError(
            f"{folder} has mode {folder.stat().st_mode & 0o777:o}, and a packet of a credentialed store holds patient data"
            f" that {'others' if mode & 0o007 else 'the group'} could reach",
            f"use a folder of your own: chmod 700 {folder}",
        )


def _pages(store: Store, scenario: Scenario, chosen: Mapping[str, CohortRow], blind: bool) -> dict[str, str]:
    """Each case's page, by task id."""
    own = {task: row for task, row in chosen.items() if row.scenario == scenario.id}
    with open_tasks(store, [row.task(task) for task, row in own.items()]) as connection:
        adjudicate(connection, scenario)
        ours = dict(connection.execute("select task_id, verdict from adjudicated").fetchall())
        for task, row in own.items():
            if ours[task] != row.gold:
                raise CohortError(
                    f"case {task}: the cohort says {row.gold}, this store's chart {ours[task]}",
                    "make a cohort of this store again: harness cohort",
                )
        needs, windows = gather_evidence(connection, scenario), gather_windows(connection, scenario)
        chart = Chart(connection)
        pages = {}
        for task, row in own.items():
            evidence = [_ids(need) for need in needs[task]]
            if row.index_eid:
                evidence.append((row.index_eid,))
            present = [w for w in windows.get(task, ()) if w.source.split(".")[0] in store.manifest.modules]
            timeline = chart.timeline(task, row.subject_id, evidence, present, row.as_of)
            pages[task] = case_page(scenario, row, task, timeline, blind=blind)
    return pages


def _ids(need: Requirement) -> tuple[str, ...]:
    """The rows of a requirement, those of its shortest alternatives first."""
    alternatives = sorted(need.alternatives, key=lambda eids: (len(eids), eids))
    ids = [*(eid for alternative in alternatives for eid in alternative), *need.relevant]
    return tuple(eid for eid in dict.fromkeys(ids) if not eid.startswith(("policy:", "search:")))


def _reader_files(
    packet: PacketKey,
    scenarios: Mapping[str, Scenario],
    pages: Mapping[str, str],
    reader: str,
    order: Sequence[str],
) -> dict[str, str]:
    folder = reader_folder(Path(), reader).as_posix()
    files = {f"{folder}/README.md": _readme(packet, scenarios)}
    files |= {f"{folder}/scenarios/{name}.md": scenario_page(each) for name, each in scenarios.items()}
    files[f"{folder}/instruction.md"] = shared_rules()
    answers = io.StringIO()
    writer = csv.writer(answers, lineterminator="\n")
    writer.writerow(ANSWER_COLUMNS)
    for number, task in enumerate(order, start=1):
        files[f"{folder}/cases/{number:03}-{task}.md"] = pages[task]
        writer.writerow((number, packet.cases[task].scenario, task, "", ""))
    files[f"{folder}/{ANSWERS_FILE}"] = answers.getvalue()
    signed = "".join(
        f'"{name}" = false  # version {each.version}\n' for name, each in packet.scenarios.items()
    )
    if packet.blind:
        files[f"{folder}/{SIGNATURE_FILE}"] = f"{_SIGNATURE}{signed}{_SETTLED}"
    return files


_SIGNATURE = """\
# Who read these cases. Set a scenario to true to sign it: its rules decide as a clinician would.
name = ""
role = ""
date = ""  # such as 2031-05-01

[signed]
"""

_SETTLED = """
[settled]
# A case of a signed scenario on which your verdict is not the label, once you accept the label after all, and why:
# "case" = "reason"
"""

_DATA = {
    "credentialed": "**This folder holds patient data of a credentialed store.** The data use agreement of MIMIC "
    "covers every file in it: only people who signed it may read them, on machines that it allows. Do not mail it, "
    "share it or put it under version control, and delete it when the review is done.",
    "open": "The charts are of the open MIMIC-IV demo.",
    "synthetic": "The charts are synthetic: no patient is in them.",
}


def _readme(packet: PacketKey, scenarios: Mapping[str, Scenario]) -> str:
    unsigned = [name for name, each in scenarios.items() if not each.clinician_reviewed]
    labels = f"`clinician_reviewed = false` for {len(unsigned)} of {counted(len(scenarios), 'scenario')}"
    hidden = " No page shows a label; `key.json` has them: keep it from the readers." if packet.blind else ""
    readers = " and ".join(f"`{reader_folder(Path(), reader)}`" for reader in packet.readers)
    sign = (
        f"Put your name, role and the date into `{SIGNATURE_FILE}`, and true for each scenario that you sign."
        if packet.blind
        else "Nobody can sign here: the labels are in sight. A packet made with `--blind` can be signed."
    )
    return f"""\
# Review packet

{counted(len(packet.cases), "case")} of {counted(len(packet.scenarios), "scenario")}, MIMIC-IV {packet.release}. {labels}.

{_DATA[packet.classification]}

Each reader gets one folder only: {readers}.{hidden}

1. Read `instruction.md`, the rules of reading that are told to every agent and hold in all scenarios, then
   `scenarios/`: the question, the definitions and the rules. Who signs a scenario signs both.
2. Read `cases/` in their order. Write a verdict for each into `{ANSWERS_FILE}`: yes, no, lack_of_data or
   medical_ambiguity; a comment where the rules and your judgement part. Leave a verdict empty if you gave none.
3. {sign}
4. Hand the folder back. Who made the packet puts it into its place there and compares: `harness review --import` and the packet's folder.
"""


def _write(out: Path, files: Mapping[str, str]) -> None:
    """Write the files into a hidden folder beside `out`, for the owner alone, and put it in place."""
    partial = out.with_name(f".{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(mode=_PRIVATE)
        for name, text in files.items():
            file = partial / name
            for folder in reversed([one for one in file.parents if one.is_relative_to(partial)]):
                folder.mkdir(mode=_PRIVATE, exist_ok=True)
            file.touch(mode=0o600)
            file.write_text(text, encoding="utf-8")
        if out.exists():
            out.rmdir()
        partial.rename(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
