"""The oracle in containers: every task solved over MCP and scored in full, by `harness run` and by Harbor alone."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.containers.engine import docker
from harness.containers.leftovers import job_prefix
from harness.data import data_folder
from harness.grade import grade_job
from tests.containers.conftest import EIGHT, Ward
from tests.harness.calls import as_logged, called, logged

HARNESS = Path(sys.executable).with_name("harness")
HARBOR = Path(sys.executable).with_name("harbor")


def _run(ward: Ward, jobs: Path, *more: str) -> subprocess.CompletedProcess[str]:
    place = ["--store", ward.store, "--tasks", ward.tasks, "--jobs-dir", jobs]
    return subprocess.run(
        [HARNESS, "run", "--systems", "oracle", "-n", "4", *place, *more],
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def job(ward: Ward, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The eight tasks, run."""
    jobs = tmp_path_factory.mktemp("jobs")
    done = _run(ward, jobs, "--env", "docker")
    assert done.returncode == 0, done.stderr
    return jobs / "run"


def test_every_task_has_all_of_every_axis(ward: Ward, job: Path) -> None:
    scores = grade_job(job, ward.tasks)
    assert len(scores.trials) == EIGHT
    results = [json.loads(path.read_bytes()) for path in job.glob("*__oracle/result.json")]
    assert [result["verifier_result"]["rewards"] for result in results] == [
        {"reward": 1, "verdict": 1, "supported": 1, "evidence_recall": 1, "citation_precision": 1}
    ] * EIGHT
    assert all(result["exception_info"] is None for result in results)


def test_the_audit_is_sealed_and_tells_the_calls_of_the_trajectory(job: Path) -> None:
    for trial in job.glob("*__oracle"):
        audit = trial / "artifacts" / "audit" / "audit.jsonl"
        assert json.loads(audit.read_text().splitlines()[-1])["sealed"]
        noted = logged(audit)
        assert noted
        assert as_logged(called(trial / "agent" / "trajectory.json"), noted) == noted


def test_a_record_says_where_the_trial_is_and_how_often_it_was_tried(job: Path) -> None:
    for trial in job.glob("*__oracle"):
        result = json.loads((trial / "result.json").read_bytes())
        assert result["trial_name"] == result["config"]["trial_name"] == trial.name
        assert result["trial_uri"] == trial.as_uri()
        metadata = result["agent_result"]["metadata"]
        assert (metadata["system"], metadata["runner"], metadata["attempts"]) == ("oracle", "docker", 1)
        assert metadata["earlier_causes"] == []


def test_the_job_records_its_images_and_runs_nothing_twice(ward: Ward, job: Path) -> None:
    plan = json.loads((job / "config.json").read_bytes())["clinicare"]
    assert sorted(tag.partition(":")[0] for tag in plan["images"]) == [
        "clinicare/agent", "clinicare/mimic", "clinicare/verifier",
    ]  # fmt: skip
    before = {path: path.stat().st_mtime_ns for path in job.glob("*__oracle/*")}
    assert _run(ward, job.parent, "--env", "docker").returncode == 0
    assert {path: path.stat().st_mtime_ns for path in job.glob("*__oracle/*")} == before


def test_a_direct_run_does_not_go_on_with_a_job_in_containers(ward: Ward, job: Path) -> None:
    done = _run(ward, job.parent)
    assert done.returncode == 2
    assert "where it runs (docker, now direct)" in done.stderr


def test_nothing_is_left_behind(job: Path) -> None:
    for kind in ("container", "network", "volume"):
        listed = docker(kind, "ls", *(["--all"] if kind == "container" else []), "--format", "{{json .}}")
        assert job_prefix(job) not in listed
    assert not [path for path in job.iterdir() if path.name.endswith(".partial")]
    for trial in job.glob("*__oracle"):
        for path in trial.rglob("*"):
            mode = path.lstat().st_mode
            assert stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def test_a_task_is_clean_to_harbors_lint(ward: Ward, tmp_path: Path) -> None:
    """Compose before 2.31 does not know one switch that the lint passes; nothing here makes use of it."""
    shim = tmp_path / "docker"
    shim.write_text(
        '#!/bin/bash\nwords=(); for word in "$@"; do [ "$word" = --no-env-resolution ] || words+=("$word"); done\n'
        f'exec {shutil.which("docker")} "${{words[@]}}"\n'
    )
    shim.chmod(0o755)
    task = ward.tasks / ward.task_ids[0]
    done = subprocess.run(
        [HARBOR, "lint", "--json", task],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HARBOR_TELEMETRY": "off"},
        stdout=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    assert json.loads(done.stdout) == []


def test_harbor_alone_runs_a_task_too(ward: Ward, tmp_path: Path) -> None:
    setting = {
        "CLINICARE_STORE": str(ward.store),
        "CLINICARE_CORPUS": str(data_folder("corpus")),
        "CLINICARE_USER": f"{os.getuid()}:{os.getgid()}",
        "HARBOR_TELEMETRY": "off",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    task = ward.tasks / ward.task_ids[0]
    subprocess.run(
        [HARBOR, "run", "-p", task, "-a", "oracle", "-o", tmp_path, "-y"],
        env=os.environ | setting,
        stdout=subprocess.DEVNULL,
        timeout=180,
        check=True,
    )
    result: dict[str, Any] = json.loads(next(tmp_path.glob("*/*/result.json")).read_bytes())
    assert result["verifier_result"]["rewards"]["supported"] == 1
