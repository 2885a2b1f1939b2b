import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.errors import JobError
from harness.report.cells import is_number, signed
from harness.report.folder import report_markdown, trials_csv, write_report
from harness.report.page import report_page
from harness.report.sheets import all_sheets, terminal_sheets
from harness.report.terminal import print_scores
from harness.stats.record import TrialScore
from harness.stats.summary import summarise
from tests.harness.stats.trials import constant, trial

NOTE = "rule-derived labels; clinician_reviewed = false"
EVIL = '<script>alert("x")</script> [red]=1+1[/red] | `a`'


@pytest.fixture
def trials() -> list[TrialScore]:
    found = [t for tag in ("right-without-evidence", "always-yes") for t in constant(tag, "gold")]
    found += constant("a-model", "yes")
    found += constant("b-model", "lack_of_data")
    return [*found, trial("s0-0", EVIL, dead=EVIL, scenario="00-scenario")]


@pytest.fixture
def summary(trials: list[TrialScore]) -> dict[str, Any]:
    about = {"name": "first", "classification": "synthetic", "release": "3.1", "gold_digest": "sha256:0"}
    declared = {tag: {"instrument": True, "about": "a probe"} for tag in ("always-yes", EVIL)}
    return summarise(
        trials, missing={"a-model": 2}, about=about | {"tasks": 90, "missing": ["t__a"]}, declared=declared
    )


def _printed(summary: dict[str, Any], width: int) -> str:
    out = io.StringIO()
    print_scores(summary, Console(file=out, width=width, no_color=True))
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 100])
def test_the_terminal_shows_whole_names_within_its_width_and_no_colour(
    trials: list[TrialScore], width: int
) -> None:
    text = _printed(summarise([t for t in trials if t.system != EVIL]), width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert text.count("right-without-evidence") >= 3
    assert "…" not in text


def test_markup_in_a_trials_own_words_is_text_on_the_terminal(summary: dict[str, Any]) -> None:
    assert "[red]=1+1[/red]" in _printed(summary, 200)


def test_every_surface_says_where_the_labels_come_from(
    summary: dict[str, Any], trials: list[TrialScore], tmp_path: Path
) -> None:
    page = write_report(summary, trials, tmp_path / "report")
    assert page.read_text(encoding="utf-8").count(NOTE) == 2
    assert NOTE.replace("_", "\\_") in (page.parent / "report.md").read_text(encoding="utf-8")
    assert json.loads((page.parent / "scores.json").read_text(encoding="utf-8"))["labels"]["note"] == NOTE
    assert NOTE in _printed(summary, 100)
    rows = list(csv.DictReader(io.StringIO((page.parent / "trials.csv").read_text(encoding="utf-8"))))
    assert {(row["label"], row["clinician_reviewed"]) for row in rows} == {("rule-derived", "false")}
    assert len(rows) == len(trials)


@pytest.mark.parametrize(
    "files",
    [{"index.html": "my page"}, {"scores.json": "[1, 2]"}, {"scores.json": '{"game": 3}'}, {"notes": ""}],
)
def test_a_folder_with_other_files_is_left_alone(
    summary: dict[str, Any], trials: list[TrialScore], tmp_path: Path, files: dict[str, str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(JobError, match="has other files in it, and no earlier report"):
        write_report(summary, trials, tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_an_earlier_report_is_replaced_and_what_lies_beside_it_stays(
    summary: dict[str, Any], trials: list[TrialScore], tmp_path: Path
) -> None:
    (tmp_path / ".index.html.draft").write_text("left by a run that was killed")
    page = write_report(summary, trials, tmp_path)
    page.write_text("old")
    (tmp_path / "probes.json").write_text("{}")
    assert write_report(summary, trials, tmp_path).read_text(encoding="utf-8") != "old"
    assert (tmp_path / "probes.json").is_file()
    with pytest.raises(JobError, match="is no folder"):
        write_report(summary, trials, page)


def test_a_detectable_difference_of_more_than_everything_is_not_printed(summary: dict[str, Any]) -> None:
    pairs = [
        pair | {"detectable_by_task": 1.2, "detectable_by_scenario": 1.0} for pair in summary["comparisons"]
    ]
    text = _printed(
        summary | {"detectable": summary["detectable"] | {"difference": 1.534}, "comparisons": pairs}, 300
    )
    assert "Detectable difference between two systems: – (n = " in text
    assert "153.4" not in text
    assert "120.0" not in text
    assert "100.0" in text


def test_errors_of_agents_are_counted_in_the_scores_within_80_columns(trials: list[TrialScore]) -> None:
    raised = [replace(t, status="agent_error") if t.system == "a-model" else t for t in trials]
    text = _printed(summarise([t for t in raised if t.system != EVIL]), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "Errors: trials whose agent raised" in " ".join(text.split())
    assert "Errors:" not in _printed(summarise(trials), 80)


def test_every_table_of_means_prints_the_difference_that_could_be_detected(summary: dict[str, Any]) -> None:
    for sheet in (*terminal_sheets(summary), *all_sheets(summary)):
        if sheet.key in ("scores", "verdicts", "axes", "intervals", "fragile", "scenarios"):
            assert "Detectable difference between two systems: " in sheet.note
    [pairs] = [sheet for sheet in terminal_sheets(summary) if sheet.key == "comparisons"]
    assert pairs.columns.count("detectable") == 2


def test_only_contestants_are_compared(summary: dict[str, Any]) -> None:
    [pairs] = [sheet for sheet in all_sheets(summary) if sheet.key == "comparisons"]
    assert "always-yes" not in " ".join(row[0].text for row in pairs.rows)


def test_rows_are_as_wide_as_their_headings(summary: dict[str, Any]) -> None:
    for sheet in all_sheets(summary):
        assert {len(row) for row in sheet.rows} == {len(sheet.columns)}, sheet.key


def test_missing_and_dead_trials_are_said(summary: dict[str, Any]) -> None:
    assert "1 planned trials are not there" in _printed(summary, 100)
    assert any(sheet.key == "dead" for sheet in terminal_sheets(summary))


class _Strict(HTMLParser):
    """Fails on a tag that does not close what is open, and collects tags and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_needs_nothing_from_outside(
    summary: dict[str, Any], trials: list[TrialScore]
) -> None:
    page = report_page(summary, trials)
    parser = _Strict()
    parser.feed(page)
    assert parser.open == []
    assert parser.addresses == []
    assert not parser.tags & {"script", "img", "link", "iframe"}
    assert "url(" not in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_what_a_trial_says_of_itself_cannot_break_out_of_any_file(
    summary: dict[str, Any], trials: list[TrialScore]
) -> None:
    assert "<script>" not in report_page(summary, trials)
    assert "<script>" not in report_markdown(summary)
    formula = trial("t1", dead="=HYPERLINK(1)")
    [row] = csv.DictReader(io.StringIO(trials_csv([formula])))
    assert row["cause"] == "'=HYPERLINK(1)"


@pytest.mark.parametrize("trials", [[], [trial()], [trial(dead="boom")]])
def test_small_and_empty_jobs_have_a_report_too(trials: list[TrialScore], tmp_path: Path) -> None:
    summary = summarise(trials, missing={"a": 1})
    assert write_report(summary, trials, tmp_path).exists()
    assert NOTE in _printed(summary, 80)


def test_a_report_that_cannot_be_written_whole_leaves_the_first_one(
    summary: dict[str, Any], trials: list[TrialScore], tmp_path: Path
) -> None:
    write_report(summary, trials, tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match="JSON"):
        write_report(summary | {"job": {"tasks": float("nan")}}, trials, tmp_path)
    (tmp_path / ".trials.csv.draft").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_report(summary | {"job": {"name": "other"}}, trials, tmp_path)
    (tmp_path / ".trials.csv.draft").rmdir()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first


def test_a_second_report_replaces_the_first(
    summary: dict[str, Any], trials: list[TrialScore], tmp_path: Path
) -> None:
    write_report(summary, trials, tmp_path)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write_report(summary, trials, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first


def test_a_cell_that_only_begins_like_a_number_is_text() -> None:
    assert all(
        map(
            is_number,
            ("", "–", "12", "30.8", "+4.0", "-4.0", "18–45", "-3 to 12", "<0.001", "30.8=", "100.0 "),
        )
    )
    assert not any(map(is_number, ("01-kdigo-stage-two-in-icu", "2 of 3", "a", "1-model", "- x")))


def test_no_difference_has_no_sign() -> None:
    assert [signed(value) for value in (0.0, -0.0, 0.1, -0.1, None)] == ["0.0", "0.0", "+10.0", "-10.0", "–"]
