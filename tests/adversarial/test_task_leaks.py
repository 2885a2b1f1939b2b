"""What reaches the agent's container says nothing of the subject or of the gold.

What reaches it, by Harbor 0.26's source: the instruction, as the agent's prompt (harbor.trial.trial); of
task.toml the image, the working directory, the limits and the MCP servers (harbor.models.task.config).
The folder environment/ is uploaded only if it holds neither Dockerfile nor docker-compose.yaml
(harbor.environments.definition.should_upload_environment_dir). tests/ is mounted in the separate
verifier's container, and solution/ is uploaded by the oracle agent alone (harbor.agents.oracle). The tests below hold
the parts of that which Harbor could change.
"""

import inspect
import json
import re
from pathlib import Path

import pytest
import yaml
from harbor.agents import oracle
from harbor.environments.definition import should_upload_environment_dir
from harbor.models.task.task import Task as HarborTask
from harbor.models.task.verifier_mode import resolve_task_verifier_mode

from harness.build import task_id
from harness.data import data_folder
from harness.synthetic.plants import read_plants
from mcp_mimic.contract import EID_KINDS, VERDICTS
from tests.harness.built_tasks import CHARTS, KEY, World

EID = rf"\b(?:{'|'.join(EID_KINDS)}):\w+"
AGENT_FILES = ("instruction.md", "task.toml", "environment/docker-compose.yaml")
"""Files of which anything reaches the agent, or could under another agent's set-up."""


@pytest.fixture(scope="module")
def world(task_world: World) -> World:
    return task_world


def folder(world: World, name: str) -> Path:
    return world.tasks / task_id(world.rows[name], KEY)


def text(world: World, name: str) -> str:
    """All that the agent's side holds, the task's own name included."""
    task = folder(world, name)
    return "\n".join([task.name, *((task / file).read_text() for file in AGENT_FILES)])


def has_word(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


class TestWhatHarborGivesTheAgent:
    def test_the_environment_folder_is_not_uploaded(self, world: World) -> None:
        for name in CHARTS:
            task = HarborTask(folder(world, name))
            assert (task.paths.environment_dir / "grant.json").is_file()
            assert not should_upload_environment_dir(
                task.paths.environment_dir, docker_image=task.config.environment.docker_image
            )

    def test_the_verifier_has_a_container_of_its_own(self, world: World) -> None:
        for name in CHARTS:
            mode = resolve_task_verifier_mode(HarborTask(folder(world, name)).config)
            assert mode.value == "separate"

    def test_only_the_oracle_uploads_the_solution(self) -> None:
        agents = Path(inspect.getfile(oracle)).parent
        found = [
            path.relative_to(agents).as_posix()
            for path in agents.rglob("*.py")
            if "solution_dir" in path.read_text()
        ]
        assert found == ["oracle.py"]

    def test_the_agent_s_service_mounts_nothing_of_the_task(self, world: World) -> None:
        text = (folder(world, "lactate yes") / "environment" / "docker-compose.yaml").read_text()
        main = yaml.safe_load(text)["services"]["main"]
        assert {volume["type"] for volume in main["volumes"]} == {"volume", "tmpfs"}
        assert "grant" not in main

    def test_nothing_else_lies_in_a_task(self, world: World) -> None:
        for name in CHARTS:
            task = folder(world, name)
            assert {path.relative_to(task).as_posix() for path in task.rglob("*") if path.is_file()} == {
                *AGENT_FILES,
                "environment/grant.json",
                "solution/plan.tsv",
                "solution/solve.sh",
                "tests/docker-compose.yaml",
                "tests/gold.json",
                "tests/test.sh",
            }


@pytest.mark.parametrize("name", CHARTS)
class TestNoFileSays:
    def test_whose_chart_it_is(self, name: str, world: World) -> None:
        row, seen = world.rows[name], text(world, name)
        for number in (row.subject_id, row.hadm_id, row.stay_id, row.sealed_hadm_id):
            assert number is None or not has_word(str(number), seen)
        for word in ("subject_id", "hadm_id", "stay_id"):
            assert word not in seen

    def test_which_rows_decide(self, name: str, world: World) -> None:
        template = (data_folder("docker") / "task" / "instruction.md").read_text()
        shown = re.findall(EID, text(world, name))
        assert sorted(shown) == sorted(re.findall(EID, template))

    def test_the_rule_or_the_requirements(self, name: str, world: World) -> None:
        gold = json.loads((folder(world, name) / "tests" / "gold.json").read_text())
        seen = text(world, name)
        words = {gold["rule"], *(need["id"] for need in gold["requirements"])}
        assert not {word for word in words if "_" in word and word in seen}
        assert not {word for word in (*VERDICTS, "gold", "rule-derived") if "_" in word and word in seen}

    def test_a_verdict_more_often_than_the_list_of_four(self, name: str, world: World) -> None:
        instruction = (folder(world, name) / "instruction.md").read_text()
        headings = re.findall(r"^- `## Answer: (.+)`$", instruction, flags=re.MULTILINE)
        assert len(headings) == len(set(headings)) == len(VERDICTS)

    def test_how_the_verdicts_are_told_apart(self, name: str, world: World) -> None:
        scenario = next(each for each in world.scenarios if each.id == world.rows[name].scenario)
        seen = text(world, name)
        for hidden in (*scenario.criteria.values(), *(reading.text for reading in scenario.readings)):
            assert hidden not in seen

    def test_which_plant_it_could_be(self, name: str, world: World) -> None:
        scenario = next(each for each in world.scenarios if each.id == world.rows[name].scenario)
        seen = text(world, name)
        ids = {plant.id for plant in read_plants(scenario.plants)}
        assert not {plant for plant in ids if "_" in plant and has_word(plant, seen)}


@pytest.mark.parametrize("file", AGENT_FILES)
def test_cases_that_differ_only_in_their_verdict_read_the_same(file: str, world: World) -> None:
    texts: dict[str, set[str]] = {}
    for name, row in world.rows.items():
        task = folder(world, name)
        texts.setdefault(row.scenario, set()).add((task / file).read_text().replace(task.name, "TASK"))
    assert {scenario: len(found) for scenario, found in texts.items()} == dict.fromkeys(texts, 1)


def test_the_folder_s_names_and_manifest_hold_no_number_of_a_patient(world: World) -> None:
    seen = (world.tasks / "manifest.json").read_text() + "\n".join(
        path.name for path in world.tasks.iterdir()
    )
    for row in world.rows.values():
        for number in (row.subject_id, row.hadm_id, row.stay_id):
            assert number is None or not has_word(str(number), seen)


def test_the_manifest_names_no_verdict(world: World) -> None:
    manifest = (world.tasks / "manifest.json").read_text()
    assert not [word for word in (*VERDICTS, "verdict") if has_word(word, manifest)]
