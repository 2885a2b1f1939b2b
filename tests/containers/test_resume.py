"""A job that is killed, whatever is killed and whenever, ends with the results of one that nobody disturbed."""

import json
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from harness.containers.images import IMAGES, image_tag
from harness.sweep import Sweep, run_sweep
from harness.systems import load_systems
from tests.containers.conftest import EIGHT, Ward
from tests.containers.killing import Killed, Outcome, metadata, outcomes, some_of
from tests.containers.own_engine import OwnEngine, can_run_here

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ACTS = ("chart", "agent", "verifier", "agent", *SIGNALS)
MOST_TRIES = 3
SECONDS_TO_NOTICE = 30

OWN_ENGINE = pytest.mark.skipif(not can_run_here(), reason="needs root, dockerd and unshare")


@pytest.fixture(scope="module")
def undisturbed(ward: Ward, tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    """What becomes of the trials when nothing happens, here in this process."""
    job = tmp_path_factory.mktemp("jobs") / "undisturbed"
    run_sweep(Sweep(ward.tasks, ward.store, job, (load_systems()["oracle"],), environment="direct"))
    found = outcomes(job)
    assert len(found) == EIGHT
    assert {status for _, _, status, _ in found} == {"ok"}
    return found


def _run(ward: Ward, job: Path, tasks: Path | None = None, host: str | None = None) -> Killed:
    places = ["--store", ward.store, "--tasks", tasks or ward.tasks]
    return Killed("run", job, host, "--systems", "oracle", "-n", "2", *places)


def _case(ward: Ward, job: Path, task: str, host: str | None = None) -> Killed:
    places = ["--store", ward.store, "--tasks", ward.tasks]
    return Killed("case", job, host, "--system", "oracle", "--task-id", task, *places)


def _halves(job: Path) -> list[str]:
    """What is in the job's folder besides whole trials and the job's own files."""
    own = {".lock", "config.json", "result.json"}
    return [
        path.name for path in job.iterdir() if path.name not in own and not (path / "result.json").is_file()
    ]


@pytest.mark.slow
def test_killed_at_random_moments_a_job_ends_with_the_same_results(
    ward: Ward, undisturbed: list[Outcome], tmp_path: Path
) -> None:
    """Containers are killed under it, and the harness by every signal; the same command is given again each time."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    chance = random.Random(seed)
    job, deaths, done = tmp_path / "job", Counter[str](), list[str]()
    running = _run(ward, job)
    for act in chance.sample(ACTS, len(ACTS)):
        running.wait_for(running.begun)
        time.sleep(chance.uniform(0, 3))
        if running.ended:
            break
        done.append(str(act))
        if not isinstance(act, signal.Signals):
            task = running.kill_one(act, chance, lambda task: deaths[task] >= MOST_TRIES - 1)
            deaths.update([task] if task else [])
            print(f"the {act} of {task}")
            continue
        running.send(act)
        code, _, said = running.end()
        print(f"{act.name}: {code}")
        if act == signal.SIGKILL:
            assert code == -signal.SIGKILL
        elif code:
            assert (code, said.splitlines()[:1]) == (130, ["error: interrupted"]), said
            assert running.left() == []
            assert _halves(job) == []
        running = _run(ward, job)
    code, _, said = running.end()
    assert code == 0, said
    assert len(done) >= len(SIGNALS)
    assert outcomes(job) == undisturbed
    assert _halves(job) == []
    assert running.left() == []
    for task in ward.task_ids:
        assert metadata(job, task)["attempts"] <= 1 + deaths[task]


KILLS = {
    "the chart server while the agent works": ("exec_start", "agent", "chart"),
    "the chart server when the agent is done": ("pause", "agent", "chart"),
    "the agent's container while it works": ("exec_start", "agent", "agent"),
    "the agent's container before it is copied from": ("pause", "agent", "agent"),
    "the verifier": ("exec_start", "verifier", "verifier"),
}


def test_a_trial_that_loses_a_container_is_tried_again_and_jobs_side_by_side_do_not_meet(
    ward: Ward, undisturbed: list[Outcome], tmp_path: Path
) -> None:
    """Five jobs run one task at the same time, and each one's first try loses one container at a certain moment."""
    task = ward.task_ids[0]
    cases = {what: _case(ward, tmp_path / f"job{number}", task) for number, what in enumerate(KILLS)}
    killed = {what: cases[what].kill_when(*kill) for what, kill in KILLS.items()}
    (expected,) = (found for found in undisturbed if found[0] == task)
    for what, case in cases.items():
        code, out, said = case.end()
        assert code == 0, said
        assert len(killed[what]) == 1, what
        line = json.loads(out)
        assert (line["status"], line["graded"], line["grading"]) == ("ok", True, expected[3]), what
        found = metadata(case.job, task)
        assert (found["attempts"], len(found["earlier_causes"])) == (2, 1), what
        assert outcomes(case.job) == [expected]
        assert case.left() == []


def test_a_job_is_run_by_one_process_at_a_time_and_a_case_of_it_is_read_at_once(
    ward: Ward, undisturbed: list[Outcome], tmp_path: Path
) -> None:
    task, job = ward.task_ids[1], tmp_path / "job"
    first = _case(ward, job, task)
    assert first.wait_for(lambda: first.containers("agent"))
    second = _case(ward, job, task)
    code, out, said = second.end()
    assert (code, out) == (2, "")
    assert said.splitlines()[0] == "error: job job is being run by another process"
    code, line, _ = first.end()
    assert code == 0
    started = time.monotonic()
    third = _case(ward, job, task)
    assert third.end() == (0, line, "")
    print(f"the trial that is there: {time.monotonic() - started:.1f} s")
    assert outcomes(job) == [found for found in undisturbed if found[0] == task]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that a trial does not fit on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=28k", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


@OWN_ENGINE
def test_a_disk_that_fills_is_one_line_and_with_room_the_job_ends_well(
    ward: Ward, undisturbed: list[Outcome], small_disk: Path
) -> None:
    task, job = ward.task_ids[2], small_disk / "job"
    full = _case(ward, job, task)
    code, out, said = full.end()
    assert (code, out) == (2, "")
    error, hint = said.splitlines()
    assert error.startswith("error: ")
    assert "run the same command again" in hint
    assert _halves(job) == []
    assert full.left() == []
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    assert _case(ward, job, task).end()[0] == 0
    assert outcomes(job) == [found for found in undisturbed if found[0] == task]


@pytest.fixture
def engine(images: None) -> Iterator[OwnEngine]:
    """An engine of this test's own with the images."""
    own = OwnEngine(Path(tempfile.mkdtemp(prefix="engine-")))
    try:
        own.start()
        own.load(image_tag(name) for name in IMAGES)
        yield own
    finally:
        own.stop()


@pytest.mark.slow
@OWN_ENGINE
@pytest.mark.slow
def test_an_engine_that_is_killed_ends_the_run_in_one_line_and_the_job_goes_on_when_it_is_back(
    ward: Ward, undisturbed: list[Outcome], tmp_path: Path, engine: OwnEngine
) -> None:
    """It is killed at a random moment, and while a trial is in its verifier."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    job, chosen = tmp_path / "job", ward.task_ids[:2]
    tasks = some_of(ward.tasks, chosen, tmp_path / "tasks")
    for moment in ("random", "verifier"):
        running = _run(ward, job, tasks, engine.host)
        assert running.wait_for(running.begun)
        if moment == "random":
            time.sleep(random.Random(seed).uniform(0, 4))
        else:
            assert running.wait_for(partial(running.containers, "verifier"))
        engine.kill()
        started = time.monotonic()
        code, _, said = running.end()
        waited = time.monotonic() - started
        print(f"{moment}: noticed after {waited:.1f} s")
        assert waited < SECONDS_TO_NOTICE
        assert code == 1
        error, hint = said.splitlines()
        assert error.startswith("error: the container engine went away: ")
        assert "run the same command again" in hint
        assert _halves(job) == []
        engine.start()
    code, _, said = _run(ward, job, tasks, engine.host).end()
    assert code == 0, said
    assert outcomes(job) == [found for found in undisturbed if found[0] in chosen]
    assert _halves(job) == []
    for kind in ("container", "network", "volume"):
        assert not [name for name in engine.names(kind) if name.startswith("clinicare-")]
