"""Tasks folders: what a task directory holds, what its id says, and what a second build does."""

import json
import os
import subprocess
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from harbor.models.task.config import TaskConfig
from harbor.models.task.task import Task as HarborTask

from harness.build import PUBLIC_KEY, build_tasks, choose_key, read_key, task_id
from harness.cli import run
from harness.cohort import CohortRow
from harness.cohort_file import write_rows
from harness.digests import digest_files, task_files
from harness.errors import TaskError
from harness.record import folder_checksum
from harness.scoring.report import read_report
from harness.scoring.verify import Evidence, score_files
from harness.taskset import TaskSet
from mcp_mimic.contract import VERDICT_LABELS
from tests.harness.built_tasks import CHARTS, KEY, World, served
from tests.harness.calls import as_logged, called, logged


@pytest.fixture(scope="module")
def world(task_world: World) -> World:
    return task_world


def folder(world: World, name: str) -> Path:
    return world.tasks / task_id(world.rows[name], KEY)


def contents(tasks: Path) -> dict[str, bytes]:
    return {str(path.relative_to(tasks)): path.read_bytes() for path in tasks.rglob("*") if path.is_file()}


def rebuild(world: World, out: Path, rows: list[CohortRow] | None = None) -> bool:
    rows = list(world.rows.values()) if rows is None else rows
    return build_tasks(world.store, rows, world.scenarios, out, key=KEY).changed


class TestTheTaskDirectory:
    def test_every_case_has_one(self, world: World) -> None:
        assert len(list(world.tasks.glob("*/task.toml"))) == len(CHARTS) == len(world.rows)

    def test_harbor_reads_it(self, world: World) -> None:
        for name in world.rows:
            task = HarborTask(folder(world, name))
            assert task.instruction.startswith("# Question")
            assert task.config.environment.docker_image == f"clinicare/agent:{version('clinicare')}"

    def test_its_configuration_names_server_artifacts_seal_and_a_separate_verifier(
        self, world: World
    ) -> None:
        text = (folder(world, "lactate yes") / "task.toml").read_text()
        config = TaskConfig.model_validate_toml(text)
        (server,) = config.environment.mcp_servers
        (collect,) = config.verifier.collect
        assert (server.name, server.transport, server.url) == (
            "mimic",
            "streamable-http",
            "http://mimic:8000/mcp",
        )
        assert (collect.service, collect.command) == ("mimic", "mcp-mimic seal --audit /audit")
        assert config.verifier.environment_mode is not None
        assert config.verifier.environment_mode.value == "separate"
        assert [getattr(artifact, "source", artifact) for artifact in config.artifacts] == [
            "/workspace/report.md",
            "/audit",
        ]

    def test_the_network_has_no_way_out_and_the_chart_is_read_only(self, world: World) -> None:
        compose = yaml.safe_load(
            (folder(world, "lactate yes") / "environment" / "docker-compose.yaml").read_text()
        )
        assert compose["networks"] == {
            "chart": {
                "internal": True,
                "driver_opts": {"com.docker.network.bridge.inhibit_ipv4": "true"},
            }
        }
        main, mimic = compose["services"]["main"], compose["services"]["mimic"]
        assert main["networks"] == mimic["networks"] == ["chart"]
        assert main["read_only"]
        assert mimic["read_only"]
        assert {volume["type"] for volume in main["volumes"]} == {"volume", "tmpfs"}
        assert all(volume["read_only"] for volume in mimic["volumes"] if volume["type"] == "bind")
        assert all(volume["driver_opts"]["type"] == "tmpfs" for volume in compose["volumes"].values())
        assert main["depends_on"] == {"mimic": {"condition": "service_healthy"}}
        assert mimic["image"] == f"clinicare/mimic:{version('clinicare')}"

    def test_the_chart_server_is_told_the_policies_and_who_reads(self, world: World) -> None:
        compose = yaml.safe_load(
            (folder(world, "lactate yes") / "environment" / "docker-compose.yaml").read_text()
        )
        mimic = compose["services"]["mimic"]
        mounts = {volume["target"]: volume for volume in mimic["volumes"]}
        command = dict(pairwise(mimic["command"]))
        for option, target in (("--store", "/store"), ("--corpus", "/corpus")):
            assert command[option] == target
            assert mounts[target]["bind"] == {"create_host_path": False}
        assert mimic["environment"] == {"MCP_MIMIC_READERS": "${CLINICARE_READERS:-}"}

    def test_the_runner_reads_it(self, world: World) -> None:
        tasks = TaskSet.open(world.tasks)
        tasks.require_store(world.store.manifest.fingerprint)
        task = tasks.task(task_id(world.rows["potassium no"], KEY))
        assert task.grant().subject_id == world.rows["potassium no"].subject_id
        assert task.grant().documents == ("hyperkalaemia-severe",)
        assert task.gold()["verdict"] == "no"


class TestTheInstruction:
    def test_it_holds_question_definitions_and_the_four_verdicts(self, world: World) -> None:
        text = (folder(world, "lactate yes") / "instruction.md").read_text()
        scenario = world.scenarios[0]
        assert scenario.question.format(index_time="2150-03-10 12:00", as_of="") in text
        for definition in scenario.definitions:
            assert definition.replace("{index_time}", "2150-03-10 12:00") in text
        for label in VERDICT_LABELS.values():
            assert f"`## Answer: {label}`" in text

    def test_every_place_is_filled(self, world: World) -> None:
        for name in world.rows:
            text = (folder(world, name) / "instruction.md").read_text()
            assert "@@" not in text
            assert "{" not in text

    def test_its_example_is_a_report(self, world: World) -> None:
        text = (folder(world, "lactate yes") / "instruction.md").read_text()
        example = text.split("```markdown\n")[1].split("```")[0]
        reading = read_report(example)
        assert reading.verdict == "no"
        assert reading.citations == ("proc:8801", "search:4", "out:77")


class TestIds:
    def test_an_id_is_the_scenario_and_a_keyed_hash(self, world: World) -> None:
        row = world.rows["lactate yes"]
        assert task_id(row, KEY) == task_id(row, KEY)
        assert task_id(row, KEY) != task_id(row, KEY + b"!")
        assert task_id(row, KEY).startswith("05-lactate-remeasurement-six-hours-")
        assert len(task_id(row, KEY).rsplit("-", 1)[1]) == 12

    def test_subject_times_and_params_tell_ids_apart(self, world: World) -> None:
        row = world.rows["lactate yes"]
        others = [
            replace(row, subject_id=row.subject_id + 1),
            replace(row, index_time=row.index_time.replace(minute=1)),
            replace(row, as_of=row.as_of.replace(minute=1)),
            replace(row, params='{"twin_minutes":30}'),
        ]
        assert len({task_id(each, KEY) for each in (row, *others)}) == 5

    def test_the_label_is_no_part_of_an_id(self, world: World) -> None:
        row = world.rows["lactate yes"]
        assert task_id(replace(row, gold="no", rule="", fragile=True), KEY) == task_id(row, KEY)

    def test_tasks_of_one_subject_share_an_opaque_cluster(self, world: World, tmp_path: Path) -> None:
        row = world.rows["lactate yes"]
        again = replace(row, as_of=row.as_of.replace(minute=1))
        rebuild(world, tmp_path / "tasks", [row, again, world.rows["lactate no"]])
        tasks = json.loads((tmp_path / "tasks" / "manifest.json").read_text())["tasks"]
        clusters = [tasks[task_id(each, KEY)]["cluster"] for each in (row, again, world.rows["lactate no"])]
        assert clusters[0] == clusters[1] != clusters[2]
        assert str(row.subject_id) not in clusters[0]

    def test_a_credentialed_store_needs_a_key(self, world: World, tmp_path: Path) -> None:
        assert world.store.manifest.classification == "credentialed"
        with pytest.raises(TaskError, match="needs a key") as raised:
            build_tasks(world.store, list(world.rows.values()), world.scenarios, tmp_path / "tasks")
        assert "openssl rand" in raised.value.remedy
        assert not (tmp_path / "tasks").exists()

    @pytest.mark.parametrize("classification", ["synthetic", "open"])
    def test_other_stores_use_the_public_constant_only(self, classification: str) -> None:
        assert choose_key(classification, None) == PUBLIC_KEY
        with pytest.raises(TaskError, match="the same everywhere"):
            choose_key(classification, KEY)

    def test_a_key_is_read_without_the_white_space_around_it(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_bytes(b"0123456789abcdef\n")
        assert read_key(tmp_path / "key") == b"0123456789abcdef"

    @pytest.mark.parametrize("content", [b"", b"0123456789abcde\n"])
    def test_a_short_key_is_refused(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "key").write_bytes(content)
        with pytest.raises(TaskError, match="fewer than 16 bytes"):
            read_key(tmp_path / "key")

    def test_an_absent_key_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(TaskError, match="cannot be read"):
            read_key(tmp_path / "key")


class TestDigests:
    def test_the_gold_digest_is_that_of_the_file(self, world: World) -> None:
        manifest = TaskSet.open(world.tasks).manifest
        for name, entry in manifest.tasks.items():
            gold = (world.tasks / name / "tests" / "gold.json").read_bytes()
            assert entry.gold_digest == f"sha256:{sha256(gold).hexdigest()}"

    def test_they_are_of_all_that_is_in_the_folder(self, world: World) -> None:
        entry = next(iter(TaskSet.open(world.tasks).manifest.tasks.values()))
        task = next(path for path in sorted(world.tasks.iterdir()) if path.is_dir())
        files = task_files(task)
        assert entry.model_dump(exclude={"scenario"}) == digest_files(files)
        for name in files:
            changed = digest_files(
                files | {name: files[name] + b"\n{}"[: 1 if name.endswith(".json") else 3]}
            )
            moved = {key for key, digest in digest_files(files).items() if changed[key] != digest}
            assert len(moved) == (0 if name == "environment/grant.json" else 1), name

    def test_the_checksum_of_a_trial_is_harbors(self, world: World) -> None:
        task = next(path for path in sorted(world.tasks.iterdir()) if path.is_dir())
        with pytest.warns(DeprecationWarning, match="checksum"):
            assert folder_checksum(task) == HarborTask(task).checksum

    def test_another_label_changes_the_gold_digest_only(self, world: World, tmp_path: Path) -> None:
        row = world.rows["lactate yes"]
        rebuild(world, tmp_path / "one", [row])
        rebuild(world, tmp_path / "two", [replace(row, fragile=True)])
        one, two = (
            TaskSet.open(tmp_path / name).manifest.tasks[task_id(row, KEY)] for name in ("one", "two")
        )
        assert (one.agent_digest, one.rest_digest) == (two.agent_digest, two.rest_digest)
        assert one.gold_digest != two.gold_digest


class TestBuildingAgain:
    def test_the_same_inputs_give_the_same_bytes(self, world: World, tmp_path: Path) -> None:
        rebuild(world, tmp_path / "tasks", list(reversed(world.rows.values())))
        assert contents(tmp_path / "tasks") == contents(world.tasks)

    def test_a_folder_that_is_right_is_not_touched(self, world: World) -> None:
        times = {path: path.stat().st_mtime_ns for path in world.tasks.rglob("*")}
        assert not rebuild(world, world.tasks)
        assert {path: path.stat().st_mtime_ns for path in world.tasks.rglob("*")} == times

    def test_another_cohort_of_the_same_store_replaces_the_tasks(self, world: World, tmp_path: Path) -> None:
        out = tmp_path / "tasks"
        rebuild(world, out, [world.rows["lactate yes"], world.rows["lactate no"]])
        assert rebuild(world, out, [world.rows["lactate no"]])
        assert {path.name for path in out.iterdir()} == {
            "manifest.json",
            task_id(world.rows["lactate no"], KEY),
        }
        assert [path.name for path in tmp_path.iterdir()] == ["tasks"]

    @pytest.mark.parametrize(
        "damage",
        [
            "changed",
            pytest.param("missing", marks=pytest.mark.slow),
        ],
    )
    def test_a_damaged_folder_is_mended(self, damage: str, world: World, tmp_path: Path) -> None:
        out, rows = tmp_path / "tasks", [world.rows["lactate yes"]]
        rebuild(world, out, rows)
        before = contents(out)
        file = out / task_id(rows[0], KEY) / "instruction.md"
        if damage == "missing":
            file.unlink()
        else:
            file.write_text("another text")
        assert rebuild(world, out, rows)
        assert contents(out) == before

    @pytest.mark.parametrize(
        "place", ["TASK", *(pytest.param(place, marks=pytest.mark.slow) for place in (".", "notes"))]
    )
    def test_a_file_that_no_build_makes_is_never_replaced(
        self, place: str, world: World, tmp_path: Path
    ) -> None:
        out, rows = tmp_path / "tasks", [world.rows["lactate yes"]]
        rebuild(world, out, rows)
        own = out / place.replace("TASK", task_id(rows[0], KEY)) / "own.md"
        own.parent.mkdir(exist_ok=True)
        own.write_text("mine")
        before = contents(out)
        for again in (rows, [world.rows["lactate no"]]):
            with pytest.raises(TaskError, match=r"holds 1 file that no build makes, such as .*own\.md"):
                rebuild(world, out, again)
        assert contents(out) == before

    def test_it_is_told_how_many_tasks_were_replaced(self, world: World, tmp_path: Path) -> None:
        out, rows = tmp_path / "tasks", [world.rows["lactate yes"], world.rows["lactate no"]]
        for again, replaced in ((rows, 0), (rows[:1], 2), (rows[:1], 0)):
            assert build_tasks(world.store, again, world.scenarios, out, key=KEY).replaced == replaced

    def test_the_command_says_that_tasks_were_replaced(
        self, world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        cohort, out = tmp_path / "cohort.csv", tmp_path / "tasks"
        rebuild(world, out, [world.rows["lactate yes"], world.rows["lactate no"]])
        write_rows([world.rows["lactate no"]], cohort)
        command = ["build", "--store", str(world.store.path), "--cohort", str(cohort), "--out", str(out)]
        key = tmp_path / "key"
        key.write_bytes(KEY)
        assert run([*command, "--key-file", str(key)]) == 0
        told = capsys.readouterr().err
        assert f"{out}: replaced 2 tasks of an earlier build\n{out}: 1 task, written; " in told

    def test_what_an_interrupted_build_left_is_cleared(self, world: World, tmp_path: Path) -> None:
        (tmp_path / ".tasks.partial" / "half").mkdir(parents=True)
        rebuild(world, tmp_path / "tasks", [world.rows["lactate yes"]])
        assert [path.name for path in tmp_path.iterdir()] == ["tasks"]
        assert not (tmp_path / "tasks" / "half").exists()

    def test_another_store_s_folder_is_refused(self, world: World, tmp_path: Path) -> None:
        out = tmp_path / "tasks"
        rebuild(world, out, [world.rows["lactate yes"]])
        manifest = json.loads((out / "manifest.json").read_text())
        (out / "manifest.json").write_text(json.dumps(manifest | {"store": "0" * 64}))
        before = contents(out)
        with pytest.raises(TaskError, match="built from another store"):
            rebuild(world, out)
        assert contents(out) == before

    @pytest.mark.parametrize("name", ["notes.txt", "manifest.json"])
    def test_a_folder_of_something_else_is_refused(self, name: str, world: World, tmp_path: Path) -> None:
        (tmp_path / name).write_text("mine")
        with pytest.raises(TaskError, match="is no tasks folder"):
            rebuild(world, tmp_path)
        assert (tmp_path / name).read_text() == "mine"


class TestBadCohorts:
    def test_no_cases(self, world: World, tmp_path: Path) -> None:
        with pytest.raises(TaskError, match="no cases"):
            rebuild(world, tmp_path / "tasks", [])

    def test_a_case_twice(self, world: World, tmp_path: Path) -> None:
        with pytest.raises(TaskError, match="two cases make the task"):
            rebuild(world, tmp_path / "tasks", [world.rows["lactate yes"]] * 2)

    def test_a_scenario_that_is_not_given(self, world: World, tmp_path: Path) -> None:
        row = replace(world.rows["lactate yes"], scenario="99-another")
        with pytest.raises(TaskError, match="unknown scenario 99-another"):
            rebuild(world, tmp_path / "tasks", [row])

    def test_a_label_that_the_chart_contradicts(self, world: World, tmp_path: Path) -> None:
        row = replace(world.rows["lactate yes"], gold="no")
        with pytest.raises(TaskError, match="the cohort says no") as raised:
            rebuild(world, tmp_path / "tasks", [row])
        assert task_id(row, KEY) in raised.value.message
        assert not (tmp_path / "tasks").exists()


SOLVED = ("lactate yes", "lactate no", "potassium no", "potassium lack", "potassium ambiguity")
"""Charts of every verdict; the search of one has several pages."""


@pytest.mark.parametrize(
    "name", [name if name in SOLVED else pytest.param(name, marks=pytest.mark.slow) for name in CHARTS]
)
def test_the_solution_solves_its_task_over_http(name: str, world: World, tmp_path: Path) -> None:
    task, report, audit = folder(world, name), tmp_path / "report.md", tmp_path / "audit"
    with served(world.store, task, audit) as (url, server):
        subprocess.run(
            ["bash", task / "solution" / "solve.sh"],
            env=os.environ
            | {"MIMIC_URL": url, "REPORT": str(report), "TRAJECTORY": str(tmp_path / "trajectory.json")},
            check=True,
            timeout=60,
        )
        calls = server.seal()["calls"]
    score = score_files(
        Evidence(
            task / "tests" / "gold.json", report, submission=audit / "report.md", audit=audit / "audit.jsonl"
        )
    )
    assert score["outcome"] == "right"
    assert (score["supported"], score["evidence_recall"], score["citation_precision"]) == (1, 1, 1)
    noted = logged(audit / "audit.jsonl")
    assert as_logged(called(tmp_path / "trajectory.json"), noted) == noted
    searches = (task / "solution" / "plan.tsv").read_text().count("search\t")
    assert calls > searches if name == "lactate no" else calls == searches
