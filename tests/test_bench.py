"""The scripts in bench/ say in one line what they cannot measure."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "bench" / "trial_overhead.py"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "usage: "),
        (["jobs/nowhere"], "jobs/nowhere is not a job that can be read (FileNotFoundError: "),
    ],
)
def test_a_job_that_is_not_there_is_a_line(arguments: list[str], said: str) -> None:
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(said)
