"""Cohorts of others: every row is accounted for, and no label is taken unseen."""

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from harness.cli import run
from harness.cohort import build_cohort, read_cohort, write_cohort
from harness.cohort_check import CheckedCohort, check_cohort
from harness.scenario import Scenario, load_scenario
from mcp_mimic.store.store import Store
from tests.harness.built_tasks import World
from tests.harness.toy_scenario import ADMITTED, ward_store, write_toy

Check = Callable[..., CheckedCohort]
Captured = pytest.CaptureFixture[str]

HEADER = ("template", "patient", "t0", "asof", "label", "params", "hadm_id", "sealed_hadm_id", "index_eid")
NAMES = {
    "scenario": "template",
    "subject_id": "patient",
    "index_time": "t0",
    "as_of": "asof",
    "gold": "label",
}
END = ADMITTED + timedelta(hours=6)
LATER = ADMITTED + timedelta(days=300)
GOOD = {
    "template": "90-early-potassium",
    "patient": "101",
    "t0": ADMITTED.isoformat(),
    "asof": END.isoformat(),
    "label": "yes",
    "params": "",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    potassium = {101: 6.2, 102: 6.4, 103: 4.1, 104: 4.2, 105: 4.3}
    subjects = {n: [(ADMITTED, [(ADMITTED + timedelta(hours=2), value)])] for n, value in potassium.items()}
    subjects[105].append((LATER, [(LATER + timedelta(hours=2), 4.1)]))
    return ward_store(tmp_path_factory.mktemp("ward"), subjects)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return load_scenario(write_toy(tmp_path_factory.mktemp("toy")))


def write_theirs(path: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, HEADER)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def check(store: Store, scenario: Scenario, tmp_path: Path) -> Check:
    def checked(*rows: Mapping[str, str]) -> CheckedCohort:
        file = write_theirs(tmp_path / "theirs.csv", rows)
        return check_cohort(file, store, [scenario], columns=NAMES)

    return checked


def test_rows_that_hold_have_the_cases_keys_and_our_rule(check: Check) -> None:
    found = check(GOOD, GOOD | {"patient": "103", "label": "no"})
    assert found.unmatched == ()
    assert found.filled == 2
    first, second = found.rows
    assert (first.hadm_id, first.sealed_hadm_id, first.index_eid) == (1011, 1011, "adm:1011")
    assert (second.subject_id, second.gold, second.rule) == (103, "no", "potassium")


def test_labels_are_compared_with_our_adjudication(check: Check) -> None:
    rows = [
        GOOD | {"patient": patient, "label": label}
        for patient, label in zip("1234", ("yes", "no", "no", "no"), strict=True)
    ]
    found = check(*(row | {"patient": f"10{row['patient']}"} for row in rows))
    [(name, agreed)] = found.agreements()
    # two raters, 4 cases: theirs 1 yes 3 no, ours 2 yes 2 no; p_o = 3/4, p_e = 1/4 * 1/2 + 3/4 * 1/2 = 1/2
    assert (name, agreed.agreed, agreed.cases, agreed.kappa) == ("90-early-potassium", 3, 4, 0.5)
    [other] = found.disagreements
    assert (other.line, other.gold, other.ours) == (3, "no", "yes")
    kept = found.rows[1]
    assert (kept.gold, kept.rule) == ("no", "")


def test_what_a_row_says_rightly_or_not_at_all_becomes_the_cases(check: Check) -> None:
    said = {
        "hadm_id": "1011",
        "sealed_hadm_id": "1011",
        "index_eid": "adm:1011",
        "params": '{"threshold": 5}',
    }
    [whole] = check(GOOD | said).rows
    sparse = check(GOOD | {"asof": "", "t0": (ADMITTED + timedelta(seconds=40)).isoformat()})
    assert sparse.rows == (whole,)
    assert (whole.index_time, whole.as_of, whole.params) == (ADMITTED, END, '{"threshold":5.0}')
    assert (check(GOOD | said).filled, sparse.filled) == (0, 1)


def test_a_patient_with_two_admissions_has_each_row_matched_with_its_own(check: Check) -> None:
    later = {"patient": "105", "t0": LATER.isoformat(), "asof": "", "label": "no"}
    found = check(GOOD | later | {"hadm_id": "1051"}, GOOD | later | {"sealed_hadm_id": "1051"}, GOOD | later)
    assert [(x.line, x.column) for x in found.unmatched] == [(2, "hadm_id"), (3, "sealed_hadm_id")]
    assert "1052" in found.unmatched[0].reason
    assert [row.hadm_id for row in found.rows] == [1052]


UNMATCHED = {
    "an unknown scenario": ({"template": "99-nothing"}, "unknown scenario '99-nothing'"),
    "a subject of another store": ({"patient": "999"}, "subject_id 999 is not in the store"),
    "no verdict": ({"label": "maybe"}, "gold is 'maybe'"),
    "a time that is none": ({"t0": "soon"}, "index_time is 'soon'"),
    "times of another shift": (
        {"t0": "2180-01-01T00:00:00", "asof": "2180-01-02T00:00:00"},
        "is that of no case of the scenario",
    ),
    "a time some minutes off": (
        {"t0": (ADMITTED + timedelta(minutes=7)).isoformat()},
        "is that of no case of the scenario",
    ),
    "another as-of time": (
        {"asof": "2299-01-01T00:00:00"},
        "as_of is 2299-01-01 00:00:00, and the scenario's",
    ),
    "an index row that is not there": ({"index_eid": "lab:999999"}, "index_eid is lab:999999, and"),
    "an index row that is no id": ({"index_eid": "foo"}, "index_eid is 'foo'"),
    "another value of the params": ({"params": '{"threshold": 800}'}, 'params is {"threshold":800}, and'),
    "a misspelt param": ({"params": '{"treshold": 5.0}'}, 'params is {"treshold":5.0}, and'),
    "an as-of before the index": ({"asof": "2150-03-01T00:00:00"}, "as_of lies before index_time"),
    "the same case again": ({}, "the same case as in line 2"),
}


@pytest.fixture(scope="module")
def faulty(store: Store, scenario: Scenario, tmp_path_factory: pytest.TempPathFactory) -> CheckedCohort:
    """Between two rows that hold, one of each fault."""
    faults = [GOOD | change for change, _ in UNMATCHED.values()]
    rows = [GOOD, *faults, GOOD | {"patient": "104", "label": "no"}]
    file = write_theirs(tmp_path_factory.mktemp("faulty") / "theirs.csv", rows)
    return check_cohort(file, store, [scenario], columns=NAMES)


@pytest.mark.parametrize("fault", UNMATCHED)
def test_a_row_that_does_not_match_is_listed_with_line_reason_and_remedy(
    fault: str, faulty: CheckedCohort
) -> None:
    line = 3 + list(UNMATCHED).index(fault)
    [problem] = [each for each in faulty.unmatched if each.line == line]
    assert UNMATCHED[fault][1] in problem.reason
    assert problem.remedy


def test_no_row_is_lost_and_the_others_hold(faulty: CheckedCohort) -> None:
    assert [row.subject_id for row in faulty.rows] == [101, 104]
    assert len(faulty.unmatched) == len(UNMATCHED)


def test_our_own_cohort_holds_and_stays_the_same(store: Store, scenario: Scenario, tmp_path: Path) -> None:
    cohort = build_cohort(store, [scenario])
    write_cohort(cohort, tmp_path / "cohort.csv")
    found = check_cohort(tmp_path / "cohort.csv", store, [scenario])
    assert (found.rows, found.unmatched, found.filled) == (cohort.rows, (), 0)


# --- the command --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world(task_world: World) -> World:
    return task_world


def command(world: World, tmp_path: Path, rows: Sequence[Mapping[str, str]], *options: str) -> int:
    theirs = write_theirs(tmp_path / "theirs.csv", rows)
    maps = [word for name, column in NAMES.items() for word in ("--map", f"{name}={column}")]
    return run(["cohort", "--store", str(world.store.path), "--from", str(theirs), *maps, *options])


@pytest.fixture
def lactate(world: World) -> dict[str, str]:
    row = world.rows["lactate yes"]
    return GOOD | {
        "template": row.scenario,
        "patient": str(row.subject_id),
        "t0": row.index_time.isoformat(),
        "asof": row.as_of.isoformat(),
    }


def test_the_agreement_is_printed_and_labels_are_said_to_be_unsigned(
    world: World, lactate: dict[str, str], tmp_path: Path, capsys: Captured
) -> None:
    out = tmp_path / "cohort.csv"
    assert command(world, tmp_path, [lactate | {"label": "no"}], "--out", str(out)) == 0
    printed = capsys.readouterr()
    assert "05-lactate-remeasurement-six-hours\t0 of 1 agree" in printed.out
    assert "line 2: 05-lactate-remeasurement-six-hours: the labels differ" in printed.out
    assert "clinician_reviewed = false" in printed.err
    assert (tmp_path / "cohort.disagreements.csv").read_text().splitlines()[1].startswith("2,05-lactate")


def test_nothing_is_written_while_a_row_does_not_match(
    world: World, lactate: dict[str, str], tmp_path: Path, capsys: Captured
) -> None:
    out = tmp_path / "cohort.csv"
    rows = [lactate, lactate | {"patient": "77"}]
    assert command(world, tmp_path, rows, "--out", str(out)) == 2
    printed = capsys.readouterr()
    assert "line 3: subject_id does not fit" in printed.out
    assert "1 of 2 rows does not match" in printed.err
    assert "--allow-unmatched" in printed.err
    assert not out.exists()


def test_unmatched_rows_are_left_out_where_that_is_allowed_and_listed_beside(
    world: World, lactate: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "cohort.csv"
    rows = [lactate | {"patient": "77"}, lactate]
    assert command(world, tmp_path, rows, "--out", str(out), "--allow-unmatched") == 0
    (row,) = read_cohort(out, world.store)
    assert (row.subject_id, row.rule) == (int(lactate["patient"]), world.rows["lactate yes"].rule)
    with (tmp_path / "cohort.unmatched.csv").open(newline="") as file:
        [listed] = csv.DictReader(file)
    assert (listed["line"], listed["reason"].startswith("subject_id 77")) == ("2", True)


def test_a_cohort_of_others_that_holds_can_be_built(
    world: World, lactate: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("a key of one group, long enough")
    out, tasks = tmp_path / "cohort.csv", tmp_path / "tasks"
    assert command(world, tmp_path, [lactate], "--out", str(out)) == 0
    options = ["--cohort", str(out), "--out", str(tasks), "--key-file", str(tmp_path / "key")]
    build = ["build", "--store", str(world.store.path), *options]
    assert run([*build, "--split", "dev"]) == 2
    assert not tasks.exists()
    assert run(build) == 0
    assert len(list(tasks.glob("05-lactate*"))) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--allow-unmatched", "--out", "x.csv"], "belong to --from"),
        ([], "a file to write must be named"),
        (["--from", "absent.csv"], "cannot be read as a cohort file"),
        (["--from", "absent.csv", "--out", "absent.csv"], "is the file to check"),
        (["--from", "absent.csv", "--out", "nowhere/x.csv"], "no file can be written there"),
    ],
)
def test_options_that_do_not_fit_are_one_line_and_a_hint(
    world: World,
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["cohort", "--store", str(world.store.path), *options]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert said in error
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("name", ["unmatched", "disagreements"])
def test_the_file_to_check_is_never_one_of_those_written(
    name: str, world: World, lactate: dict[str, str], tmp_path: Path, capsys: Captured
) -> None:
    theirs = write_theirs(tmp_path / f"x.{name}.csv", [lactate])
    before = theirs.read_bytes()
    maps = [word for name, column in NAMES.items() for word in ("--map", f"{name}={column}")]
    options = [
        "--store",
        str(world.store.path),
        "--from",
        str(theirs),
        *maps,
        "--out",
        str(tmp_path / "x.csv"),
    ]
    assert run(["cohort", *options]) == 2
    assert "is the file to check" in capsys.readouterr().err
    assert theirs.read_bytes() == before


def test_of_patients_no_cell_is_printed_and_files_are_for_their_owner(
    world: World, lactate: dict[str, str], tmp_path: Path, capsys: Captured
) -> None:
    assert world.store.manifest.classification == "credentialed"
    out = tmp_path / "cohort.csv"
    out.touch(mode=0o644)
    rows = [
        lactate | {"label": "no"},
        lactate | {"patient": "770077"},
        lactate | {"asof": "2170-01-01T00:00:00"},
        lactate | {"t0": "2140-01-01T00:00:00"},
    ]
    assert command(world, tmp_path, rows, "--out", str(out), "--allow-unmatched") == 0
    printed = capsys.readouterr()
    said = (printed.out + printed.err).replace(str(tmp_path), "")
    assert "line 2: 05-lactate-remeasurement-six-hours: the labels differ" in said
    for line, column in ((3, "subject_id"), (4, "as_of"), (5, "index_time")):
        assert f"line {line}: {column} does not fit; " in said
    for cell in (lactate["patient"], lactate["t0"][:10], "770077", "2170", "2140"):
        assert not re.search(rf"(?<!\d){cell}(?!\d)", said), cell
    for file in (out, tmp_path / "cohort.unmatched.csv", tmp_path / "cohort.disagreements.csv"):
        assert file.stat().st_mode & 0o777 == 0o600
    assert "770077" in (tmp_path / "cohort.unmatched.csv").read_text()
