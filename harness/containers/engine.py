"""The Docker engine, through its own command line."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import EngineError

_UNREACHABLE = ("cannot connect to the docker daemon", "is the docker daemon running", "error during connect")
_REFUSED = "permission denied while trying to connect"
_ABSENT = ("no such image", "image not known")


def docker(*arguments: str, timeout: float = 60) -> str:
    """What `docker ARGUMENTS` prints; EngineError if it cannot be run, fails or outlasts `timeout` seconds."""
    done = _run(arguments, timeout, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise engine_error(arguments[0], done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode("utf-8", "replace")


def docker_build(*arguments: str, context: bytes, log: Path, timeout: float) -> None:
    """Build from an archive, the output going to the file `log`; EngineError as of `docker`.

    The image carries no attestation of this machine, and lands in the engine itself whatever builder is set.
    """
    environment = {name: value for name, value in os.environ.items() if name != "BUILDX_BUILDER"}
    environment["BUILDX_NO_DEFAULT_ATTESTATIONS"] = "1"
    with log.open("wb") as output:
        done = _run(
            ("build", *arguments, "-"),
            timeout,
            input=context,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    if done.returncode != 0:
        raise engine_error("build", log.read_text(encoding="utf-8", errors="replace"))


def _run(arguments: Sequence[str], timeout: float, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["docker", *arguments], timeout=timeout, **streams)  # noqa: S603, S607
    except FileNotFoundError as error:
        raise EngineError(
            "there is no docker command on the PATH",
            "install Docker (https://docs.docker.com/engine/install), or run systems that need no container",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise EngineError(
            f"docker {arguments[0]} did not end within {timeout:g} s",
            "see whether the Docker engine answers: docker info",
        ) from error


def inspect_image(reference: str) -> dict[str, Any] | None:
    """What the engine knows of an image; None if it has none of that name."""
    try:
        [image] = json.loads(docker("image", "inspect", reference))
    except EngineError as error:
        if any(phrase in error.message.lower() for phrase in _ABSENT):
            return None
        raise
    return dict(image)


def engine_error(command: str, output: str) -> EngineError:
    """The error and remedy behind the output of a `docker` command that failed."""
    said = output.lower()
    if _REFUSED in said:
        return EngineError(
            "this user may not use the Docker engine",
            "add the user to the engine's group (sudo usermod -aG docker $USER), log in again, and try once more",
        )
    if any(phrase in said for phrase in _UNREACHABLE):
        return EngineError(
            "no Docker engine answers", "start it (sudo systemctl start docker), or point DOCKER_HOST to one"
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return EngineError(
        f"docker {command} failed: {lines[-1] if lines else 'it said nothing'}",
        "see whether the Docker engine works: docker info",
    )
