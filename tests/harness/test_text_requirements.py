"""An absence in what notes, ECGs and emergency visits say: built from a scenario, searched, judged by the audit."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client

from harness.agents.base import TaskView
from harness.agents.oracle import Oracle
from harness.scoring.score import score_trial
from harness.scoring.verify import Evidence, score_files
from mcp_mimic.server import create_server
from tests.harness.built_tasks import served
from tests.harness.scoring.casebook import MISSING, handed_in
from tests.harness.scoring.sessions import Call, World, make_world, serve
from tests.harness.toy_scenario import FILES
from tests.hospital import ADA

UNSAID = """[[evidence]]
id = "unsaid"
verdicts = ["yes"]
kind = "absence"
search = [
  { source = "note.discharge.text", terms = ["amiodarone", "atrial fib*"], from = "index_time - interval 1 day" },
]

[[evidence]]
id = "unmeasured"
verdicts = ["yes"]
kind = "absence"
search = [
  { source = "ecg.machine_measurements", terms = ["Atrial Fibrillation"] },
  { source = "ed.triage", terms = ["syncope"] },
  { source = "echo.structured_measurement", names = "fraction|lvef" },
  { source = "hosp.diagnoses_icd", names = "septicemia" },
  { source = "cxr.chexpert" },
]

[[reference]]"""

TERMS = {"query": 'amiodarone "atrial fib*"'}
Score = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    head = FILES["scenario.toml"].replace("[[reference]]", UNSAID)
    files = {"scenario.toml": head, "evidence.sql": FILES["evidence.sql"], "policy_rubrics.toml": POLICY}
    made = make_world(tmp_path_factory.mktemp("world"), files)
    yield made
    for chart in made.charts.values():
        chart.close()


POLICY = """
[[item]]
id = "limit"
text = "Names the limit."
weight = 3
document = "none"
locator = "section 2"
"""


def needs(world: World) -> dict[str, Any]:
    return {need["id"]: need for need in world.gold["requirements"]}


@pytest.fixture
def judged(world: World, tmp_path: Path) -> Score:
    """The finding on `unsaid`, when `cited` was cited after the calls were made."""

    def made(*calls: Call, cited: str) -> dict[str, Any]:
        session = serve(world, tmp_path, calls)
        score = score_trial(world.gold, handed_in(f"## Answer: YES\n\n[{cited}]"), MISSING, session.lines)
        [finding] = [each for each in score["requirements"] if each["id"] == "unsaid"]
        return finding | {"relevant": score["citations"]["relevant"]}

    return made


def test_the_gold_holds_the_pieces_of_text_and_the_parts_of_names(world: World) -> None:
    [text] = needs(world)["unsaid"]["search"]
    assert (text["source"], text["items"]) == ("note.discharge.text", None)
    assert text["names"] == [" amiodarone ", " atrial fib"]
    assert (text["from"], text["to"]) == ("2150-02-28T10:00:00", world.grant.as_of.isoformat())
    names = {entry["source"]: entry["names"] for entry in needs(world)["unmeasured"]["search"]}
    assert names["ecg.machine_measurements"] == ["atrial fibrillation"]
    assert names["ed.triage"] == ["syncope"]
    assert names["cxr.chexpert"] is None
    assert names["hosp.diagnoses_icd"] == ["0389 unspecified septicemia"]


@pytest.mark.parametrize(
    "calls",
    [
        [TERMS],
        [{"query": 'amiod* "atrial fib*"'}],
        [{"query": "amiodarone"}, {"query": '"atrial fib*"'}],
        [{"query": "amiodarone atrial"}],
        [TERMS | {"start": "2150-02-28T10:00:00"}],
        [TERMS | {"end": "2150-03-03"}, TERMS | {"start": "2150-03-03", "kind": "discharge"}],
        [TERMS | {"query": 'amiodarone "atrial fib*" lvef digoxin'}],
    ],
)
def test_a_search_of_every_word_over_the_whole_window_suffices(
    judged: Score, calls: list[dict[str, Any]]
) -> None:
    made = [("search_notes", arguments) for arguments in calls]
    finding = judged(*made, cited=", ".join(f"search:{number}" for number in range(1, len(made) + 1)))
    assert (finding["satisfied"], finding["why"]) == (True, "satisfied")
    assert finding["relevant"] == len(made)


WANTING: dict[str, tuple[Call, ...]] = {
    "another kind of notes": (("search_notes", TERMS | {"kind": "radiology"}),),
    "a window that begins too late": (("search_notes", TERMS | {"start": "2150-02-28T10:00:01"}),),
    "a window that ends too early": (("search_notes", TERMS | {"end": "2150-12-31"}),),
    "two windows with a day between them": (
        ("search_notes", TERMS | {"end": "2150-03-02"}),
        ("search_notes", TERMS | {"start": "2150-03-04"}),
    ),
    "one of the words": (("search_notes", {"query": "amiodarone"}),),
    "longer words than are asked for": (("search_notes", {"query": 'amiodarone "atrial fibrillation"'}),),
    "other words": (("search_notes", {"query": "lvef digoxin"}),),
    "a query that is refused": (("search_notes", {"query": "--"}),),
    "a list of the notes": (("list_notes", {"kind": "discharge"}),),
    "the whole note read": (("read_note", {"note": "note:DS-4"}),),
    "one section read": (("read_note", {"note": "note:DS-4", "section": "Discharge Medications"}),),
    "every note read, both kinds searched for something else": (
        ("read_note", {"note": "note:DS-4"}),
        ("search_notes", {"query": "weakness"}),
        ("search_notes", {"query": "weakness", "kind": "radiology"}),
    ),
    "an overview of the chart": (("get_patient_overview", {}),),
}


@pytest.mark.parametrize("how", WANTING)
def test_less_than_that_does_not_whatever_was_read_or_said(judged: Score, how: str) -> None:
    calls = WANTING[how]
    ids = [f"search:{number}" for number in range(1, len(calls) + 1)]
    finding = judged(*calls, cited=", ".join([*ids, "note:DS-4", "note:DS-4#1"]))
    assert not finding["satisfied"]
    assert finding["why"].startswith("not retrieved: note.discharge.text 'a")


def test_a_search_that_nobody_cites_satisfies_nothing(judged: Score) -> None:
    finding = judged(("search_notes", TERMS), cited="note:DS-4")
    assert (finding["retrieved"], finding["satisfied"]) == (True, False)


def test_a_search_whose_hits_were_not_all_read_satisfies_nothing(judged: Score) -> None:
    both = {"query": 'amiodarone "atrial fib*" weakness furosemide', "limit": 1}
    finding = judged(("search_notes", both), cited="search:1")
    assert not finding["satisfied"]
    assert finding["why"].endswith("by a search read to the end")
    assert finding["relevant"] == 0


def test_the_oracle_meets_it(world: World, tmp_path: Path) -> None:
    server = create_server(world.charts[ADA], world.grant, audit_dir=tmp_path, corpus=world.corpus)
    view = TaskView(task_id=world.grant.task, instruction="")

    async def answer() -> str:
        async with Client(server.mcp) as client:
            return (await Oracle().answer_knowing(view, client, world.gold)).report

    report = asyncio.run(answer())
    server.seal()
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    score = score_trial(world.gold, handed_in(report), MISSING, lines)
    assert (score["supported"], score["evidence_recall"], score["citation_precision"]) == (1, 1, 1)
    assert score["calls"]["calls"] == 7


def test_so_does_the_solution_over_http(world: World, tmp_path: Path) -> None:
    report, audit = tmp_path / "report.md", tmp_path / "audit"
    with served(world.store, world.task, audit) as (url, server):
        told = {"MIMIC_URL": url, "REPORT": str(report), "TRAJECTORY": str(tmp_path / "trajectory.json")}
        solve = ["bash", world.task / "solution" / "solve.sh"]
        subprocess.run(solve, env=os.environ | told, check=True, timeout=60)
        server.seal()
    gold = world.task / "tests" / "gold.json"
    score = score_files(Evidence(gold, report, submission=audit / "report.md", audit=audit / "audit.jsonl"))
    assert (score["supported"], score["citation_precision"]) == (1, 1)
