"""A job is resumed only on what it was begun with, and by one process at a time."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from harbor.models.job.config import JobConfig

from harness.errors import JobError
from harness.job import Job, PlannedSystem
from harness.place import Place
from harness.systems import HarborAgent, System, load_systems
from harness.taskset import TaskSet

YES = load_systems()["always-yes"]
DEFER = load_systems()["always-defer"]


def _tasks(folder: Path, digests: dict[str, str], store: str = "sha256:one", rest: str = "r") -> TaskSet:
    folder.mkdir(exist_ok=True)
    tasks = {
        task_id: {"scenario": "05-a-slug", "agent_digest": digest, "gold_digest": "g", "plan_digest": "p"}
        | {"rest_digest": rest}
        for task_id, digest in digests.items()
    }
    manifest = {"store": store, "classification": "synthetic", "release": "3.1", "tasks": tasks}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return TaskSet.open(folder)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "jobs" / "first")


def _agree(
    job: Job, tasks: TaskSet, *systems: System, place: Place = "direct", images: dict[str, str] | None = None
) -> None:
    with job.locked():
        planned = {system.tag: PlannedSystem.of(system, place) for system in systems}
        job.agree(tasks, sorted(tasks.manifest.tasks), planned, 2, images or {})


def test_a_job_takes_further_systems_and_tasks_and_keeps_its_first_ones(tmp_path: Path, job: Job) -> None:
    _agree(job, _tasks(tmp_path / "tasks", {"a": "1"}), YES)
    _agree(job, _tasks(tmp_path / "tasks", {"a": "1", "b": "2"}), DEFER)
    plan = json.loads((job.path / "config.json").read_text())["clinicare"]
    assert plan["tasks"] == {"a": "1", "b": "2"}
    assert sorted(plan["systems"]) == ["always-defer", "always-yes"]


def test_the_configuration_is_one_that_harbor_reads(tmp_path: Path, job: Job) -> None:
    _agree(job, _tasks(tmp_path / "tasks", {"a": "1"}), YES)
    config = JobConfig.model_validate_json((job.path / "config.json").read_bytes())
    assert config.job_name == "first"
    assert [agent.name for agent in config.agents] == ["always-yes"]


def _finished(folder: Path, result: str = "{}") -> None:
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(result)


def test_of_two_whole_trials_the_first_one_stands(job: Job) -> None:
    _finished(job.partial("a", "yes"), '"first"')
    job.keep(job.partial("a", "yes"), "a", "yes")
    _finished(job.partial("a", "yes"), '"second"')
    job.keep(job.partial("a", "yes"), "a", "yes")
    assert (job.trial("a", "yes") / "result.json").read_text() == '"first"'
    assert [path.name for path in job.path.iterdir()] == ["a__yes"]


def test_a_trials_place_that_is_taken_is_told_before_the_trial_is_run(job: Job) -> None:
    job.trial("a", "yes").mkdir(parents=True)
    with pytest.raises(JobError, match=r"no whole trial: it has no result\.json"):
        job.require_room("a", "yes")
    _finished(job.trial("b", "yes"))
    job.require_room("b", "yes")
    job.require_room("c", "yes")


def test_a_trial_whose_record_is_garbled_does_not_keep_the_job_from_its_summary(job: Job) -> None:
    _finished(job.trial("a", "yes"), "{")
    (job.path / "b__yes").symlink_to(job.trial("a", "yes"))
    job.summarise(datetime.now(UTC))
    assert json.loads((job.path / "result.json").read_text())["n_total_trials"] == 0


@pytest.mark.parametrize(
    ("digests", "store", "said"),
    [
        ({"a": "2"}, "sha256:one", "task a has changed"),
        ({"b": "1"}, "sha256:one", "task a is gone"),
        ({"a": "1"}, "sha256:two", "another store"),
    ],
)
def test_a_job_begun_with_other_inputs_is_refused_with_the_remedy(
    tmp_path: Path, job: Job, digests: dict[str, str], store: str, said: str
) -> None:
    _agree(job, _tasks(tmp_path / "tasks", {"a": "1"}), YES)
    before = (job.path / "config.json").read_bytes()
    with pytest.raises(JobError, match=said) as caught:
        _agree(job, _tasks(tmp_path / "tasks", digests, store), YES)
    assert caught.value.remedy == "give the run a new --job-name"
    assert (job.path / "config.json").read_bytes() == before


def test_a_task_that_is_run_or_scored_in_another_way_is_another_task(tmp_path: Path, job: Job) -> None:
    _agree(job, _tasks(tmp_path / "tasks", {"a": "1"}), YES)
    with pytest.raises(JobError, match="task a has changed"):
        _agree(job, _tasks(tmp_path / "tasks", {"a": "1"}, rest="other"), YES)


def test_a_system_that_changed_its_definition_is_refused(tmp_path: Path, job: Job) -> None:
    tasks = _tasks(tmp_path / "tasks", {"a": "1"})
    _agree(job, tasks, YES)
    with pytest.raises(
        JobError, match="system always-yes has changed since the job was begun: its definition"
    ):
        _agree(job, tasks, YES.model_copy(update={"agent": DEFER.agent}))


def test_a_system_whose_agents_code_changed_is_refused(
    tmp_path: Path, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "changing_agent.py"
    module.write_text("class Agent:\n    async def answer(self, task, client): ...\n")
    mine = System(tag="mine", agent="changing_agent:Agent", about="mine")
    tasks = _tasks(tmp_path / "tasks", {"a": "1"})
    _agree(job, tasks, mine)
    _agree(job, tasks, mine)
    module.write_text(module.read_text() + "# improved\n")
    with pytest.raises(JobError, match="system mine has changed since the job was begun: its agent's code"):
        _agree(job, tasks, mine)


def test_a_system_whose_compose_file_changed_is_refused(tmp_path: Path, job: Job) -> None:
    overlay = tmp_path / "model.yaml"
    overlay.write_text("services: {}\n")
    mine = System(tag="mine", about="mine", harbor=HarborAgent(agent="claude-code", compose=(overlay,)))
    tasks = _tasks(tmp_path / "tasks", {"a": "1"})
    _agree(job, tasks, mine, place="docker")
    overlay.write_text("services: {model: {image: other}}\n")
    with pytest.raises(JobError, match="system mine has changed since the job was begun: its compose files"):
        _agree(job, tasks, mine, place="docker")


def test_what_a_system_says_about_itself_may_change(tmp_path: Path, job: Job) -> None:
    tasks = _tasks(tmp_path / "tasks", {"a": "1"})
    _agree(job, tasks, YES)
    _agree(job, tasks, YES.model_copy(update={"about": "in other words"}))
    plan = json.loads((job.path / "config.json").read_text())["clinicare"]
    assert plan["systems"]["always-yes"]["about"] == "in other words"


def test_a_folder_that_is_no_job_of_this_harness_is_refused(tmp_path: Path, job: Job) -> None:
    job.path.mkdir(parents=True)
    (job.path / "config.json").write_text('{"job_name": "first"}')
    with pytest.raises(JobError, match="not the configuration of a job"):
        _agree(job, _tasks(tmp_path / "tasks", {"a": "1"}), YES)


def test_a_damaged_configuration_is_told_by_its_key(tmp_path: Path, job: Job) -> None:
    tasks = _tasks(tmp_path / "tasks", {"a": "1"})
    _agree(job, tasks, YES)
    file = job.path / "config.json"
    whole = json.loads(file.read_text())
    for change, told in (
        ({"release": 3.1}, "config.json, clinicare: release: 3.1 is not text in quotes"),
        ({"tasks": []}, "tasks: [] is not a table"),
        ({"colour": "red"}, "colour: unknown key"),
    ):
        file.write_text(json.dumps(whole | {"clinicare": whole["clinicare"] | change}))
        with pytest.raises(JobError) as caught:
            _agree(job, tasks, YES)
        assert told in caught.value.message
        assert caught.value.remedy


def test_two_runs_of_one_job_do_not_collide(job: Job) -> None:
    with job.locked(), pytest.raises(JobError, match="being run by another process"), job.locked():
        pass
    with job.locked():
        pass


def test_what_an_interrupted_run_left_half_made_is_cleared_and_whole_trials_stay(job: Job) -> None:
    half, whole = job.partial("a", "oracle"), job.trial("b", "oracle")
    half.mkdir(parents=True)
    (half / "result.json").write_text("{}")
    whole.mkdir()
    (whole / "result.json").write_text("{}")
    with job.locked():
        assert not half.exists()
        assert not job.is_done("a", "oracle")
        assert job.is_done("b", "oracle")


def test_a_job_in_containers_holds_to_its_images(tmp_path: Path, job: Job) -> None:
    tasks, oracle = _tasks(tmp_path / "tasks", {"a": "1"}), load_systems()["oracle"]
    _agree(job, tasks, oracle, place="docker", images={"clinicare/mimic:1": "sha256:a"})
    _agree(job, tasks, YES)
    plan = json.loads((job.path / "config.json").read_text())["clinicare"]
    assert plan["images"] == {"clinicare/mimic:1": "sha256:a"}
    with pytest.raises(JobError, match="image clinicare/mimic:1 has changed since the job was begun"):
        _agree(job, tasks, oracle, place="docker", images={"clinicare/mimic:1": "sha256:b"})


def test_a_system_stays_where_the_job_ran_it(tmp_path: Path, job: Job) -> None:
    tasks, oracle = _tasks(tmp_path / "tasks", {"a": "1"}), load_systems()["oracle"]
    _agree(job, tasks, oracle, place="docker")
    with pytest.raises(JobError, match=r"where it runs \(docker, now direct\)"):
        _agree(job, tasks, oracle)


def test_a_job_does_not_hold_what_a_system_sets_in_its_container(tmp_path: Path, job: Job) -> None:
    tasks = _tasks(tmp_path / "tasks", {"a": "1"})
    mine = System(
        tag="mine", about="mine", harbor=HarborAgent(agent="claude-code", environment={"KEY": "a-secret-key"})
    )
    _agree(job, tasks, mine, place="docker")
    assert "a-secret-key" not in (job.path / "config.json").read_text()
    _agree(job, tasks, mine, place="docker")
    other = mine.model_copy(
        update={"harbor": HarborAgent(agent="claude-code", environment={"KEY": "another"})}
    )
    with pytest.raises(JobError, match="system mine has changed since the job was begun: its definition"):
        _agree(job, tasks, other, place="docker")
