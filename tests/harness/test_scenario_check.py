"""`harness scenario`: a folder that holds together is told so, and each kind of slip by its file and remedy."""

import re
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from harness.cli import run
from harness.cohort_file import CohortRow
from harness.data import data_folder
from harness.review.signoff import SIGNOFF_FILE, SignOff, content_digest, write_signoff
from harness.scenario import load_scenario
from harness.scenario_check import check_scenario, wrong_plants
from harness.scenario_page import scenario_page
from harness.synthetic.hospital import Hospital, PlantedCase
from tests.harness.review.reviews import reviewed

LACTATE = "05-lactate-remeasurement-six-hours"
SHIPPED = data_folder("scenarios") / "determination"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(SHIPPED / LACTATE, tmp_path / LACTATE))


def spoil(folder: Path, name: str, old: str, new: str) -> None:
    file = folder / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.slow
def test_a_whole_scenario_has_no_problem() -> None:
    found = check_scenario(SHIPPED / LACTATE)
    assert found.problems == ()
    assert found.carriers == 39
    assert all(found.strata[verdict] for verdict in ("yes", "no", "lack_of_data", "medical_ambiguity"))


@pytest.mark.slow
def test_a_rule_that_gives_a_plant_another_verdict_is_found(folder: Path) -> None:
    spoil(folder, "adjudicate.sql", "coalesce(f.r <= s.t6, false) as in_time", "false as in_time")
    problems = check_scenario(folder).problems
    assert any(
        re.search(r"plants\.toml: plant \w+ is no by the rule not_repeated, not yes", one) for one in problems
    )


def test_an_index_elsewhere_is_told_with_the_one_that_was_planted(tmp_path: Path) -> None:
    def case(at: str) -> CohortRow:
        index = datetime.fromisoformat(at)
        return CohortRow(LACTATE, 1, None, None, index, index, None, None, "{}", "yes", "repeated")

    planted = PlantedCase(LACTATE, "early", "yes", 1, "2150-03-04 14:00:00")
    hospital = Hospital(tmp_path, 1, 1, {}, (planted,))
    scenario = load_scenario(SHIPPED / LACTATE)
    assert not list(wrong_plants([case("2150-03-04 14:00:00")], scenario, hospital))
    [told] = wrong_plants([case("2150-03-04 15:00:00")], scenario, hospital)
    assert (
        "plant early is planted at 2150-03-04 14:00:00, and cohort.sql has it at 2150-03-04 15:00:00" in told
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("adjudicate.sql", "from finding", "from findings", "adjudicate.sql fails: Catalog Error"),
        ("cohort.sql", "adult_admissions()", "adult_admission()", "cohort.sql fails: Catalog Error"),
        ("evidence.sql", "select", "selekt", "evidence.sql fails"),
    ],
)
def test_sql_that_does_not_run_is_told_on_a_store_without_patients(
    folder: Path, name: str, old: str, new: str, told: str
) -> None:
    spoil(folder, name, old, new)
    (problem,) = check_scenario(folder).problems
    assert told in problem


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        (
            "scenario.toml",
            'policies = ["',
            'policies = ["no-such-policy", "',
            "policy no-such-policy is not in the corpus",
        ),
        ("scenario.toml", "yes = 14", "yes = 13", "mix asks for 29 cases"),
        ("scenario.toml", "50813", "50899", "has no item 50899"),
        ("cohort.sql", "50813", "508130", "has no item 508130"),
    ],
)
def test_what_the_files_say_of_each_other_is_held_to_it(
    folder: Path, name: str, old: str, new: str, told: str
) -> None:
    spoil(folder, name, old, new)
    spoil(folder, "cohort.sql", "from eligible e", "from eligibles e")  # so that no hospital is made
    problems = check_scenario(folder).problems
    assert any(told in one and str(folder / name) in one for one in problems), problems


@pytest.mark.slow
def test_a_requirement_that_cannot_be_met_is_named_and_so_is_its_wrong_item(folder: Path) -> None:
    spoil(folder, "scenario.toml", "[50813]", "[508130]")
    item, oracle = check_scenario(folder).problems
    assert f"{folder / 'scenario.toml'}, evidence 'index_lactate'" in item
    assert "has no item 508130 in hosp.labevents" in item
    assert "for it does not meet index_lactate (not retrieved: no lab:" in oracle


def test_the_command_tells_problems_and_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(folder, "cohort.sql", "from eligible e", "from eligibles e")
    assert run(["scenario", "check", str(folder)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith(f"{LACTATE}\t1 problem\t")
    assert out[0].endswith("\trule-derived labels; clinician_reviewed = false")
    assert "cohort.sql fails" in out[1]


def test_the_command_tells_a_signed_scenario(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(folder, "cohort.sql", "from eligible e", "from eligibles e")
    signed = SignOff(
        scenario=LACTATE, version=1, content=content_digest(folder), review=(reviewed(classification="open"),)
    )
    write_signoff(signed, folder / SIGNOFF_FILE)
    assert run(["scenario", "check", str(folder)]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith(
        "\tclinician-signed labels (signed on charts of an open release); clinician_reviewed = true"
    )


def test_a_name_that_is_no_scenario_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scenario", "show", "99"]) != 0
    assert "unknown scenario '99'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (".", ". is no scenario: there is no scenario.toml in it"),
        ("nowhere/26-lactate-again", "nowhere/26-lactate-again: no such folder"),
        ("lactate", "did you mean lactate-remeasurement-six-hours?"),
        ("05-lact", "did you mean 05-lactate-remeasurement-six-hours?"),
        ("insulin-infusion", "unknown scenario 'insulin-infusion'"),
        ("lactate-remeasurement-six-hour", "did you mean lactate-remeasurement-six-hours?"),
    ],
)
def test_a_path_that_is_no_scenario_is_told_without_a_list_of_all(
    name: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["scenario", "check", name]) != 0
    error = capsys.readouterr().err
    assert told in error
    assert "01-kdigo" not in error


def test_a_scenario_s_own_folder_may_be_where_one_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run(["scenario", "show", "."]) == 0
    assert capsys.readouterr().out == scenario_page(load_scenario(folder))


def test_a_page_shows_what_decides_and_that_no_clinician_signed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scenario", "show", "5"]) == 0
    page = capsys.readouterr().out
    scenario = load_scenario(SHIPPED / LACTATE)
    assert page == scenario_page(scenario)
    assert "clinician_reviewed = false" in page
    for text in (scenario.question, *scenario.definitions, *scenario.criteria.values()):
        assert text.replace("{index_time}", "[index time]") in page
