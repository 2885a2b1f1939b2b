"""The oracle cites the least that satisfies; the probes differ from it in one thing each."""

import json
from pathlib import Path

import pytest

from harness.agents.writing import cited, heading, report
from harness.direct import Batch, DirectRunner
from harness.job import Setting
from harness.scoring.report import read_report
from harness.systems import load_systems
from mcp_mimic.contract import VERDICTS, read_audit
from tests.harness.tiny import GOLDS, TinyWorld

YES_TASK, NO_TASK = sorted(GOLDS)


def _report(tiny: TinyWorld, job: Path, tag: str, task: str) -> tuple[str, list[dict[str, object]]]:
    DirectRunner(Setting(tiny.tasks, tiny.store, job)).run(Batch(task, (load_systems()[tag],)))
    artifacts = job / f"{task}__{tag}" / "artifacts"
    audit = read_audit((artifacts / "audit" / "audit.jsonl").read_text().splitlines())
    return (artifacts / "workspace" / "report.md").read_text(), [dict(call) for call in audit.calls]


def test_rows_are_cited_by_the_smallest_served_alternative(tiny: TinyWorld, tmp_path: Path) -> None:
    text, calls = _report(tiny, tmp_path, "oracle", YES_TASK)
    assert read_report(text).citations == ("lab:1",)
    assert [call["tool"] for call in calls] == ["get_labs"]


def test_an_absence_is_cited_by_one_finished_search_a_source(tiny: TinyWorld, tmp_path: Path) -> None:
    text, calls = _report(tiny, tmp_path, "oracle", NO_TASK)
    assert read_report(text).citations == ("lab:1", "search:2", "search:3")
    coverages = [call["coverage"] for call in calls]
    assert [coverage["source"] for coverage in coverages] == [
        "hosp.labevents",
        "hosp.emar",
        "icu.inputevents",
    ]
    assert coverages[1]["names"] == ["calcium gluconate"]
    assert all(coverage["complete"] for coverage in coverages)


def test_a_requirement_without_a_search_is_looked_for_in_its_tables(tiny: TinyWorld, tmp_path: Path) -> None:
    task = tmp_path / "tasks" / YES_TASK
    (task / "tests").mkdir(parents=True)
    (task / "environment").mkdir()
    for name in ("instruction.md", "task.toml", "environment/grant.json"):
        (task / name).write_text((tiny.tasks / YES_TASK / name).read_text())
    gold = json.loads((tiny.tasks / YES_TASK / "tests" / "gold.json").read_text())
    gold["requirements"][0]["search"] = []
    (task / "tests" / "gold.json").write_text(json.dumps(gold))
    (tmp_path / "tasks" / "manifest.json").write_text((tiny.tasks / "manifest.json").read_text())
    elsewhere = TinyWorld(tiny.store, tiny.fingerprint, tmp_path / "tasks")
    text, _ = _report(elsewhere, tmp_path / "job", "oracle", YES_TASK)
    assert read_report(text).citations == ("lab:1",)


@pytest.mark.parametrize(
    "tag", ["always-yes", "always-defer", "right-without-evidence", "invented-citations", "unread-citations"]
)
def test_probes_that_read_nothing_make_no_call(tiny: TinyWorld, tmp_path: Path, tag: str) -> None:
    _, calls = _report(tiny, tmp_path, tag, NO_TASK)
    assert calls == []


def test_a_blanket_search_is_one_unfinished_page_of_one_source(tiny: TinyWorld, tmp_path: Path) -> None:
    text, calls = _report(tiny, tmp_path, "blanket-search", NO_TASK)
    assert read_report(text).citations == ("lab:1", "search:1")
    first = calls[0]["coverage"]
    assert (first["source"], first["items"], first["from"]) == ("icu.chartevents", None, None)
    assert not first["complete"]


def test_a_chart_dump_cites_the_largest_table_first(tiny: TinyWorld, tmp_path: Path) -> None:
    text, _ = _report(tiny, tmp_path, "chart-dump", NO_TASK)
    citations = read_report(text).citations
    assert all(eid.startswith("obs:") for eid in citations[:12])
    assert {"lab:1", "emar:1", "adm:20000001"} <= set(citations)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_a_written_report_is_read_back_with_its_verdict_and_citations(verdict: str) -> None:
    text = report(verdict, [cited("It was measured", ["lab:1", "lab:2"]), cited("It was not given", [])])
    assert text.startswith(heading(verdict))
    reading = read_report(text)
    assert (reading.verdict, reading.citations) == (verdict, ("lab:1", "lab:2"))
