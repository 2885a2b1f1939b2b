"""What an image is built from, taken from the installed packages: a wheel builds what a checkout builds."""

import io
import platform
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import harness
import mcp_mimic
from harness.data import data_folder

HARNESS_ONLY = frozenset({"dirhash", "harbor", "httpx", "packaging", "pdfminer-six", "pyyaml", "selectolax"})
"""What clinicare requires and the chart server does not import; every other requirement is the server's."""

_ARGUMENT = re.compile(r"^ARG ([A-Z0-9_]+)=(\S+)$", re.MULTILINE)
_MACHINES = {"arm64": "aarch64", "AMD64": "x86_64"}
_VERIFIER = ("harness/__init__.py", "harness/scoring", "mcp_mimic/__init__.py", "mcp_mimic/contract.py")


@dataclass(frozen=True)
class Context:
    """Files by their path in the context, `Dockerfile` among them, and the Dockerfile's arguments."""

    files: Mapping[str, bytes]
    arguments: Mapping[str, str]

    def digest(self) -> str:
        """`sha256:…` over all of it: equal for two contexts that build the same image."""
        parts = [*sorted(self.files.items()), *((n, v.encode()) for n, v in sorted(self.arguments.items()))]
        content = sha256()
        for name, value in parts:
            content.update(f"{name}\0{len(value)}\0".encode())
            content.update(value)
        return f"sha256:{content.hexdigest()}"

    def archive(self) -> bytes:
        """The files as a tar archive, readable by every user whatever the host's umask; same files, same bytes."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, value in sorted(self.files.items()):
                entry = tarfile.TarInfo(name)
                entry.size = len(value)
                entry.mode = 0o644
                archive.addfile(entry, io.BytesIO(value))
        return buffer.getvalue()


def image_context(name: str, given: Mapping[str, str]) -> Context:
    """The context of the image `name`; arguments that its Dockerfile declares are taken from `given`."""
    dockerfile = (data_folder("docker") / "images" / name / "Dockerfile").read_bytes()
    declared = dict(_ARGUMENT.findall(dockerfile.decode("utf-8")))
    files = {"Dockerfile": dockerfile, **_CONTENT[name]()}
    return Context(files, {argument: given.get(argument, value) for argument, value in declared.items()})


@cache
def server_requirements() -> tuple[str, ...]:
    """What the chart server needs on Linux, `name==version` as installed here, sorted.

    A package that only Linux needs and that is not installed here is left to pip, unpinned.
    """
    direct = [Requirement(text) for text in requires("clinicare") or ()]
    server = [needed for needed in direct if canonicalize_name(needed.name) not in HARNESS_ONLY]
    environment = linux_environment()
    pins: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [needed for needed in server if applies(needed, frozenset(), environment)]
    while waiting:
        needed = waiting.pop()
        name, extras = canonicalize_name(needed.name), frozenset(needed.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        pins[name] = f"{name}=={installed.version}"
        further = [Requirement(text) for text in installed.requires or ()]
        waiting += [each for each in further if applies(each, extras, environment)]
    return tuple(sorted(pins.values()))


def linux_environment() -> dict[str, str]:
    """The environment that markers are read in: this Python, on the engine's Linux."""
    machine = platform.machine()
    return {name: str(value) for name, value in default_environment().items()} | {
        "os_name": "posix",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": _MACHINES.get(machine, machine),
        "platform_release": "",
        "platform_version": "",
    }


def applies(requirement: Requirement, extras: frozenset[str], environment: Mapping[str, str]) -> bool:
    """Whether a package that was asked for with `extras` has this requirement there."""
    marker = requirement.marker
    if marker is None:
        return True
    return any(marker.evaluate({**environment, "extra": extra}) for extra in extras or ("",))


def _agent() -> dict[str, bytes]:
    return {}


def _mimic() -> dict[str, bytes]:
    own = f"clinicare-{version('clinicare')}"
    metadata = f"Metadata-Version: 2.1\nName: clinicare\nVersion: {version('clinicare')}\n"
    return {
        "requirements.txt": "".join(f"{line}\n" for line in server_requirements()).encode(),
        f"python/{own}.dist-info/METADATA": metadata.encode(),
        **_modules("mcp_mimic"),
    }


def _verifier() -> dict[str, bytes]:
    return {path: value for part in _VERIFIER for path, value in _modules(part).items()}


_CONTENT = {"agent": _agent, "mimic": _mimic, "verifier": _verifier}


def _modules(part: str) -> dict[str, bytes]:
    """The Python files of a package or the one of a module, and nothing that lies beside them."""
    package, _, inner = part.partition("/")
    root = _ROOTS[package]
    return {
        f"python/{package}/{file.relative_to(root).as_posix()}": file.read_bytes()
        for file in _python_files(root / inner)
    }


_ROOTS = {"harness": Path(harness.__file__).parent, "mcp_mimic": Path(mcp_mimic.__file__).parent}


def _python_files(path: Path) -> Iterator[Path]:
    return path.rglob("*.py") if path.is_dir() else iter([path])
