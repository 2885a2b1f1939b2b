"""Timelines: what is shown of a chart around the rows that a label rests on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.adjudication import Window
from harness.review.timeline import MOST_EVIDENCE, MOST_FOUND, Chart, Timeline
from mcp_mimic.chart.tasks import TaskRow, open_tasks
from mcp_mimic.store.store import Store
from tests.harness.scoring.sessions import make_world
from tests.hospital import ADA, ADA_HADM
from tests.scenarios.timed_charts import Chart as Patient
from tests.scenarios.timed_charts import after, given, lab, write_charts

POTASSIUM, SODIUM, CREATININE = 50971, 50983, 50912
SUBJECT = 1001


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Potassium on the hour, ten other values between each two, doses at 1, 2 and 3 h; one result comes late."""
    rows = [lab(POTASSIUM, 60 * hour, 4 + hour / 10) for hour in range(6)]
    rows += [lab(CREATININE, 60 * hour + 5 * n, 1.0) for hour in range(6) for n in range(1, 11)]
    rows += [lab(SODIUM, 61, 140, stored=2000)]
    rows += [given(60, "Albuterol Inhaler"), given(120, "Albuterol 0.083% Neb Soln"), given(180, "Heparin")]
    return write_charts(tmp_path_factory.mktemp("charts"), [Patient(rows=rows)])


@contextmanager
def chart_of(store: Store, subject: int = SUBJECT, minutes: float = 600) -> Iterator[Chart]:
    with open_tasks(store, [TaskRow("t", subject, after(minutes))]) as connection:
        yield Chart(connection)


def timeline(store: Store, *evidence: tuple[str, ...], windows: tuple[Window, ...] = ()) -> Timeline:
    with chart_of(store) as chart:
        return chart.timeline("t", SUBJECT, evidence, windows, after(600))


def window(source: str, names: str | None = None, items: tuple[int, ...] | None = None) -> Window:
    return Window(source, items, names, after(30), after(150))


def test_a_row_is_shown_with_its_neighbours_of_any_item_and_of_its_own(store: Store) -> None:
    found = timeline(store, ("lab:3",))  # potassium at 2 h
    assert [row.eid for row in found.rows if row.evidence] == ["lab:3"]
    times = [(row.at - after(0)).total_seconds() / 60 for row in found.rows if row.at]
    assert times == [60, 105, 110, 120, 125, 130, 180]


def test_what_is_not_known_yet_is_not_there(store: Store) -> None:
    shown = timeline(store, ("lab:2",)).rows  # sodium, a minute later, is its neighbour and comes in a day
    times = [(row.at - after(0)).total_seconds() / 60 for row in shown if row.at]
    assert times == [0, 45, 50, 60, 65, 70, 120]
    assert not any("140" in row.facts for row in shown)
    assert all(row.available and row.available <= after(600) for row in shown)


def test_a_search_says_what_it_found_of_what_was_recorded(store: Store) -> None:
    [searched] = timeline(store, windows=(window("hosp.emar", r"^(?!.*inhaler).*albuterol"),)).searches
    assert (searched.matching, searched.recorded) == (1, 2)
    assert "albuterol" in searched.sought


def test_rows_of_a_search_and_the_rows_around_its_window_are_shown(store: Store) -> None:
    found = timeline(store, windows=(window("hosp.emar", "neb soln"),))
    assert [row.facts.partition(";")[0] for row in found.rows] == [
        "medication: Albuterol 0.083% Neb Soln",
        "medication: Heparin",
    ]
    assert not any(row.evidence for row in found.rows)


def test_very_many_rows_of_any_kind_are_counted_only(store: Store) -> None:
    found = timeline(store, windows=(window("hosp.labevents"),))
    assert found.searches[0].matching > MOST_FOUND
    assert len(found.rows) == 2


def test_long_evidence_is_cut_and_that_is_said(store: Store) -> None:
    eids = tuple(f"lab:{number}" for number in range(1, 61))
    found = timeline(store, eids)
    assert sum(row.evidence for row in found.rows) == MOST_EVIDENCE
    assert found.left_out == 60 - MOST_EVIDENCE


def test_passages_of_one_row_show_it_once_and_without_the_subjects_number(small_store: Store) -> None:
    with chart_of(small_store, ADA, 10_000_000) as chart:
        rows = chart.timeline(
            "t", ADA, [(f"adm:{ADA_HADM}", f"adm:{ADA_HADM}#1")], (), after(10_000_000)
        ).rows
    assert [row.eid for row in rows if row.evidence] == [f"adm:{ADA_HADM}"]
    assert not any(str(ADA) in row.facts for row in rows)


def test_a_code_is_shown_with_what_it_means(small_store: Store) -> None:
    any_row = Window("hosp.diagnoses_icd", None, None, None, None)
    with chart_of(small_store, ADA, 10_000_000) as chart:
        rows = chart.timeline("t", ADA, [], [any_row], after(10_000_000)).rows
    titles = {row.facts.partition(";")[0] for row in rows}
    assert titles & {"Unspecified septicemia", "Acute kidney failure, unspecified"}


def searched(chart: Chart, *windows: Window) -> list[tuple[int, int, str]]:
    """What is told of each search: rows that match, rows recorded, what was sought."""
    found = chart.timeline("t", ADA, [], windows, after(10_000_000)).searches
    return [(one.matching, one.recorded, one.sought) for one in found]


def test_codes_are_sought_by_their_titles_too(small_store: Store) -> None:
    named = Window("hosp.diagnoses_icd", None, "septicemia|kidney", None, None)
    with chart_of(small_store, ADA, 10_000_000) as chart:
        [(matching, recorded, _)] = searched(chart, named)
    assert (matching, recorded) == (2, 2)


def test_terms_are_sought_in_names_and_in_the_text_of_notes(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    for chart in world.charts.values():
        chart.close()
    with chart_of(world.store, ADA, 10_000_000) as chart:
        told = searched(
            chart,
            Window("note.discharge.text", None, None, None, None, ("lvef 35", "digoxin")),
            Window("note.discharge.text", None, None, None, None, ("lve",)),
            Window("note.discharge.text", None, None, None, None, ("furosem*",)),
            Window("note.radiology.text", None, None, None, None, ("lvef",)),
            Window("ed.triage", None, None, None, None, ("weak",)),
            Window("ecg.machine_measurements", None, None, None, None, ("fibrillation",)),
        )
        rows = chart.timeline(
            "t",
            ADA,
            [],
            [Window("note.discharge.text", None, None, None, None, ("lvef",))],
            after(10_000_000),
        ).rows
    assert [(matching, recorded) for matching, recorded, _ in told] == [
        (1, 1), (0, 1), (1, 1), (0, 1), (1, 1), (0, 1),
    ]  # fmt: skip
    assert told[0][2] == "the words lvef 35, digoxin"
    assert [row.eid for row in rows] == ["note:DS-4"]
