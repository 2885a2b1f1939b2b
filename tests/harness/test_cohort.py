"""Cohorts: eligibility, labels, sampling, the file."""

import csv
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from harness.build import choose_split
from harness.cohort import Cohort, build_cohort, read_cohort, split_rows, write_cohort
from harness.cohort_file import COLUMNS, CohortRow, write_rows
from harness.errors import CohortError, RunError, ScenarioError, TaskError
from harness.scenario import Scenario, load_scenario
from mcp_mimic.contract import VERDICTS
from mcp_mimic.store.store import Store
from tests.harness.toy_scenario import ADMITTED, Admissions, ward_store, write_toy


def soon(hours: float, value: float, start: datetime = ADMITTED) -> tuple[datetime, float]:
    return start + timedelta(hours=hours), value


LATER = ADMITTED + timedelta(days=300)

SUBJECTS: dict[int, Admissions] = {
    **{101 + n: [(ADMITTED, [soon(2, 6.2)])] for n in range(5)},
    **{201 + n: [(ADMITTED, [soon(2, 4.1)])] for n in range(2)},
    203: [(ADMITTED, [soon(2, 4.9)])],
    204: [(ADMITTED, [soon(6 - 1 / 30, 4.1), soon(3, 4.0)])],
    301: [(ADMITTED, [])],
    # excluded or moved on
    401: [(ADMITTED, [soon(2, 6.2)])],
    501: [(ADMITTED, [soon(2, 4.1)]), (LATER, [soon(2, 6.2, LATER)])],
    502: [(ADMITTED, [soon(1, 4.1), soon(2, 4.1), soon(3, 4.1)]), (LATER, [soon(2, 4.1, LATER)])],
}
MINOR, TWICE, INELIGIBLE_FIRST, FRAGILE = 401, 501, 502, 203


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return ward_store(tmp_path_factory.mktemp("ward"), SUBJECTS, ages={MINOR: 17})


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return load_scenario(write_toy(tmp_path_factory.mktemp("toy")))


@pytest.fixture(scope="module")
def cohort(store: Store, scenario: Scenario) -> Cohort:
    return build_cohort(store, [scenario])


@pytest.fixture(scope="module")
def everyone(store: Store, scenario: Scenario) -> dict[int, CohortRow]:
    """The rows of a cohort without a limit, by subject."""
    unlimited = scenario.model_copy(update={"mix": dict.fromkeys(scenario.mix, 99)})
    return {row.subject_id: row for row in build_cohort(store, [unlimited]).rows}


def test_minors_are_left_out(everyone: dict[int, CohortRow]) -> None:
    assert set(everyone) == set(SUBJECTS) - {MINOR}


def test_a_subject_gives_its_first_eligible_event(everyone: dict[int, CohortRow]) -> None:
    assert (everyone[TWICE].index_time, everyone[TWICE].gold) == (ADMITTED, "no")
    assert everyone[INELIGIBLE_FIRST].index_time == LATER


def test_cases_carry_the_scenarios_params(everyone: dict[int, CohortRow]) -> None:
    assert {row.params for row in everyone.values()} == {'{"threshold":5.0}'}


def test_strata_count_what_there_was_and_what_was_short(cohort: Cohort) -> None:
    counts = {s.verdict: (s.eligible, s.wanted, s.taken, s.short) for s in cohort.strata}
    assert counts == {
        "yes": (5, 3, 3, 0),
        "no": (6, 3, 3, 0),
        "lack_of_data": (1, 1, 1, 0),
        "medical_ambiguity": (0, 1, 0, 1),
    }
    assert [s.verdict for s in cohort.shortfalls] == ["medical_ambiguity"]


def test_a_stratum_is_sampled_by_the_hash_of_slug_and_subject(cohort: Cohort) -> None:
    ranked = sorted(
        range(101, 106), key=lambda subject: hashlib.md5(f"early-potassium:{subject}".encode()).hexdigest()
    )
    assert [row.subject_id for row in cohort.rows if row.gold == "yes"] == ranked[:3]


def test_fragile_cases_are_taken_only_where_others_run_out(
    cohort: Cohort, everyone: dict[int, CohortRow]
) -> None:
    assert everyone[FRAGILE].fragile
    assert not any(row.fragile for row in cohort.rows)


def test_the_same_store_gives_the_same_bytes(
    cohort: Cohort, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    write_cohort(cohort, tmp_path / "one.csv")
    write_cohort(build_cohort(store, [scenario]), tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_progress_names_the_scenario(store: Store, scenario: Scenario) -> None:
    heard: list[str] = []
    build_cohort(store, [scenario], progress=heard.append)
    assert all(message.startswith("90-early-potassium") for message in heard)
    assert len(heard) == 2


SQL_SLIPS = {
    "cohort.sql": ("select 1 as subject_id", "cohort.sql returns no column hadm_id"),
    "adjudicate.sql": ("select task_id, 'maybe' as verdict, 'r' as rule from task", "verdict maybe"),
    "evidence.sql": (
        "select task_id, 'sodium' as requirement, null as alternative, 'lab:1' as eid, 'relevant' as role from task",
        "requirement sodium",
    ),
}


@pytest.mark.parametrize("name", SQL_SLIPS)
def test_sql_that_returns_the_wrong_thing_is_named(name: str, store: Store, tmp_path: Path) -> None:
    sql, said = SQL_SLIPS[name]
    with pytest.raises(ScenarioError) as caught:
        build_cohort(store, [load_scenario(write_toy(tmp_path, {name: sql}))])
    assert said in caught.value.message


def test_sql_that_the_machine_fails_is_not_the_scenarios_fault(store: Store, tmp_path: Path) -> None:
    sql = "select * from read_csv('/nowhere/at/all.csv')"
    scenario = load_scenario(write_toy(tmp_path, {"cohort.sql": sql}))
    with pytest.raises(RunError, match=r"cohort\.sql fails: IO Error"):
        build_cohort(store, [scenario])


@pytest.mark.parametrize("name", SQL_SLIPS)
def test_sql_that_fails_is_named(name: str, store: Store, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=f"{name} fails"):
        build_cohort(store, [load_scenario(write_toy(tmp_path, {name: "select nothing from nowhere"}))])


@pytest.mark.parametrize("name", SQL_SLIPS)
def test_the_line_of_sql_that_fails_is_told(name: str, store: Store, tmp_path: Path) -> None:
    sql = "\n\n  -- why\nselect *\nfrom nowhere -- there\n"
    with pytest.raises(ScenarioError, match=r"nowhere does not exist!.* \(line 5: from nowhere -- there\)"):
        build_cohort(store, [load_scenario(write_toy(tmp_path, {name: sql}))])


def test_a_task_with_two_verdicts_is_refused(store: Store, tmp_path: Path) -> None:
    sql = "select task_id, unnest(['yes', 'no']) as verdict, 'r' as rule from task"
    with pytest.raises(ScenarioError, match="gives 2 rows for a task"):
        build_cohort(store, [load_scenario(write_toy(tmp_path, {"adjudicate.sql": sql}))])


# --- split --------------------------------------------------------------------------------------------


CATALOGUE_MIXES = [
    "12/12/5/1",
    "12/13/4/1",
    "11/12/6/1",
    "13/11/5/1",
    "14/11/4/1",
    "12/12/5/1",
    "16/9/4/1",
    "14/10/5/1",
    "11/13/5/1",
    "10/14/5/1",
    "12/12/5/1",
    "13/11/5/1",
    "11/12/5/2",
    "14/11/4/1",
    "10/13/5/2",
    "14/11/4/1",
    "13/10/6/1",
    "14/10/5/1",
    "12/11/6/1",
    "12/11/6/1",
    "13/11/5/1",
    "9/15/5/1",
    "10/14/5/1",
    "9/15/5/1",
    "13/12/4/1",
]


def numbered(scenario: Scenario, number: int, mix: str) -> Scenario:
    counts = dict(zip(VERDICTS, map(int, mix.split("/")), strict=True))
    return scenario.model_copy(update={"id": f"{number:02}-early-potassium", "mix": counts})


@pytest.fixture(scope="module")
def catalogue(scenario: Scenario) -> list[Scenario]:
    """The toy under the numbers and the mixes of the 25 scenarios."""
    return [numbered(scenario, number, mix) for number, mix in enumerate(CATALOGUE_MIXES, start=1)]


def cases_of(scenarios: Sequence[Scenario], like: CohortRow) -> list[CohortRow]:
    verdicts = [(each.id, verdict) for each in scenarios for verdict, n in each.mix.items() for _ in range(n)]
    return [
        replace(like, scenario=name, gold=verdict, subject_id=1000 + place)
        for place, (name, verdict) in enumerate(verdicts)
    ]


def dev_cases(rows: Sequence[CohortRow], scenarios: Sequence[Scenario]) -> set[tuple[str, int]]:
    return {(row.scenario, row.subject_id) for row in split_rows(rows, scenarios) if row.split == "dev"}


def test_148_of_the_750_cases_of_25_scenarios_are_for_development(
    catalogue: list[Scenario], cohort: Cohort
) -> None:
    rows = split_rows(cases_of(catalogue, cohort.rows[0]), catalogue)
    dev = [row for row in rows if row.split == "dev"]
    assert (len(rows), len(dev)) == (750, 148)
    assert set(Counter(row.scenario for row in dev).values()) == {5, 6}
    share = {verdict: 148 / 750 * n for verdict, n in Counter(row.gold for row in rows).items()}
    counts = Counter(row.gold for row in dev)
    assert all(abs(counts[verdict] - share[verdict]) < 3 for verdict in VERDICTS)
    assert set(counts) == set(VERDICTS)


def test_other_scenarios_change_no_development_case(catalogue: list[Scenario], cohort: Cohort) -> None:
    rows = cases_of(catalogue, cohort.rows[0])
    whole = dev_cases(rows, catalogue)
    more = [*catalogue, numbered(catalogue[0], 26, "12/12/5/1")]
    assert whole <= dev_cases([*rows, *cases_of(more[-1:], cohort.rows[0])], more)
    for scenario in catalogue:
        own = [row for row in rows if row.scenario == scenario.id]
        assert dev_cases(own, [scenario]) == {case for case in whole if case[0] == scenario.id}


def test_patients_of_other_strata_change_no_development_case(
    catalogue: list[Scenario], cohort: Cohort
) -> None:
    scenario = catalogue[0]
    rows = cases_of([scenario], cohort.rows[0])
    before = dev_cases(rows, [scenario])
    added = [replace(rows[0], subject_id=5000 + n, gold="lack_of_data") for n in range(50)]
    changed = before ^ dev_cases([*rows, *added], [scenario])
    lacking = {(row.scenario, row.subject_id) for row in [*rows, *added] if row.gold == "lack_of_data"}
    assert changed <= lacking
    assert len(before) == len(dev_cases([*rows, *added], [scenario]))


def test_a_newcomer_takes_the_place_of_one_development_case_at_most(
    catalogue: list[Scenario], cohort: Cohort
) -> None:
    scenario = catalogue[0]
    rows = cases_of([scenario], cohort.rows[0])
    before = dev_cases(rows, [scenario])
    for subject in range(5000, 5100):
        after = dev_cases([*rows, replace(rows[0], subject_id=subject)], [scenario])
        assert len(before - after) == len(after - before) <= 1


def test_a_split_that_has_no_case_is_refused(cohort: Cohort) -> None:
    rows = [replace(row, split="full") for row in cohort.rows]
    assert choose_split(rows, "full") == rows
    with pytest.raises(TaskError, match="is in the split dev") as caught:
        choose_split(rows, "dev")
    assert "--split full" in caught.value.remedy
    assert choose_split([replace(rows[0], split="dev"), *rows], "dev") == [replace(rows[0], split="dev")]


# --- file ---------------------------------------------------------------------------------------------


@pytest.fixture
def row(cohort: Cohort) -> CohortRow:
    return cohort.rows[0]


def test_a_written_cohort_reads_back_the_same(
    cohort: Cohort, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    file = tmp_path / "cohort.csv"
    write_cohort(cohort, file)
    assert tuple(read_cohort(file, store, [scenario])) == cohort.rows
    assert file.read_text().splitlines()[0] == (
        "scenario,subject_id,hadm_id,stay_id,index_time,as_of,sealed_hadm_id,index_eid,params,gold,rule,"
        "fragile,definition_fragile,split"
    )


def test_another_labs_columns_are_mapped_and_the_optional_ones_may_be_missing(
    store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text(
        "template,patient,t0,asof,label\n90-early-potassium,101,2150-03-10 12:00:00,2150-03-10T18:00:00,yes\n"
    )
    names = {
        "scenario": "template",
        "subject_id": "patient",
        "index_time": "t0",
        "as_of": "asof",
        "gold": "label",
    }
    (row,) = read_cohort(file, store, [scenario], columns=names)
    assert (row.subject_id, row.index_time, row.gold, row.hadm_id) == (101, ADMITTED, "yes", None)
    assert row.params == '{"threshold":5.0}'


def test_a_file_that_went_through_a_spreadsheet_is_read_the_same(
    cohort: Cohort, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    file = tmp_path / "cohort.csv"
    write_cohort(cohort, file)
    text = file.read_text().replace("false", "FALSE").replace("true", "TRUE").replace("\n", "\r\n")
    file.write_text(text, encoding="utf-8-sig", newline="")
    assert tuple(read_cohort(file, store, [scenario])) == cohort.rows


# fmt: off
BAD_CELLS = {
    "an unknown scenario": ("scenario", "99-nothing", "unknown scenario '99-nothing'"),
    "a subject that is not in the store": ("subject_id", "999", "subject_id 999 is not in the store"),
    "no subject": ("subject_id", "", "no subject_id"),
    "a subject that is no number": ("subject_id", "10x", "subject_id is '10x'"),
    "a subject beyond any number of the record": ("subject_id", "9" * 20, "subject_id is '999"),
    "a spreadsheet's date": ("index_time", "7/23/2180 14:00", "index_time is '7/23/2180 14:00'"),
    "a time before the record": ("index_time", "0001-01-01T00:00:00", "index_time is '0001-"),
    "a time after the record": ("as_of", "9999-12-31T23:59:59", "as_of is '9999-"),
    "params that are no JSON number": ("params", '{"threshold": NaN}', "params is "),
    "params without an end": ("params", "[" * 100_000, "params is '[["),
    "params that UTF-8 cannot hold": ("params", '{"a": "\\ud800"}', "params is "),
    "an admission of another subject": ("hadm_id", "2011", "hadm_id 2011 is not in the store"),
    "a stay that does not exist": ("stay_id", "5", "stay_id 5 is not in the store"),
    "an unknown verdict": ("gold", "perhaps", "gold is 'perhaps'"),
    "an index time that is none": ("index_time", "yesterday", "index_time is 'yesterday'"),
    "a time with a zone": ("as_of", "2150-03-10T18:00:00+00:00", "as_of is"),
    "an as-of before the index time": ("as_of", "2150-03-09T18:00:00", "as_of lies before index_time"),
    "params that are no object": ("params", "[1]", "params is '[1]'"),
    "a fragility that is neither": ("fragile", "maybe", "fragile is 'maybe'"),
    "an unknown split": ("split", "test", "split is 'test'"),
    "an index row that is no id": ("index_eid", "foo", "index_eid is 'foo'"),
    "an index row of no table": ("index_eid", "policy:house", "index_eid is 'policy:house'"),
}
# fmt: on


@pytest.mark.parametrize("fault", BAD_CELLS)
def test_a_bad_cell_is_one_line_with_its_row_and_a_remedy(
    fault: str, row: CohortRow, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    column, cell, said = BAD_CELLS[fault]
    file = tmp_path / "cohort.csv"
    write_rows([replace(row, subject_id=201, hadm_id=None, sealed_hadm_id=None), row], file)
    lines = file.read_text().splitlines()
    (found,) = csv.reader(lines[2:])
    cells = dict(zip(COLUMNS, found, strict=True)) | {column: cell}
    with file.open("w", encoding="utf-8", newline="") as out:
        out.write("\n".join(lines[:2]) + "\n")
        csv.writer(out).writerow(cells.values())
    with pytest.raises(CohortError) as caught:
        read_cohort(file, store, [scenario])
    assert caught.value.message.startswith(f"{file}, line 3: ")
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 500
    assert caught.value.remedy


def test_one_case_twice_is_refused(row: CohortRow, store: Store, scenario: Scenario, tmp_path: Path) -> None:
    write_rows([row, replace(row, split="dev")], tmp_path / "cohort.csv")
    with pytest.raises(CohortError, match="line 3: the same case as in line 2"):
        read_cohort(tmp_path / "cohort.csv", store, [scenario])


FILES_REFUSED = {
    "no rows": (",".join(COLUMNS) + "\n", "no cases"),
    "nothing at all": ("", "no column scenario"),
    "no gold": ("scenario,subject_id,index_time,as_of\n", "no column gold"),
    "a short row": ("scenario,subject_id,index_time,as_of,gold\n90-early-potassium,101\n", "number of cells"),
    "semicolons": ("scenario;subject_id;index_time;as_of;gold\n", "not separated by commas"),
    "two columns of one name": (
        "scenario,subject_id,index_time,as_of,gold,gold\n",
        "two columns are called gold",
    ),
    "an open quote": ('scenario,subject_id,index_time,as_of,gold\n"90-early', "unexpected end of data"),
}


@pytest.mark.parametrize("fault", FILES_REFUSED)
def test_a_file_that_is_no_cohort_is_refused(
    fault: str, store: Store, scenario: Scenario, tmp_path: Path
) -> None:
    text, said = FILES_REFUSED[fault]
    (tmp_path / "cohort.csv").write_text(text)
    with pytest.raises(CohortError, match=said):
        read_cohort(tmp_path / "cohort.csv", store, [scenario])


def test_a_missing_file_is_refused(store: Store, scenario: Scenario, tmp_path: Path) -> None:
    with pytest.raises(CohortError, match="cannot be read as a cohort file"):
        read_cohort(tmp_path / "cohort.csv", store, [scenario])
