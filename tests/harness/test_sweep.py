"""A sweep runs each missing trial once, whatever happened to the run before."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harbor.models.job.result import JobResult
from harbor.models.trial.result import TrialResult

from harness.digests import digest_files, task_files
from harness.direct import Batch
from harness.errors import JobError, RunError, TaskError, UnknownSystemError
from harness.job import Job, Setting
from harness.readers import Reader
from harness.sweep import Sweep, run_sweep
from harness.systems import HarborAgent, System, load_systems
from harness.workers import Pool
from mcp_mimic.errors import SettingsError
from tests.harness.tiny import GOLDS, TinyWorld

ROOT = Path(__file__).parents[2]
YES, DEFER = load_systems()["always-yes"], load_systems()["always-defer"]
READERS = (Reader("none", "a test"),)
READER = ["--reader", "none=a test"]
OWN = """
[[system]]
tag = "waits"
agent = "tests.harness.direct_agents:WaitsForAFile"
about = "for tests"
"""


def _sweep(tiny: TinyWorld, job: Path, *systems: System, concurrency: int = 1) -> Sweep:
    return Sweep(tiny.tasks, tiny.store, job, systems, concurrency=concurrency, readers=READERS)


def _trials(job: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in job.glob("*/result.json")}


def test_a_job_holds_one_trial_for_each_task_and_system_and_a_summary(
    tiny: TinyWorld, tmp_path: Path
) -> None:
    job = tmp_path / "job"
    summary = run_sweep(_sweep(tiny, job, YES, DEFER, concurrency=2))
    assert (summary.trials, summary.ran, summary.dead) == (4, 4, 0)
    assert sorted(_trials(job)) == sorted(f"{task}__{tag}" for task in GOLDS for tag in (YES.tag, DEFER.tag))
    result = JobResult.model_validate_json((job / "result.json").read_bytes())
    assert result.n_total_trials == result.stats.n_completed_trials == 4


def test_only_what_is_missing_is_run_again(tiny: TinyWorld, tmp_path: Path) -> None:
    job = tmp_path / "job"
    run_sweep(_sweep(tiny, job, YES))
    before = _trials(job)
    gone = sorted(before)[0]
    shutil.rmtree(job / gone)
    (job / f".{gone}.1.partial").mkdir()
    assert run_sweep(_sweep(tiny, job, YES)).ran == 1
    after = _trials(job)
    assert after.keys() == before.keys()
    assert all(after[name] == before[name] for name in before if name != gone)
    assert not list(job.glob(".*partial"))
    assert run_sweep(_sweep(tiny, job, YES)).ran == 0


@pytest.mark.slow
def test_a_worker_that_is_killed_takes_one_trial_with_it(tiny: TinyWorld, tmp_path: Path) -> None:
    killer = System(tag="killer", agent="tests.harness.direct_agents:KillsItsWorker", about="for tests")
    job = tmp_path / "job"
    sweep = Sweep(
        tiny.tasks, tiny.store, job, (YES, killer, DEFER), task_ids=(sorted(GOLDS)[0],), readers=READERS
    )
    assert run_sweep(sweep).dead == 1
    results = {
        path.parent.name.split("__")[1]: TrialResult.model_validate_json(path.read_bytes())
        for path in job.glob("*/result.json")
    }
    assert results.keys() == {"always-yes", "killer", "always-defer"}
    assert results["always-defer"].verifier_result is not None
    dead = results["killer"]
    assert dead.verifier_result is None
    assert "SIGKILL" in dead.exception_info.exception_message
    assert dead.agent_result.metadata["attempts"] == 3


def test_what_a_worker_could_not_do_is_a_failed_run_and_no_mistake_in_the_asking(
    tiny: TinyWorld, tmp_path: Path
) -> None:
    gone = Setting(tmp_path / "gone", tiny.store, tmp_path / "job")
    with pytest.raises(RunError, match="is not a tasks folder") as caught:
        Pool(gone, 1).run([Batch(min(GOLDS), (YES,))], lambda _task, _tag: None)
    assert "harness build" in caught.value.remedy


@pytest.mark.slow
@pytest.mark.parametrize("signal_sent", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_stopped_is_resumed_and_no_worker_outlives_it(
    tiny: TinyWorld, tmp_path: Path, signal_sent: signal.Signals
) -> None:
    systems, gate = tmp_path / "systems.toml", tmp_path / "gate"
    systems.write_text(OWN)
    command = [
        sys.executable,
        "-c",
        "from harness.cli import main; main()",
        "run",
        "--systems",
        "always-yes,waits",
    ]
    command += ["--tasks", str(tiny.tasks), "--store", str(tiny.store), "--jobs-dir", str(tmp_path / "jobs")]
    command += ["--job-name", "first", "--systems-file", str(systems), "-n", "1", *READER]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CLINICARE_TEST_GATE": str(gate)}
    run = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    begun = gate.with_suffix(".begun")
    _wait_for(begun.exists, "the trial never began")
    if signal_sent is signal.SIGINT:
        os.killpg(run.pid, signal_sent)  # as a terminal does
    else:
        run.send_signal(signal_sent)
    _, told = run.communicate(timeout=60)
    if signal_sent is signal.SIGINT:
        assert run.returncode == 130
        assert told.splitlines()[-2:] == [  # after lines of progress, if it took so long
            "error: interrupted",
            "hint: run the same command again: trials that are whole are kept",
        ]
    _wait_for(lambda: not _runs(int(begun.read_text())), "the worker outlived its run")
    gate.touch()
    job = tmp_path / "jobs" / "first"
    kept = _trials(job)
    assert list(kept) == [f"{sorted(GOLDS)[0]}__always-yes"]
    again = subprocess.run(
        command, env=environment, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert again.returncode == 0, again.stderr
    assert "3 trials run, 1 kept, 0 dead" in again.stderr
    assert _trials(job).items() >= kept.items()
    assert len(_trials(job)) == 4
    assert not list(job.glob(".*partial"))


@pytest.mark.slow
def test_ctrl_c_while_the_workers_start_is_two_lines(tiny: TinyWorld, tmp_path: Path) -> None:
    """The group is interrupted as soon as the run has a second child: while that child still imports.

    Its only system waits for a file that never comes, so that the run cannot be over by then.
    """
    systems = tmp_path / "systems.toml"
    systems.write_text(OWN)
    command = [sys.executable, "-c", "from harness.cli import main; main()", "run", "--systems", "waits"]
    command += ["--tasks", str(tiny.tasks), "--store", str(tiny.store), "--systems-file", str(systems)]
    command += ["--jobs-dir", str(tmp_path), "--job-name", "first", *READER]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "CLINICARE_TEST_GATE": str(tmp_path / "gate")}
    run = subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    _wait_for(lambda: len(_children(run.pid)) >= 2, "no worker was started")
    os.killpg(run.pid, signal.SIGINT)
    _, told = run.communicate(timeout=60)
    assert run.returncode == 130
    assert told.splitlines()[-2:] == [  # after lines of progress, if it took so long
        "error: interrupted",
        "hint: run the same command again: trials that are whole are kept",
    ]


def test_what_cannot_be_run_is_said_before_anything_is_written(tiny: TinyWorld, tmp_path: Path) -> None:
    job = tmp_path / "job"
    nobody = YES.model_copy(update={"agent": "nowhere:Nobody"})
    with pytest.raises(UnknownSystemError):
        run_sweep(_sweep(tiny, job, nobody))
    with pytest.raises(TaskError, match="no task 05-other"):
        run_sweep(Sweep(tiny.tasks, tiny.store, job, (YES,), task_ids=("05-other",)))
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    manifest = json.loads((tiny.tasks / "manifest.json").read_text())
    (tasks / "manifest.json").write_text(json.dumps(manifest | {"tasks": {}}))
    with pytest.raises(JobError, match="no task in"):
        run_sweep(Sweep(tasks, tiny.store, job, (YES,)))
    assert not job.exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("instruction.md", "Say YES.", "what its agent sees is not as it was built"),
        ("task.toml", "[agent]\ntimeout_sec = 9e9\n", "what its agent sees is not as it was built"),
        ("environment/grant.json", "[]", "grant.json is not JSON"),
        ("environment/grant.json", None, "grant.json is missing"),
        ("tests/gold.json", "{}", "its gold is not as it was built"),
        ("tests/test.sh", "exec false\n", "what runs or scores it is not as it was built"),
        ("tests/test.sh", None, "what runs or scores it is not as it was built"),
        ("solution/plan.tsv", "verdict\tNO\n", "its solution is not as it was built"),
    ],
)
def test_tasks_that_are_not_as_they_were_built_are_not_run(
    tiny: TinyWorld, tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    tasks, job = tmp_path / "tasks", tmp_path / "job"
    shutil.copytree(tiny.tasks, tasks)
    (tasks / max(GOLDS) / name).unlink()
    if text is not None:
        (tasks / max(GOLDS) / name).write_text(text)
    with pytest.raises(TaskError, match=said):
        run_sweep(Sweep(tasks, tiny.store, job, (YES,)))
    assert not job.exists()


def test_a_grant_for_a_later_moment_is_not_as_built(tiny: TinyWorld, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks"
    shutil.copytree(tiny.tasks, tasks)
    file = tasks / min(GOLDS) / "environment" / "grant.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"as_of": "2199-01-01T00:00:00"}))
    with pytest.raises(TaskError, match="what its agent sees is not as it was built"):
        run_sweep(Sweep(tasks, tiny.store, tmp_path / "job", (YES,)))


def _wait_for(holds: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def _children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def _runs(process: int) -> bool:
    """Whether the process is there and not merely unburied."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


MODEL = System(tag="a-model", about="a model", harbor=HarborAgent(agent="claude-code", model="maker/m"))
OWN_CODE = System(tag="mine", about="my own", agent="tests.harness.direct_agents:Submits")


@pytest.mark.parametrize(
    ("system", "said"), [(MODEL, "through the model maker/m"), (OWN_CODE, "through code of your own")]
)
def test_nothing_reads_a_credentialed_chart_that_nobody_is_named_for(
    tiny: TinyWorld, tmp_path: Path, system: System, said: str
) -> None:
    other = (Reader("maker/other", "an agreement"),) if system is MODEL else ()
    with pytest.raises(JobError, match=f"system {system.tag}: the store is credentialed, .* {said}"):
        run_sweep(Sweep(tiny.tasks, tiny.store, tmp_path / "job", (system,), readers=other))
    assert not (tmp_path / "job").exists()


def test_a_model_that_is_named_is_refused_for_no_such_reason(tiny: TinyWorld, tmp_path: Path) -> None:
    named = (Reader("maker/m", "an agreement"),)
    nowhere = MODEL.model_copy(update={"harbor": HarborAgent(agent="no-such-agent", model="maker/m")})
    with pytest.raises(UnknownSystemError, match="no-such-agent"):
        run_sweep(Sweep(tiny.tasks, tiny.store, tmp_path / "job", (nowhere,), readers=named))


def test_a_job_records_who_was_named_to_read(tiny: TinyWorld, tmp_path: Path) -> None:
    run_sweep(_sweep(tiny, tmp_path / "job", YES))
    assert _plan(tmp_path / "job")["readers"] == {"none": "a test"}


def _plan(job: Path) -> dict[str, Any]:
    return dict(json.loads((job / "config.json").read_bytes())["clinicare"])


def _policed(tiny: TinyWorld, root: Path) -> tuple[Path, Path]:
    """The tiny tasks, each with a policy that its grant names, and a corpus that has it."""
    tasks, corpus = root / "tasks", root / "corpus"
    shutil.copytree(tiny.tasks, tasks)
    manifest = json.loads((tasks / "manifest.json").read_bytes())
    for task in GOLDS:
        grant = tasks / task / "environment" / "grant.json"
        grant.write_text(json.dumps(json.loads(grant.read_bytes()) | {"documents": ["house"]}))
        manifest["tasks"][task] |= digest_files(task_files(tasks / task))
    (tasks / "manifest.json").write_text(json.dumps(manifest))
    corpus.mkdir()
    (corpus / "house.md").write_text("# House\n\n## 1 Lactate\n\nMeasured again.\n")
    (corpus / "manifest.toml").write_text(
        '[manifest]\nschema = 1\n\n[[document]]\nid = "house"\ntitle = "House"\npublisher = "A test"\n'
        'path = "house.md"\naccess = "shipped"\nlicence = "MIT"\nformat = "md"\nlanguage = "en"\n'
    )
    return tasks, corpus


def test_a_policy_is_served_from_the_corpus_that_is_named_and_held_to(
    tiny: TinyWorld, tmp_path: Path
) -> None:
    tasks, corpus = _policed(tiny, tmp_path)
    reader = System(tag="reads", about="reads", agent="tests.harness.direct_agents:ReadsThePolicy")
    sweep = Sweep(tasks, tiny.store, tmp_path / "job", (reader,), corpus=corpus, readers=READERS)
    assert run_sweep(sweep).dead == 0
    for task in GOLDS:
        score = json.loads((tmp_path / "job" / f"{task}__reads" / "verifier" / "score.json").read_bytes())
        assert score["policy_citations"] == ["policy:house#1"]
    assert list(_plan(tmp_path / "job")["policies"]) == ["house"]
    (corpus / "house.md").write_text("# House\n\n## 1 Lactate\n\nNot measured again.\n")
    shutil.rmtree(tmp_path / "job" / f"{min(GOLDS)}__reads")
    with pytest.raises(JobError, match="policy document house has changed since the job was begun"):
        run_sweep(sweep)


def test_a_policy_that_the_corpus_lacks_is_held_to_as_well(tiny: TinyWorld, tmp_path: Path) -> None:
    tasks, corpus = _policed(tiny, tmp_path)
    run_sweep(Sweep(tasks, tiny.store, tmp_path / "job", (YES,)))
    assert _plan(tmp_path / "job")["policies"] == {"house": ""}
    with pytest.raises(JobError, match="policy document house has changed"):
        run_sweep(Sweep(tasks, tiny.store, tmp_path / "job", (DEFER,), corpus=corpus))


def test_a_corpus_that_cannot_be_served_is_told_before_the_first_trial(
    tiny: TinyWorld, tmp_path: Path
) -> None:
    tasks, corpus = _policed(tiny, tmp_path)
    (corpus / "house.md").unlink()
    with pytest.raises(SettingsError, match=r"house\.md cannot be read"):
        run_sweep(Sweep(tasks, tiny.store, tmp_path / "job", (YES,), corpus=corpus))
    assert not (tmp_path / "job").exists()


WITHOUT_HARBOR = """
import sys
from harness.cli import run
code = run(sys.argv[1:])
sys.exit("Harbor was imported" if "harbor" in sys.modules else code)
"""


@pytest.mark.parametrize("environment", ["direct", "docker"])
def test_a_trial_that_is_there_needs_neither_engine_nor_harbor(
    tiny: TinyWorld, tmp_path: Path, environment: str
) -> None:
    job, task = tmp_path / "job", min(GOLDS)
    run_sweep(Sweep(tiny.tasks, tiny.store, job, (load_systems()["oracle"],), task_ids=(task,)))
    config = json.loads((job / "config.json").read_text())
    if environment == "docker":
        config["clinicare"]["systems"]["oracle"] |= {"runs_in": "docker", "code": ""}
    (job / "config.json").write_text(json.dumps(config))
    places = ["--tasks", str(tiny.tasks), "--store", str(tiny.store), "--jobs-dir", str(tmp_path)]
    places += ["--job-name", "job", "--env", environment]
    kept = {path: path.stat().st_mtime_ns for path in job.rglob("*")}
    for asked in (
        ["case", "--system", "oracle", "--task-id", task],
        ["run", "--systems", "oracle", "--only", task],
    ):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_HARBOR, *asked, *places],
            env=os.environ | {"PATH": str(tmp_path)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in job.rglob("*")} == kept


def test_a_trial_that_is_there_is_had_while_another_process_runs_the_job(
    tiny: TinyWorld, tmp_path: Path
) -> None:
    job, task = tmp_path / "job", min(GOLDS)
    sweep = Sweep(tiny.tasks, tiny.store, job, (YES,), task_ids=(task,))
    run_sweep(sweep)
    (job / "result.json").unlink()
    with Job(job).locked():
        assert run_sweep(sweep).ran == 0
        with pytest.raises(JobError, match="being run by another process"):
            run_sweep(_sweep(tiny, job, YES))


def test_a_run_that_was_killed_before_its_summary_gets_it_from_the_next_one(
    tiny: TinyWorld, tmp_path: Path
) -> None:
    job = tmp_path / "job"
    run_sweep(_sweep(tiny, job, YES))
    (job / "result.json").unlink()
    assert run_sweep(_sweep(tiny, job, YES)).ran == 0
    assert json.loads((job / "result.json").read_text())["n_total_trials"] == len(GOLDS)
