"""The documentation's example of an agent and a model of one's own, run as a reader would run it."""

import subprocess
import sys
from pathlib import Path

from harness.trial import read_trial
from tests.containers.conftest import Ward
from tests.examples import write_boxed_example

HARNESS = Path(sys.executable).with_name("harness")


def test_the_model_of_the_page_answers_with_the_search_that_it_was_shown(ward: Ward, tmp_path: Path) -> None:
    write_boxed_example(tmp_path)
    built = sorted(path for path in ward.tasks.rglob("*") if path.is_file())
    task = ward.task_ids[0]
    done = subprocess.run(
        [
            *(HARNESS, "run", "--systems", "boxed", "--systems-file", "my-systems.toml", "--only", task),
            *("--tasks", ward.tasks, "--store", ward.store, "--job-name", "mine"),
        ],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    job = tmp_path / "jobs" / "mine"
    assert read_trial(job, f"{task}__boxed").status == "ok"
    report = job / f"{task}__boxed" / "artifacts" / "workspace" / "report.md"
    assert report.read_text().startswith(
        "## Answer: INDETERMINATE — lack of data\n\nNot enough was read [search:1]"
    )
    assert str(tmp_path / "model.yaml") in (report.parents[2] / "config.json").read_text()
    assert sorted(path for path in ward.tasks.rglob("*") if path.is_file()) == built
