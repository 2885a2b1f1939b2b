"""What a run that was killed has left on the engine: containers, networks and volumes of its trials."""

import secrets
import time
from hashlib import sha256
from pathlib import Path

from harness.containers.engine import docker
from harness.errors import EngineError

PREFIX = "clinicare-"
"""How the name of everything begins that a trial makes on the engine."""

_PATIENCE = 10.0  # seconds, as the next
_PAUSE = 1.0


def trial_name(job: Path) -> str:
    """A new name for a trial of the job, under which its containers run: one job's never meets another's."""
    return f"{job_prefix(job)}{secrets.token_hex(4)}"


def remove_leftovers(job: Path) -> None:
    """Remove what runs of the job left; only for who holds the job. EngineError as of `docker`."""
    name = job_prefix(job)
    _remove("container", ("--all", "--no-trunc", "--filter", f"name=^/?{name}"), ("--force", "--volumes"))
    _remove("network", ("--no-trunc", "--filter", f"name=^{name}"))
    _remove("volume", ("--filter", f"name=^{name}"))


def _remove(kind: str, listing: tuple[str, ...], removing: tuple[str, ...] = ()) -> None:
    """Remove all that is listed; a command that outlived its run may be removing, or still making, the same."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        found = docker(kind, "ls", "--quiet", *listing).split()
        if not found:
            return
        try:
            docker(kind, "rm", *removing, *found)
        except EngineError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def job_prefix(job: Path) -> str:
    """How the names of everything begin that trials of this job make on the engine."""
    return f"{PREFIX}{sha256(str(job.resolve()).encode()).hexdigest()[:8]}-"
