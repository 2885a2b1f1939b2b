"""What tests that kill need: a harness to be killed, and a hand that kills a job's containers."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from harness.containers.leftovers import job_prefix
from harness.taskset import TaskSet
from harness.trial import find_trials, read_trial

HARNESS = Path(sys.executable).with_name("harness")

ROLES = {
    "chart": "__env-mimic-1",
    "agent": "__env-main-1",
    "verifier": "__verifier__trial-main-1",
}
"""How the names of a trial's containers end."""

Outcome = tuple[str, str, str, dict[str, float] | None]
"""Of a trial: task, system, status and rewards."""


_PROGRESS = re.compile(r"^\d+ of \d+ trials, \d+ s\n", re.MULTILINE)


def outcomes(job: Path) -> list[Outcome]:
    """Of all trials of a job, whose folders must all be whole."""
    found = []
    for name in find_trials(job):
        trial = read_trial(job, name)
        result = json.loads((job / name / "result.json").read_bytes())
        rewards = (result["verifier_result"] or {}).get("rewards")
        found.append((trial.task.rpartition("/")[2], trial.system, trial.status, rewards))
    return found


def metadata(job: Path, task: str) -> dict[str, Any]:
    """What the record of the oracle's trial adds to Harbor's."""
    result = json.loads((job / f"{task}__oracle" / "result.json").read_bytes())
    return dict(result["agent_result"]["metadata"])


def some_of(tasks: Path, task_ids: Sequence[str], folder: Path) -> Path:
    """A tasks folder with only some of another one's tasks."""
    for task in task_ids:
        shutil.copytree(tasks / task, folder / task)
    manifest = json.loads((tasks / "manifest.json").read_text())
    manifest["tasks"] = {task: manifest["tasks"][task] for task in task_ids}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert len(TaskSet.open(folder).manifest.tasks) == len(task_ids)
    return folder


class Killed:
    """A `harness` command in a process group of its own, on an engine and with a job."""

    def __init__(self, command: str, job: Path, host: str | None, *options: str | Path) -> None:
        self.job, self.host = job, host
        environment = os.environ | ({"DOCKER_HOST": host} if host else {})
        self.process = subprocess.Popen(
            [HARNESS, command, "--env", "docker", "--jobs-dir", job.parent, "--job-name", job.name, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def end(self, seconds: float = 180) -> tuple[int, str, str]:
        """Its exit code, stdout and what it said on stderr, but for how far it was, once it has ended."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, _PROGRESS.sub("", err)

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def begun(self) -> bool:
        """Whether it runs trials by now; what a killed one left does not count."""
        return any(self.job.glob(f".*.{self.process.pid}.partial"))

    def send(self, number: signal.Signals) -> None:
        """SIGKILL and Ctrl-C reach all of the group, as from the kernel and a terminal; others only the harness."""
        if number in (signal.SIGKILL, signal.SIGINT):
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    def docker(self, *arguments: str) -> str:
        """What a docker command prints; nothing if it fails, as it does when a container is gone by then."""
        host = ["--host", self.host] if self.host else []
        done = subprocess.run(["docker", *host, *arguments], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else ""

    def containers(self, role: str) -> list[str]:
        """Names of those that run."""
        names = self.docker("ps", "--format", "{{.Names}}").split()
        prefix = job_prefix(self.job)
        return [name for name in names if name.startswith(prefix) and name.endswith(ROLES[role])]

    def task_of(self, container: str) -> str:
        """The task whose trial a container is of."""
        label = '{{index .Config.Labels "com.docker.compose.project.working_dir"}}'
        return Path(self.docker("inspect", "--format", label, container).strip()).parent.name

    def left(self) -> list[str]:
        """What there is of the job on the engine."""
        found = []
        for kind in ("container", "network", "volume"):
            words = ["--all"] if kind == "container" else []
            found += self.docker(kind, "ls", *words, "--format", "{{json .}}").splitlines()
        return [line for line in found if job_prefix(self.job) in line]

    def wait_for(self, holds: Callable[[], object], seconds: float = 60) -> bool:
        """Whether something came to be while the command ran."""
        deadline = time.monotonic() + seconds
        while not self.ended and time.monotonic() < deadline:
            if holds():
                return True
            time.sleep(0.05)
        return False

    def kill_one(self, role: str, chance: random.Random, spared: Callable[[str], bool]) -> str | None:
        """Kill one container of a role as soon as there is one whose task is not spared; the task."""
        victims: list[str] = []

        def found() -> bool:
            victims[:] = [name for name in self.containers(role) if not spared(self.task_of(name))]
            return bool(victims)

        if not self.wait_for(found):
            return None
        victim = chance.choice(victims)
        task = self.task_of(victim)
        return task if self.docker("kill", victim) else None

    def kill_when(self, event: str, role: str, victim: str) -> list[str]:
        """Kill, once, the `victim` of the first trial in whose `role` container the event is seen; what was killed."""
        host = ["--host", self.host] if self.host else []
        events = subprocess.Popen(
            ["docker", *host, "events", "--filter", "type=container", "--format", "{{json .}}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        killed: list[str] = []

        def follow() -> None:
            assert events.stdout is not None
            for line in events.stdout:
                seen = json.loads(line)
                name = seen["Actor"]["Attributes"].get("name", "")
                if not name.startswith(job_prefix(self.job)) or not name.endswith(ROLES[role]):
                    continue
                if seen["Action"].startswith(event) and not killed:
                    trial = name.removesuffix(ROLES[role])
                    killed.append(self.docker("kill", f"{trial}{ROLES[victim]}").strip())
                    events.terminate()
            events.stdout.close()
            events.wait()

        Thread(target=follow, daemon=True).start()
        return killed
