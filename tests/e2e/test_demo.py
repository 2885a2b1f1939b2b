"""The demo: one command from nothing to scores, as the README's first lines promise."""

import json
import time
from pathlib import Path

import pytest

from harness.cli import run
from harness.probes import AXES, load_expected
from harness.scenario import load_scenarios
from mcp_mimic.contract import VERDICTS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's folder, made once."""
    folder = tmp_path_factory.mktemp("made") / "demo"
    assert run(["demo", "--out", str(folder), "--json"]) == 0
    return folder


def _again(made: Path, capfd: pytest.CaptureFixture[str]) -> tuple[dict[str, object], str]:
    capfd.readouterr()
    assert run(["demo", "--out", str(made), "--json"]) == 0
    printed = capfd.readouterr()
    return json.loads(printed.out), printed.err


def test_the_oracle_has_all_of_every_axis_and_each_probe_falls_where_it_should(
    made: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scores, _ = _again(made, capfd)
    probes = scores["probes"]
    assert {tag: {axis: cell["mark"] for axis, cell in cells.items()} for tag, cells in probes.items()} == (
        load_expected()
    )
    wrong = {
        (tag, axis): c["wrong"] for tag, cells in probes.items() for axis, c in cells.items() if c["wrong"]
    }
    assert wrong == {}
    assert [probes["oracle"][axis]["mean"] for axis in AXES] == [1.0] * len(AXES)


def test_every_scenario_has_every_class(made: Path) -> None:
    classes: dict[str, set[str]] = {}
    for file in (made / "tasks").glob("*/tests/gold.json"):
        gold = json.loads(file.read_text())
        classes.setdefault(gold["scenario"], set()).add(gold["verdict"])
    assert classes.keys() == {scenario.id for scenario in load_scenarios()}
    assert all(found == set(VERDICTS) for found in classes.values())


def test_a_second_run_takes_seconds_and_changes_nothing(
    made: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*") if path.is_file()}
    began = time.monotonic()
    _, told = _again(made, capfd)
    assert time.monotonic() - began < 5
    assert all("there already" in line for line in told.splitlines())
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*") if path.is_file()} == before


def test_the_table_and_the_report_say_that_labels_are_rule_derived(
    made: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    capfd.readouterr()
    assert run(["demo", "--out", str(made)]) == 0
    table = capfd.readouterr().out
    assert "all 63 cells are as expected" in table
    for text in (
        table,
        (made / "report" / "report.md").read_text(),
        (made / "report" / "index.html").read_text(),
    ):
        assert "rule-derived" in text
