"""The images that trials run from: built here, and recognised by what they were built from."""

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.containers.context import Context, image_context
from harness.containers.engine import docker, docker_build, inspect_image
from harness.errors import EngineError, RunError

IMAGES = ("agent", "mimic", "verifier")

_SOURCE = "clinicare.source"
_VERSION = "org.opencontainers.image.version"
_BASES = {"PYTHON_BASE": "clinicare.python-base", "DEBIAN_BASE": "clinicare.debian-base"}
"""The label that names each base image; the same with `.id` holds which image that was."""
_OPTIONS = {"PYTHON_BASE": "--python-base", "DEBIAN_BASE": "--debian-base"}
_BUILD_SECONDS = 3600
_PULL_SECONDS = 1800
_TAIL = 15


@dataclass(frozen=True)
class ImageState:
    """What the engine has under an image's tag; `size` in bytes, `bases` as they were given to the build."""

    tag: str
    present: bool = False
    current: bool = False
    """Whether it was built from what is installed now, on the bases it names."""
    id: str | None = None
    digests: tuple[str, ...] = ()
    size: int | None = None
    bases: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Built:
    """One image after a build: `kept` if it was there already, `seconds` what that took."""

    name: str
    tag: str
    id: str
    digests: tuple[str, ...]
    size: int
    seconds: float
    kept: bool


def image_tag(name: str) -> str:
    """The tag of one of the images, for this version of clinicare."""
    return f"clinicare/{name}:{version('clinicare')}"


def build_images(
    tell: Callable[[str], None], python_base: str | None = None, debian_base: str | None = None
) -> list[Built]:
    """Build every image that is not there with exactly this content; bases by default the Dockerfiles'.

    EngineError if the engine cannot be used, RunError if a build fails: its last lines are told first.
    """
    given = {"PYTHON_BASE": python_base, "DEBIAN_BASE": debian_base}
    named = {argument: base for argument, base in given.items() if base is not None}
    return [_build(name, image_context(name, named), tell) for name in IMAGES]


def inspect_images() -> dict[str, ImageState]:
    """What the engine has of each image, by name; EngineError if the engine cannot be used."""
    return {name: _state(name, inspect_image(image_tag(name))) for name in IMAGES}


def require_images() -> dict[str, str]:
    """The ids of the images by tag; EngineError unless all are there and built from what is installed."""
    states = inspect_images()
    for state in states.values():
        if not state.current:
            what = "was built from other code" if state.present else "is not there"
            raise EngineError(f"image {state.tag} {what}", f"build it with `{build_command(states)}`")
    return {state.tag: state.id for state in states.values() if state.id is not None}


def build_command(states: Mapping[str, ImageState]) -> str:
    """`harness images` with the bases that images which are there were built on, if those were given."""
    words = ["harness images"]
    used = {argument: base for state in states.values() for argument, base in (state.bases or {}).items()}
    default = {
        argument: base for name in IMAGES for argument, base in image_context(name, {}).arguments.items()
    }
    words += [f"{_OPTIONS[argument]} {base}" for argument, base in used.items() if base != default[argument]]
    return " ".join(words)


def _state(name: str, image: Mapping[str, Any] | None) -> ImageState:
    if image is None:
        return ImageState(image_tag(name))
    labels = _labels(image)
    bases = {argument: labels[label] for argument, label in _BASES.items() if label in labels}
    return ImageState(
        tag=image_tag(name),
        present=True,
        current=labels.get(_SOURCE) == image_context(name, bases).digest(),
        id=image["Id"],
        digests=tuple(image.get("RepoDigests") or ()),
        size=image["Size"],
        bases=bases,
    )


def _labels(image: Mapping[str, Any]) -> Mapping[str, str]:
    return (image.get("Config") or {}).get("Labels") or {}


def _build(name: str, context: Context, tell: Callable[[str], None]) -> Built:
    started = time.monotonic()
    tag = image_tag(name)
    image = inspect_image(tag)
    kept = image is not None and _is_of(image, context)
    if not kept:
        _run_build(tag, context, _wanted(context, tell), tell)
        image = inspect_image(tag)
    if image is None or _labels(image).get(_SOURCE) != context.digest():
        raise EngineError(
            f"{tag} was built, but the engine does not have it",
            "build on the engine that `docker info` shows: docker buildx use default",
        )
    return Built(
        name=name,
        tag=tag,
        id=image["Id"],
        digests=tuple(image.get("RepoDigests") or ()),
        size=image["Size"],
        seconds=round(time.monotonic() - started, 1),
        kept=kept,
    )


def _is_of(image: Mapping[str, Any], context: Context) -> bool:
    """Whether the image is this context's, on the bases of today; a base that is not here has not moved."""
    labels = _labels(image)
    if labels.get(_SOURCE) != context.digest():
        return False
    named = [(context.arguments[argument], label) for argument, label in _BASES.items() if label in labels]
    bases = [(inspect_image(base), labels.get(f"{label}.id")) for base, label in named]
    return all(base is None or base["Id"] == recorded for base, recorded in bases)


def _wanted(context: Context, tell: Callable[[str], None]) -> dict[str, str]:
    """The labels of the image that this context builds; bases that are not here are pulled."""
    labels = {_SOURCE: context.digest(), _VERSION: version("clinicare")}
    for argument, label in _BASES.items():
        if argument in context.arguments:
            base = context.arguments[argument]
            labels |= {label: base, f"{label}.id": _base_id(base, _OPTIONS[argument], tell)}
    return labels


def _base_id(base: str, option: str, tell: Callable[[str], None]) -> str:
    image = inspect_image(base)
    if image is None:
        tell(f"pulling {base}")
        try:
            docker("pull", "--quiet", base, timeout=_PULL_SECONDS)
        except EngineError as error:
            raise EngineError(
                f"the base image {base} cannot be pulled: {error.message}", f"name another with {option}"
            ) from error
        image = inspect_image(base)
    if image is None:
        raise EngineError(
            f"the base image {base} was pulled, but is not there", f"name another with {option}"
        )
    return str(image["Id"])


def _run_build(tag: str, context: Context, labels: Mapping[str, str], tell: Callable[[str], None]) -> None:
    """Build on the engine; the output is kept only if the build fails."""
    arguments = [f"--build-arg={name}={value}" for name, value in sorted(context.arguments.items())]
    arguments += [f"--label={name}={value}" for name, value in sorted(labels.items())]
    handle, path = tempfile.mkstemp(prefix="clinicare-build-", suffix=".log")
    os.close(handle)
    log = Path(path)
    tell(f"building {tag}, see {log}")
    try:
        docker_build(f"--tag={tag}", *arguments, context=context.archive(), log=log, timeout=_BUILD_SECONDS)
    except EngineError as error:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:]:
            tell(f"  {line}")
        raise RunError(f"{tag} could not be built: {error.message}", f"read {log}") from error
    log.unlink()
