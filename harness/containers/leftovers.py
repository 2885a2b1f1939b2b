"""What a run that was killed has left on the engine: containers, networks and volumes of its trials."""

import secrets
from hashlib import sha256
from pathlib import Path

from harness.containers.engine import docker

PREFIX = "clinicare-"
"""How the name of everything begins that a trial makes on the engine."""


def trial_name(job: Path) -> str:
    """A new name for a trial of the job, under which its containers run: one job's never meets another's."""
    return f"{job_prefix(job)}{secrets.token_hex(4)}"


def remove_leftovers(job: Path) -> None:
    """Remove what earlier runs of the job left; only for who holds the job. EngineError as of `docker`."""
    name = f"name=^/?{job_prefix(job)}"
    for kind, listing, removing in (
        ("container", ("--all", "--no-trunc"), ("--force", "--volumes")),
        ("network", (), ()),
        ("volume", (), ()),
    ):
        found = docker(
            kind, "ls", "--quiet", "--filter", name.replace("/?", "") if kind == "volume" else name, *listing
        ).split()
        if found:
            docker(kind, "rm", *removing, *found)


def job_prefix(job: Path) -> str:
    """How the names of everything begin that trials of this job make on the engine."""
    return f"{PREFIX}{sha256(str(job.resolve()).encode()).hexdigest()[:8]}-"
