"""The Docker engine, through its own command line."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import EngineError

_UNREACHABLE = ("cannot connect to the docker daemon", "is the docker daemon running", "error during connect")
_REFUSED = "permission denied while trying to connect"
_CONTEXT_SECONDS = 2
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
            f"docker {arguments[0]} did not end within {timeout:g} s on the engine at {endpoint()}",
            "see whether the Docker engine answers: docker info",
        ) from error


async def follow_engine() -> None:
    """Return once the engine has closed a connection that it holds open for as long as it runs."""
    process = await asyncio.create_subprocess_exec(
        *("docker", "events", "--filter", "type=daemon", "--filter", "event=reload"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def endpoint() -> str:
    """Where the command line looks for the engine, and who says so: `DOCKER_HOST`, or a context of Docker's."""
    if host := os.environ.get("DOCKER_HOST"):
        return f"{_shown(host)} (DOCKER_HOST)"
    ask = ("context", "inspect", "--format", "{{.Endpoints.docker.Host}} (context {{.Name}})")
    try:
        asked = subprocess.run(["docker", *ask], capture_output=True, timeout=_CONTEXT_SECONDS, check=True)  # noqa: S603, S607
    except (OSError, subprocess.SubprocessError):
        return f"the address of context {os.environ.get('DOCKER_CONTEXT', 'default')}"
    return _shown(asked.stdout.decode("utf-8", "replace").strip())


def _shown(host: str) -> str:
    """An engine's address without who logs in there."""
    return re.sub(r"//[^/@]*@", "//", host)


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
            f"this user may not use the Docker engine at {endpoint()}",
            "add the user to the engine's group (sudo usermod -aG docker $USER), log in again, and try once more",
        )
    if any(phrase in said for phrase in _UNREACHABLE):
        return EngineError(
            f"no Docker engine answers at {endpoint()}",
            "start it (sudo systemctl start docker), or point DOCKER_HOST to one that runs",
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return EngineError(
        f"docker {command} failed: {lines[-1] if lines else 'it said nothing'}",
        "see whether the Docker engine works: docker info",
    )
