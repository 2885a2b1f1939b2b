"""Sessions served for real: a chart with rows in every table, one task on it, and the audits of its server."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from fastmcp import Client

from harness.build import build_tasks
from harness.cohort_file import CohortRow
from harness.scenario import load_scenario
from harness.sources import ROUTES
from mcp_mimic.chart.slice import Slice, open_slice
from mcp_mimic.contract import Grant
from mcp_mimic.server import create_server
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from tests.harness.toy_scenario import FILES, write_toy
from tests.hospital import ADA, ADA_HADM, BEN, BEN_HADM, Rows, small_rows, write_hospital

AS_OF = datetime(2151, 1, 1)
HOUSE = "house-potassium"

SUMMARY = """Chief Complaint:
Weakness

Brief Hospital Course:
Potassium rose to 5.1. LVEF 35% on echo.

Discharge Medications:
1. Furosemide 40 mg PO DAILY
"""

POLICY = "# Potassium\n\n## 1 Scope\n\nAdults.\n\n## 2 Limits\n\n" + "A potassium of 5.0 is high.\n\n" * 60

Call = tuple[str, dict[str, Any]]

EVERYTHING: tuple[Call, ...] = (
    ("get_patient_overview", {}),
    ("search_items", {"query": "potassium"}),
    *((route.tool, dict(route.arguments)) for route in ROUTES.values()),
    ("read_note", {"note": "note:DS-4"}),
    ("read_note", {"note": "note:RR-5"}),
    ("search_notes", {"query": "LVEF"}),
    ("search_policies", {"query": "potassium"}),
    ("read_policy", {"document": HOUSE}),
)
"""A call of every tool that shows something, and of every table that one of them reads."""


@dataclass(frozen=True)
class World:
    """The store, the folder of policies, the one task, and the charts of Ada and of Ben at its moment."""

    store: Store
    corpus: Path
    task: Path
    charts: Mapping[int, Slice]

    @property
    def gold(self) -> dict[str, Any]:
        gold: dict[str, Any] = json.loads((self.task / "tests" / "gold.json").read_bytes())
        return gold

    @property
    def grant(self) -> Grant:
        return Grant.from_json(json.loads((self.task / "environment" / "grant.json").read_bytes()))


@dataclass(frozen=True)
class Served:
    """What a session answered, in order, and the sealed audit that it left."""

    answers: Sequence[dict[str, Any]]
    audit: Path

    @property
    def lines(self) -> list[str]:
        return self.audit.read_text().splitlines()

    def shown(self) -> set[str]:
        """Every id that the rows and passages of the answers carry, and those of the answers themselves."""
        return {eid for answer in self.answers for eid in (answer["call"], *_ids(answer))}

    def logged(self) -> list[dict[str, Any]]:
        """The calls of the audit."""
        return [line for line in map(json.loads, self.lines) if "seq" in line]


def make_world(folder: Path, files: Mapping[str, str] | None = None) -> World:
    """Import the chart, and build the task: was a potassium of Ada's high? It rests on a lab and on a summary.

    `files` are what else the scenario's folder holds.
    """
    import_store([write_hospital(folder / "source", _rows())], folder / "store", release="3.1")
    store = Store.open(folder / "store")
    scenario = load_scenario(write_toy(folder / "scenario", {**_scenario(), **(files or {})}))
    row = CohortRow(
        scenario=scenario.id,
        subject_id=ADA,
        hadm_id=ADA_HADM,
        stay_id=None,
        index_time=datetime(2150, 3, 1, 10),
        as_of=AS_OF,
        sealed_hadm_id=None,
        index_eid="adm:1",
        params='{"threshold":5.0}',
        gold="yes",
        rule="potassium",
    )
    [task] = build_tasks(store, [row], [scenario], folder / "tasks", key=b"a key for one test").tasks
    charts = {subject: open_slice(store, subject, AS_OF, None) for subject in (ADA, BEN)}
    return World(store, _corpus(folder / "corpus"), folder / "tasks" / task, charts)


def serve(world: World, folder: Path, calls: Sequence[Call], *, subject: int = ADA) -> Served:
    """Make the calls in a session of the task, or one on another subject's chart, and seal it."""
    grant = world.grant if subject == ADA else replace(world.grant, subject_id=subject)
    audit = folder / f"audit-{subject}"
    audit.mkdir()
    server = create_server(world.charts[subject], grant, audit_dir=audit, corpus=world.corpus)

    async def ask() -> list[dict[str, Any]]:
        async with Client(server.mcp) as client:
            results = [await client.call_tool_mcp(tool, arguments) for tool, arguments in calls]
            return [result.structured_content for result in results]

    answers = asyncio.run(ask())
    server.seal()
    return Served(answers, audit / "audit.jsonl")


def _ids(value: Any) -> Iterator[str]:
    """The ids of rows and passages."""
    if isinstance(value, Mapping):
        if "eid" in value and "title" not in value:
            yield value["eid"]
        for inner in value.values():
            yield from _ids(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids(inner)


def _scenario() -> dict[str, str]:
    head = FILES["scenario.toml"].replace("clinician_reviewed", f'policies = ["{HOUSE}"]\nclinician_reviewed')
    summary = '[[evidence]]\nid = "summary"\nverdicts = ["yes"]\nkind = "rows"\n\n[[reference]]'
    return {
        "scenario.toml": head.replace("[[reference]]", summary),
        "evidence.sql": FILES["evidence.sql"]
        + "union all select n.task_id, 'summary', n.eid, n.eid, 'sufficient' from note.discharge n",
        "policy_rubrics.toml": f"""
[[item]]
id = "limit"
text = "Names the limit."
weight = 3
document = "{HOUSE}"
locator = "section 2"

[[item]]
id = "elsewhere"
text = "Stands in a publication that nobody can be served."
weight = 2
document = "none"
locator = "page 1"
""",
    }


def _corpus(folder: Path) -> Path:
    folder.mkdir()
    (folder / "house.md").write_text(POLICY)
    (folder / "manifest.toml").write_text(
        f'[manifest]\nschema = 1\n\n[[document]]\nid = "{HOUSE}"\ntitle = "Potassium"\npublisher = "A test"\n'
        'path = "house.md"\naccess = "shipped"\nlicence = "MIT"\nformat = "md"\nlanguage = "en"\n'
    )
    return folder


def _rows() -> Rows:
    """The small hospital with notes, an emergency visit, ECGs, radiographs and echocardiograms."""
    rows = small_rows()
    who, came = {"subject_id": ADA, "hadm_id": ADA_HADM}, "2150-03-01 06:30:00"
    visit = {"subject_id": ADA, "stay_id": 39000001}
    study = {"subject_id": ADA, "study_id": 53000001}
    rows["hosp.hcpcsevents"].append({**who, "chartdate": "2150-03-02", "hcpcs_cd": "99219", "seq_num": 1})
    rows |= {
        "note.discharge": [
            _note("DS", 4, ADA, ADA_HADM, SUMMARY),
            _note("DS", 9, BEN, BEN_HADM, "Chief Complaint:\nHernia\n", "2131-08-12"),
        ],
        "note.radiology": [_note("RR", 5, ADA, ADA_HADM, "IMPRESSION:\nNo acute process.\n")],
        "ed.edstays": [{**visit, "hadm_id": ADA_HADM, "intime": came, "outtime": "2150-03-01 11:00:00"}],
        "ed.triage": [{**visit, "acuity": 2, "chiefcomplaint": "Weakness"}],
        "ed.vitalsign": [{**visit, "charttime": "2150-03-01 07:00:00", "heartrate": 110}],
        "ed.pyxis": [{**visit, "charttime": "2150-03-01 07:10:00", "med_rn": 1, "name": "Calcium Gluconate"}],
        "ed.medrecon": [{**visit, "charttime": came, "name": "Lisinopril"}],
        "ed.diagnosis": [{**visit, "seq_num": 1, "icd_code": "N179", "icd_version": 10, "icd_title": "AKI"}],
        "ecg.machine_measurements": [
            {"subject_id": ADA, "study_id": 43000001, "ecg_time": came, "report_0": "Sinus rhythm"}
        ],
        "cxr.metadata": [{**study, "dicom_id": "a", "studydate": "20500301", "studytime": "70312.4"}],
        "cxr.chexpert": [{**study, "edema": 1.0}],
        "echo.study_list": [
            {"subject_id": ADA, "study_id": 93000001, "study_datetime": "2150-03-02 10:00:00"}
        ],
        "echo.structured_measurement": [
            {
                "subject_id": ADA,
                "measurement_id": 7,
                "measurement_datetime": "2150-03-02 10:20:00",
                "test_type": "tte",
                "measurement": "lvef",
                "result": "35",
            }
        ],
    }
    return rows


def _note(
    kind: str, number: int, subject: int, hadm: int, text: str, day: str = "2150-03-06"
) -> dict[str, Any]:
    return {
        "note_id": f"{subject}-{kind}-{number}",
        "subject_id": subject,
        "hadm_id": hadm,
        "note_type": kind,
        "note_seq": number,
        "charttime": f"{day} 00:00:00",
        "storetime": f"{day} 20:00:00",
        "text": text,
    }
