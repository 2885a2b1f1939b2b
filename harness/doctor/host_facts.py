"""What this machine has, apart from its engine."""

import fcntl
import os
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

from harness.containers.leftovers import job_prefix
from harness.data import data_folder
from harness.errors import HarnessError
from harness.job import LOCK_FILE
from mcp_mimic.errors import ChartServerError
from mcp_mimic.store.manifest import MANIFEST_FILE
from mcp_mimic.store.store import Store

_ROUTES = Path("/proc/net/route")


@dataclass(frozen=True)
class StoreFacts:
    """The store: what it is, or the trouble with it; what of it the containers' user may not read.

    `owner` is the folder's uid:gid, empty where the engine maps users and none of its users can own it.
    """

    path: Path
    trouble: tuple[str, str] | None = None
    absent: bool = False
    classification: str = ""
    release: str = ""
    fingerprint: str = ""
    unreadable: tuple[str, ...] = ()
    owner: str = ""


@dataclass(frozen=True)
class CorpusFacts:
    """The policy documents: how many the manifest names, which of them are not there, or the trouble."""

    documents: int = 0
    missing: tuple[str, ...] = ()
    trouble: str | None = None


def gather_store(path: Path, user: tuple[int, int], maps_users: bool) -> StoreFacts:
    """Open the store, and see whether containers can read it that run as `user` (uid, gid)."""
    try:
        store = Store.open(path)
        folder = path.stat()
        files = sorted(entry for entry in path.iterdir() if entry.is_file())
        unreadable = [entry.name for entry in (path, *files) if not _readable(entry.stat(), user, maps_users)]
    except ChartServerError as error:
        return StoreFacts(path, (error.message, error.remedy), absent=error.code == "no_store")
    except OSError as error:
        return StoreFacts(path, (f"{path}: {error.strerror}", f"see its permissions: ls -la {path}"))
    manifest = store.manifest
    return StoreFacts(
        path,
        classification=manifest.classification,
        release=manifest.release,
        fingerprint=manifest.fingerprint,
        unreadable=tuple(unreadable),
        owner="" if maps_users else f"{folder.st_uid}:{folder.st_gid}",
    )


def _readable(found: os.stat_result, user: tuple[int, int], maps_users: bool) -> bool:
    """Whether the user may read a file or enter a folder.

    Root is like any other, since the chart server has no capabilities; a mapped user owns nothing here.
    """
    uid, gid = user
    needed = 0o5 if found.st_mode & 0o040000 else 0o4
    if not maps_users:
        if uid == found.st_uid:
            return found.st_mode >> 6 & needed == needed
        if gid == found.st_gid:
            return found.st_mode >> 3 & needed == needed
    return found.st_mode & needed == needed


def choose_store(places: Sequence[Path]) -> Path:
    """The first place where there is a store, or else the first one."""
    there = (place for place in places if os.path.exists(place / MANIFEST_FILE))  # noqa: PTH110 - raises nothing
    return next(there, places[0])


def gather_jobs(folder: Path) -> dict[str, bool]:
    """Of the jobs in a folder: how the names of their trials begin → whether a process runs the job now."""
    return {job_prefix(lock.parent): _is_held(lock) for lock in folder.glob(f"*/{LOCK_FILE}")}


def _is_held(lock: Path) -> bool:
    """Whether a process holds the lock; one that cannot be tried may be held."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def container_user(environment: Mapping[str, str]) -> tuple[int, int]:
    """Who the chart server runs as: `CLINICARE_USER` as uid:gid, else this user."""
    uid, _, gid = environment.get("CLINICARE_USER", "").partition(":")
    if uid.isdecimal():
        return int(uid), int(gid) if gid.isdecimal() else 0
    return os.getuid(), os.getgid()


def gather_corpus() -> CorpusFacts:
    """Read the manifest of policy documents and look for the house's own."""
    try:
        folder = data_folder("corpus")
        manifest = tomllib.loads((folder / "manifest.toml").read_text(encoding="utf-8"))
        paths = [str(document["path"]) for document in manifest["document"] if "path" in document]
        missing = [path for path in paths if not (folder / path).is_file()]
    except HarnessError as error:
        return CorpusFacts(trouble=error.message)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return CorpusFacts(trouble=f"corpus/manifest.toml cannot be read ({type(error).__name__}: {error})")
    return CorpusFacts(len(paths), tuple(missing))


def free_space(folder: Path) -> int | None:
    """Free bytes where the folder is or would be made; None where that cannot be known."""
    for place in (folder, *folder.absolute().parents):
        try:
            return shutil.disk_usage(place).free
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


def host_routes() -> tuple[IPv4Network, ...]:
    """The networks that this machine routes to, which an engine cuts no network from; none where unknown."""
    try:
        lines = _ROUTES.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return ()
    return tuple(read_route(line) for line in lines if int(line.split()[7], 16))


def read_route(line: str) -> IPv4Network:
    """The destination in a line of /proc/net/route, whose numbers are in the machine's byte order."""
    fields = line.split()
    address, mask = (IPv4Address(bytes.fromhex(fields[place])[::-1]) for place in (1, 7))
    return IPv4Network(f"{address}/{mask}", strict=False)
