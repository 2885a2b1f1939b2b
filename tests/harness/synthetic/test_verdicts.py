"""Every planted case must come to its plant's verdict by the scenario's own SQL, over the real import."""

import json
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from harness.adjudication import adjudicate
from harness.scenario import Scenario, load_scenarios
from harness.synthetic.plan import SPARE
from harness.synthetic.plants import read_plants
from mcp_mimic.chart.tasks import open_tasks
from mcp_mimic.store.store import Store
from tests.harness.synthetic.conftest import SyntheticWorld

SCENARIOS = load_scenarios()
COLUMNS = "subject_id, hadm_id, stay_id, index_time, as_of, sealed_hadm_id, index_eid"


def verdicts(store: Store, scenario: Scenario, folder: Path) -> dict[int, tuple[str, str, bool]]:
    """Subject → index time, verdict and eligibility of the first case that the scenario finds."""
    file = folder / "tasks.parquet"
    with duckdb.connect() as connection:
        store.attach(connection, "store")
        connection.execute("use store")
        connection.execute(f"create temp table found as {scenario.cohort_sql.strip().removesuffix(';')}")
        connection.execute(
            f"""copy (
                select subject_id::varchar as task_id, {COLUMNS},
                    json_merge_patch(?::json, coalesce(params::json, '{{}}'::json))::varchar as params
                from found
                qualify row_number() over (partition by subject_id order by index_time) = 1
            ) to '{file}' (format parquet)""",
            [json.dumps(scenario.params)],
        )
    with open_tasks(store, f"select * from read_parquet('{file}')") as connection:
        adjudicate(connection, scenario)
        facts = {row[0] for row in connection.execute("describe adjudicated").fetchall()}
        eligible = "a.eligible" if "eligible" in facts else "true"
        rows = connection.execute(
            f"""select t.subject_id, t.index_time::varchar, a.verdict, {eligible}
            from task t join adjudicated a using (task_id)"""
        ).fetchall()
    return {subject: (time, verdict, fits) for subject, time, verdict, fits in rows}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.slug)
def test_every_plant_comes_to_its_verdict(world: SyntheticWorld, scenario: Scenario, tmp_path: Path) -> None:
    found = verdicts(world.store, scenario, tmp_path)
    carriers = [case for case in world.planted if case.scenario == scenario.id]
    wrong = {
        (case.plant_id, case.subject_id): found.get(case.subject_id)
        for case in carriers
        if found.get(case.subject_id) != (case.index_time, case.verdict, True)
    }
    assert wrong == {}
    assert {case.plant_id for case in carriers} == {plant.id for plant in read_plants(scenario.plants)}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.slug)
def test_every_verdict_has_its_mix_and_some_to_spare(
    world: SyntheticWorld, scenario: Scenario, tmp_path: Path
) -> None:
    found = Counter(
        verdict for _, verdict, fits in verdicts(world.store, scenario, tmp_path).values() if fits
    )
    for verdict, wanted in scenario.mix.items():
        assert found[verdict] >= wanted + SPARE[verdict], verdict


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.slug)
def test_hard_cases_are_a_good_part_of_no_and_of_lack(world: SyntheticWorld, scenario: Scenario) -> None:
    for verdict, hard in (("no", "hard_negative"), ("lack_of_data", "hard_lack")):
        carriers = [c for c in world.planted if c.scenario == scenario.id and c.verdict == verdict]
        assert any(case.plant_id.startswith(hard) for case in carriers)


@pytest.mark.slow
def test_cases_arise_among_the_neighbours_too(world: SyntheticWorld, tmp_path: Path) -> None:
    carriers = {case.subject_id for case in world.planted}
    for scenario in SCENARIOS:
        found = verdicts(world.store, scenario, tmp_path)
        assert {*found} - carriers, scenario.id
