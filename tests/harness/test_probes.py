"""Every instrument falls where it should and nowhere else, on real runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.direct import Batch, DirectRunner
from harness.job import Setting
from harness.probes import AXES, compare, load_expected, probe_sheet
from harness.systems import load_systems
from tests.harness.tiny import GOLDS, LACTATE, NO_CALCIUM, TinyWorld, write_tasks


@pytest.fixture(scope="module")
def scores(tiny: TinyWorld, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Every system's scores on every tiny task."""
    job = tmp_path_factory.mktemp("probes")
    systems = tuple(load_systems().values())
    runner = DirectRunner(Setting(tiny.tasks, tiny.store, job))
    for task in GOLDS:
        runner.run(Batch(task, systems))
    return {
        system.tag: [_score(job / f"{task}__{system.tag}") for task in sorted(GOLDS)] for system in systems
    }


def _score(trial: Path) -> dict[str, Any]:
    score: dict[str, Any] = json.loads((trial / "verifier" / "score.json").read_bytes())
    return score


def test_the_expectations_cover_every_instrument_and_axis() -> None:
    expected = load_expected()
    assert list(expected) == [system.tag for system in load_systems().values() if system.instrument]
    assert all(tuple(marks) == AXES for marks in expected.values())


@pytest.mark.parametrize("tag", list(load_expected()))
def test_a_real_run_gives_the_expected_pattern(scores: dict[str, list[dict[str, Any]]], tag: str) -> None:
    cells = compare(load_expected()[tag], scores[tag])
    assert {axis: cell.wrong for axis, cell in cells.items() if cell.wrong} == {}


def test_a_cell_that_is_not_as_expected_names_its_tasks_and_is_marked(
    scores: dict[str, list[dict[str, Any]]],
) -> None:
    cells = compare(load_expected()["oracle"], scores["right-without-evidence"])
    assert cells["verdict"].wrong == ()
    assert cells["supported"].wrong == tuple(sorted(GOLDS))
    sheet = probe_sheet(
        {"oracle": {axis: {"mean": c.mean, "mark": c.mark, "wrong": c.wrong} for axis, c in cells.items()}}
    )
    texts = [cell.text for cell in sheet.rows[0]]
    assert texts[0] == "oracle"
    assert texts[1 + AXES.index("verdict")] == "100.0 "
    assert texts[1 + AXES.index("supported")] == "0.0!"
    assert "6 of 7 cells are NOT as expected" in sheet.note


def test_a_blanket_search_fails_only_where_an_absence_must_be_shown(
    scores: dict[str, list[dict[str, Any]]],
) -> None:
    by_rows, by_search = scores["blanket-search"]
    assert by_rows["supported"] == 1.0
    assert by_search["supported"] == 0.0
    assert [need["satisfied"] for need in by_search["requirements"]] == [True, False]
    assert [need["by_rows"] for need in by_search["requirements"]] == [True, False]


@pytest.mark.parametrize("kind", ["absence", "series"])
@pytest.mark.parametrize("row", ["lab:1", pytest.param("lab:25", marks=pytest.mark.slow)])
def test_an_absence_or_a_series_that_rows_can_show_is_expected_of_every_probe_that_cites_rows(
    tiny: TinyWorld, tmp_path: Path, kind: str, row: str
) -> None:
    shown = LACTATE | {"id": "no_treatment_in_time", "kind": kind, "alternatives": [[row]]}
    shown["search"] = [{"source": "hosp.labevents", "items": [50813, 50912], "from": None, "to": None}]
    golds = {
        "05-tiny-00000000cccc": ("lack_of_data", [LACTATE, shown]),
        "05-tiny-00000000dddd": ("no", [LACTATE, shown, NO_CALCIUM]),
    }
    write_tasks(tmp_path / "tasks", tiny.fingerprint, golds)
    probes = ("oracle", "two-answers", "blanket-search")
    runner = DirectRunner(Setting(tmp_path / "tasks", tiny.store, tmp_path / "job"))
    for task in golds:
        runner.run(Batch(task, tuple(load_systems()[tag] for tag in probes)))
    for tag in probes:
        found = [_score(tmp_path / "job" / f"{task}__{tag}") for task in sorted(golds)]
        cells = compare(load_expected()[tag], found)
        assert {axis: cell.wrong for axis, cell in cells.items() if cell.wrong} == {}
