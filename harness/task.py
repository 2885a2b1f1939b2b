"""The files of one task directory, as Harbor reads it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.cohort_file import CohortRow
from harness.digests import digest_files
from harness.instruction import write_instruction
from harness.scenario import Scenario
from harness.sources import ROUTES, route_of
from harness.template import fill_template
from harness.version import harness_version
from mcp_mimic.contract import VERDICT_LABELS, Grant, canonical_json, parse_eid
from mcp_mimic.store.tables import KINDS

Files = dict[str, bytes]
"""Path below the task directory → content."""


@dataclass(frozen=True)
class TaskFiles:
    """A task directory's files, and the digests of its parts."""

    files: Files

    @property
    def digests(self) -> dict[str, str]:
        """As the manifest has them, see `harness.digests`."""
        return digest_files(self.files)


def render_task(
    scenario: Scenario, row: CohortRow, task_id: str, gold: Mapping[str, Any], store: str
) -> TaskFiles:
    """All files of one task; `store` is the fingerprint of the store it was built from."""
    values = {
        "TASK": task_id,
        "VERSION": harness_version(),
        "SCENARIO": scenario.id,
        "SCENARIO_VERSION": str(scenario.version),
        "TITLE": json.dumps(scenario.title, ensure_ascii=False),
        "DOMAIN": json.dumps(scenario.domain, ensure_ascii=False),
        "CLINICIAN_REVIEWED": str(scenario.clinician_reviewed).lower(),
    }
    grant = Grant(
        grant=task_id,
        task=task_id,
        subject_id=row.subject_id,
        as_of=row.as_of,
        sealed_hadm_id=row.sealed_hadm_id,
        documents=scenario.policies,
        store=store,
    )
    templates = (
        "task.toml",
        "environment/docker-compose.yaml",
        "tests/docker-compose.yaml",
        "tests/test.sh",
        "solution/solve.sh",
    )
    texts = {name: fill_template(name, values) for name in templates} | {
        "instruction.md": write_instruction(scenario, row.index_time, row.as_of),
        "environment/grant.json": _json(grant.to_json()),
        "tests/gold.json": _json(gold),
        "solution/plan.tsv": "".join(f"{line}\n" for line in _plan(gold)),
    }
    return TaskFiles({name: text.encode() for name, text in sorted(texts.items())})


def _plan(gold: Mapping[str, Any]) -> Iterator[str]:
    """What solve.sh does: calls to make, the rows that satisfy, requirements to be cited by searches.

    Tab-separated: `search REQUIREMENT TOOL ARGUMENTS`, `rows REQUIREMENT IDS`, `absence REQUIREMENT`,
    `verdict LABEL`. The first line of a requirement whose rows were all served is cited.
    """
    for need in gold["requirements"]:
        for tool, arguments in _calls(need):
            yield "\t".join(("search", need["id"], tool, canonical_json(arguments)))
        for alternative in sorted(need["alternatives"], key=lambda eids: (len(eids), eids)):
            yield "\t".join(("rows", need["id"], " ".join(alternative)))
        if need["kind"] != "rows":
            yield f"absence\t{need['id']}"
    yield f"verdict\t{VERDICT_LABELS[gold['verdict']]}"


def _calls(need: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry in need["search"] or _tables_of(need["alternatives"]):
        route = route_of(entry["source"])
        window = {name: entry.get(key) for name, key in (("start", "from"), ("end", "to"))}
        for filters in route.filters(entry.get("items"), entry.get("names")):
            arguments = {**route.arguments, **filters, **window}
            yield route.tool, {name: value for name, value in arguments.items() if value is not None}


def _tables_of(alternatives: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """The whole tables that hold the rows of a requirement without a search."""
    eids = (parse_eid(eid) for alternative in alternatives for eid in alternative)
    kinds = sorted({eid.kind for eid in eids if eid})
    return [{"source": table} for kind in kinds for table in KINDS.get(kind, ()) if table in ROUTES]


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=True) + "\n"
