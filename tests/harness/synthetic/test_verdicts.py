"""Every planted case must come to its plant's verdict by the scenario's own SQL, over the real import."""

import json
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from harness.adjudication import adjudicate
from harness.definitions import define_for_cohort
from harness.scenario import Scenario, load_scenarios
from harness.synthetic import PlantedCase
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
        define_for_cohort(connection)
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


def wrong(world: SyntheticWorld, scenario: Scenario, folder: Path) -> dict[tuple[str, int], object]:
    """Carriers of the scenario's plants that do not come to their verdict: plant and subject → what was found."""
    found = verdicts(world.store, scenario, folder)
    return {
        (case.plant_id, case.subject_id): found.get(case.subject_id)
        for case in carriers(world, scenario)
        if found.get(case.subject_id) != (case.index_time, case.verdict, True)
    }


def carriers(world: SyntheticWorld, scenario: Scenario) -> list[PlantedCase]:
    return [case for case in world.planted if case.scenario == scenario.id]


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.slug)
def test_every_plant_comes_to_its_verdict(world: SyntheticWorld, scenario: Scenario, tmp_path: Path) -> None:
    assert_every_plant_comes_to_its_verdict(world, scenario, tmp_path)


def test_every_plant_of_one_scenario_comes_to_its_verdict(one_world: SyntheticWorld, tmp_path: Path) -> None:
    assert_every_plant_comes_to_its_verdict(one_world, SCENARIOS[0], tmp_path)


def assert_every_plant_comes_to_its_verdict(world: SyntheticWorld, scenario: Scenario, folder: Path) -> None:
    assert wrong(world, scenario, folder) == {}
    planted = {case.plant_id for case in carriers(world, scenario)}
    assert planted == {plant.id for plant in read_plants(scenario.plants)}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.slug)
def test_every_carrier_comes_to_its_verdict_and_sampling_has_a_choice(
    whole_world: SyntheticWorld, scenario: Scenario, tmp_path: Path
) -> None:
    assert wrong(whole_world, scenario, tmp_path) == {}
    found = Counter(
        verdict for _, verdict, fits in verdicts(whole_world.store, scenario, tmp_path).values() if fits
    )
    for verdict, wanted in scenario.mix.items():
        assert found[verdict] >= wanted + SPARE[verdict], verdict


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.slug)
def test_no_and_lack_have_hard_cases(scenario: Scenario) -> None:
    plants = read_plants(scenario.plants)
    for verdict in ("no", "lack_of_data"):
        assert any("hard" in plant.id.split("_") for plant in plants if plant.verdict == verdict)


@pytest.mark.slow
def test_cases_arise_among_the_neighbours_too(whole_world: SyntheticWorld, tmp_path: Path) -> None:
    planted = {case.subject_id for case in whole_world.planted}
    for scenario in SCENARIOS:
        assert {*verdicts(whole_world.store, scenario, tmp_path)} - planted, scenario.id
