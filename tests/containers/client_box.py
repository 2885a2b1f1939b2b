"""A container without a network that has the chart server, its clients and a store, and the image that it runs from."""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

from harness.containers.context import Context, image_context
from harness.containers.engine import docker, docker_build, inspect_image
from harness.containers.images import image_tag
from mcp_mimic.clients import INSPECTOR

STORE, WORK, INSPECTOR_HOME = "/store", "/home/client", "/opt/inspector"

_DOCKERFILE = Path(__file__).parent / "clients" / "Dockerfile"
_SOURCE = "clinicare-test.source"
_BUILD_SECONDS = 1800


def clients_image() -> str:
    """The tag of the image, built from the code under test unless it is there already.

    Its parts have tags of their own, so that no image that trials run from is replaced.
    """
    tag = _tag("clients")
    parts = {name: image_context(name, _bases(name)) for name in ("agent", "mimic")}
    arguments = {
        "PYTHON_BASE": parts["mimic"].arguments["PYTHON_BASE"],
        "INSPECTOR": INSPECTOR,
        **{name.upper(): _tag(name) for name in parts},
    }
    whole = Context({"Dockerfile": _DOCKERFILE.read_bytes()}, arguments)
    source = " ".join(context.digest() for context in (whole, *parts.values()))
    image = inspect_image(tag)
    if image is None or image["Config"]["Labels"].get(_SOURCE) != source:
        for name, context in parts.items():
            _build(_tag(name), context, "part")
        _build(tag, whole, source)
    return tag


class Box:
    """A running container; `run` runs a command of a shell in it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(
        self,
        command: str,
        *,
        cwd: str = WORK,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        seconds: float = 300,
    ) -> subprocess.CompletedProcess[str]:
        """What the command printed, and how it ended."""
        variables = [f"--env={name}={value}" for name, value in (env or {}).items()]
        words = ["docker", "exec", "--interactive", f"--workdir={cwd}", *variables, self.name]
        return subprocess.run(
            [*words, "bash", "-c", command],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def told(self, command: str, **how: Any) -> str:
        """What a command that ends well printed."""
        done = self.run(command, **how)
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout

    def write(self, path: str, text: str) -> None:
        """A file in the container."""
        self.told(f"mkdir -p $(dirname {path}) && cat >{path}", stdin=text)

    def start(self, command: str, url: str) -> None:
        """Start a command that stays, and wait until this address answers well."""
        log = f"/tmp/{uuid4().hex}"
        ready = f"""python -c 'from urllib.request import urlopen; urlopen("{url}")'"""
        wait = f"for _ in $(seq 300); do {ready} 2>/dev/null && exit; sleep 0.2; done; cat {log} >&2; exit 1"
        self.told(f"{command} >{log} 2>&1 </dev/null & {wait}", seconds=300)


@contextmanager
def running_box(image: str, store: Path, *mounts: str) -> Iterator[Box]:
    """A container of the image with the store, without a network; removed at the end."""
    name = f"clinicare-test-clients-{uuid4().hex[:12]}"
    volumes = [f"--volume={mount}:ro" for mount in (f"{store}:{STORE}", *mounts)]
    docker(
        "run",
        "--detach",
        "--rm",
        "--init",
        "--network=none",
        f"--name={name}",
        *volumes,
        image,
        "sleep",
        "1800",
    )
    try:
        yield Box(name)
    finally:
        docker("rm", "--force", name)


def _tag(name: str) -> str:
    return f"clinicare-test/{name}:{version('clinicare')}"


def _bases(name: str) -> dict[str, str]:
    """The base images that the image of this name was built on, if it was."""
    labels = (inspect_image(image_tag(name)) or {}).get("Config", {}).get("Labels") or {}
    named = {"PYTHON_BASE": "clinicare.python-base", "DEBIAN_BASE": "clinicare.debian-base"}
    return {argument: labels[label] for argument, label in named.items() if label in labels}


def _build(tag: str, context: Context, source: str) -> None:
    options = [f"--tag={tag}", f"--label={_SOURCE}={source}"]
    options += [f"--build-arg={name}={value}" for name, value in context.arguments.items()]
    with tempfile.TemporaryDirectory() as folder:
        docker_build(*options, context=context.archive(), log=Path(folder) / "log", timeout=_BUILD_SECONDS)
