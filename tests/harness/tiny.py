"""A chart of two made-up patients, imported for real, and two tasks on the first of them."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from harness.digests import digest_files
from mcp_mimic.contract import Grant
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.tables import REQUIRED_SCHEMAS, TABLES

ADMITTED = datetime(2150, 3, 1, 8)
AS_OF = ADMITTED + timedelta(days=2)


@dataclass(frozen=True)
class TinyWorld:
    """Where the chart's store and the tasks folder are."""

    store: Path
    fingerprint: str
    tasks: Path


def _rows() -> dict[str, list[dict[str, Any]]]:
    """The rows by table: each patient has an admission, an ICU stay, labs, heart rates and eMAR rows."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    rows["hosp.d_labitems"] = [
        {"itemid": 50813, "label": "Lactate", "fluid": "Blood", "category": "Blood Gas"},
        {"itemid": 50912, "label": "Creatinine", "fluid": "Blood", "category": "Chemistry"},
    ]
    rows["icu.d_items"] = [{"itemid": 220045, "label": "Heart Rate", "linksto": "chartevents"}]
    for number, subject in enumerate((10000001, 10000002)):
        base = {"subject_id": subject, "hadm_id": 20000001 + number}
        stay = base | {"stay_id": 30000001 + number}
        rows["hosp.patients"].append(
            {
                "subject_id": subject,
                "gender": "F",
                "anchor_age": 60,
                "anchor_year": 2150,
                "anchor_year_group": "2014 - 2016",
            }
        )
        rows["hosp.admissions"].append(
            base
            | {
                "admittime": ADMITTED,
                "dischtime": ADMITTED + timedelta(days=5),
                "admission_type": "EW EMER.",
                "hospital_expire_flag": 0,
            }
        )
        rows["icu.icustays"].append(
            stay
            | {
                "first_careunit": "Medical Intensive Care Unit (MICU)",
                "last_careunit": "Medical Intensive Care Unit (MICU)",
                "intime": ADMITTED,
                "outtime": ADMITTED + timedelta(days=4),
                "los": 4,
            }
        )
        for hour in range(0, 44, 4):
            moment = ADMITTED + timedelta(hours=hour)
            rows["hosp.labevents"].append(
                base
                | {
                    "labevent_id": 100 * number + hour + 1,
                    "specimen_id": 100 * number + hour + 1,
                    "itemid": 50912 if hour % 8 else 50813,
                    "charttime": moment,
                    "storetime": moment + timedelta(minutes=30),
                    "value": "1.5",
                    "valuenum": 1.5,
                }
            )
            rows["hosp.emar"].append(
                base
                | {
                    "emar_id": f"{subject}-{hour + 1}",
                    "emar_seq": hour + 1,
                    "charttime": moment,
                    "storetime": moment,
                    "scheduletime": moment,
                    "medication": "Heparin",
                    "event_txt": "Administered",
                }
            )
        for minute in range(0, 60 * 44, 10):
            moment = ADMITTED + timedelta(minutes=minute)
            rows["icu.chartevents"].append(
                stay
                | {
                    "charttime": moment,
                    "storetime": moment,
                    "itemid": 220045,
                    "value": "80",
                    "valuenum": 80,
                    "valueuom": "bpm",
                }
            )
    return rows


def _write_source(folder: Path) -> None:
    rows = _rows()
    for name, table in TABLES.items():
        if table.schema in REQUIRED_SCHEMAS:
            path = folder / table.schema / f"{table.name}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, table.column_names)
                writer.writeheader()
                writer.writerows(rows[name])


def _gold(task: str, verdict: str, requirements: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "task": task,
        "scenario": "05-tiny",
        "version": 1,
        "verdict": verdict,
        "rule": "R1",
        "fragile": False,
        "definition_fragile": False,
        "label": "rule-derived",
        "requirements": requirements,
        "known": {"lab": [[1, 44]], "emar": [[1, 44]], "obs": [[1, 264]], "adm": [[20000001, 20000001]]},
    }


LACTATE = {
    "id": "first_lactate",
    "kind": "rows",
    "alternatives": [["lab:1"], ["lab:9", "lab:17"]],
    "relevant": ["lab:1", "lab:9", "lab:17"],
    "search": [
        {
            "source": "hosp.labevents",
            "items": [50813],
            "names": None,
            "from": None,
            "to": (ADMITTED + timedelta(hours=20)).isoformat(),
        }
    ],
}
NO_CALCIUM = {
    "id": "no_calcium",
    "kind": "absence",
    "alternatives": [],
    "relevant": [],
    "search": [
        {
            "source": "hosp.emar",
            "items": None,
            "names": ["calcium gluconate", "calcium gluconate 10 %"],
            "from": ADMITTED.isoformat(),
            "to": (ADMITTED + timedelta(hours=12)).isoformat(),
        },
        {
            "source": "icu.inputevents",
            "items": [221456],
            "names": None,
            "from": ADMITTED.isoformat(),
            "to": (ADMITTED + timedelta(hours=12)).isoformat(),
        },
    ],
}
GOLDS: Mapping[str, tuple[str, list[dict[str, Any]]]] = {
    "05-tiny-00000000aaaa": ("yes", [LACTATE]),
    "05-tiny-00000000bbbb": ("no", [LACTATE, NO_CALCIUM]),
}


def write_tasks(
    folder: Path, fingerprint: str, golds: Mapping[str, tuple[str, list[dict[str, Any]]]] = GOLDS
) -> None:
    """A tasks folder as `harness build` lays it out, as far as a direct run reads it."""
    entries = {}
    for task, (verdict, requirements) in golds.items():
        grant = Grant(grant=f"grant-{task}", task=task, subject_id=10000001, as_of=AS_OF, store=fingerprint)
        files = {
            "instruction.md": "Was lactate measured?\n",
            "task.toml": "[agent]\ntimeout_sec = 20.0\n",
            "environment/docker-compose.yaml": "services: {}\n",
            "environment/grant.json": json.dumps(grant.to_json()),
            "tests/gold.json": json.dumps(_gold(task, verdict, requirements)),
            "tests/test.sh": "exec true\n",
            "solution/plan.tsv": "verdict\tYES\n",
        }
        for name, text in files.items():
            path = folder / task / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        entries[task] = {
            "scenario": "05-tiny",
            **digest_files({name: text.encode() for name, text in files.items()}),
        }
    manifest = {
        "store": fingerprint,
        "classification": "credentialed",
        "release": "unknown",
        "tasks": entries,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))


def make_world(root: Path) -> TinyWorld:
    """Write the chart's files, import them, and write the tasks on it."""
    _write_source(root / "source")
    manifest = import_store([root / "source"], root / "store", release="3.1")
    write_tasks(root / "tasks", manifest.fingerprint)
    return TinyWorld(root / "store", manifest.fingerprint, root / "tasks")
