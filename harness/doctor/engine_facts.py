"""What the engine is and holds, asked of its command line."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import AddressValueError, IPv4Network
from typing import Any

from harness.containers.engine import docker
from harness.containers.leftovers import PREFIX
from harness.doctor.pools import DEFAULT_POOLS, Pool
from harness.errors import EngineError

PROBE_LABEL = "clinicare.doctor"
"""What the doctor's own networks and containers carry, so that a killed doctor's are found again."""

_PROJECT_LABEL = "com.docker.compose.project"
_ASK_SECONDS = 20


@dataclass(frozen=True)
class Engine:
    """The engine as `docker info` and `docker version` tell; memory in bytes, `skew` in seconds ahead of us.

    `skew` is what is left after half of the time that asking took, the most that the answer can be off.
    """

    version: str
    api: str
    endpoint: str
    system: str
    os_type: str
    security: tuple[str, ...]
    cgroup: str
    limits_memory: bool
    limits_processes: bool
    root_dir: str
    memory: int
    pools: tuple[Pool, ...]
    now: datetime
    skew: float

    @property
    def local(self) -> bool:
        """Whether the engine shares this machine's folders."""
        return self.endpoint.startswith(("unix://", "npipe://", "fd://"))

    @property
    def shares_disk(self) -> bool:
        """Whether its root directory is a folder of this machine, and not of a virtual one beside it."""
        return self.endpoint.startswith(("unix://", "fd://")) and "Desktop" not in self.system

    @property
    def maps_users(self) -> bool:
        """Whether a container's user is another one on the host."""
        return any(option.startswith(("name=rootless", "name=userns")) for option in self.security)


@dataclass(frozen=True)
class Thing:
    """A network, container or volume: its compose project or the probe that made it, if one did."""

    kind: str
    name: str
    project: str = ""
    probe: str = ""
    running: bool = False
    created: datetime | None = None
    subnets: tuple[IPv4Network, ...] = ()


@dataclass(frozen=True)
class EngineFacts:
    """All that is asked; what could not be asked is its error, or None where there is simply nothing."""

    engine: Engine | EngineError
    compose: str | None = None
    buildx: str | None = None
    things: tuple[Thing, ...] | EngineError = ()


def gather_engine() -> EngineFacts:
    """Ask the engine; nothing is raised for one that is not there."""
    plugins = _plugin("compose", "version", "--short"), _plugin("buildx", "version")
    engine = tried(_engine)
    if isinstance(engine, EngineError):
        return EngineFacts(engine, *plugins)
    return EngineFacts(engine, *plugins, things=tried(_things))


def tried[T](ask: Callable[[], T]) -> T | EngineError:
    """The answer, or why there is none: another program may stand in Docker's place and answer anything."""
    try:
        return ask()
    except EngineError as error:
        return error
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        return EngineError(
            f"the docker command answers what is not understood ({type(error).__name__}: {error})",
            "see whether it is Docker's own, and what it says: docker version",
        )


def _ask(*arguments: str) -> str:
    return docker(*arguments, timeout=_ASK_SECONDS)


def _plugin(*arguments: str) -> str | None:
    said = tried(lambda: _ask(*arguments).strip())
    return None if isinstance(said, EngineError) else said


def _engine() -> Engine:
    before = time.time()
    info = json.loads(_ask("info", "--format", "{{json .}}"))
    after = time.time()
    if errors := info.get("ServerErrors"):
        raise EngineError(str(errors[0]), "see whether the Docker engine works: docker info")
    now = _moment(info["SystemTime"])
    return Engine(
        version=info["ServerVersion"],
        api=_ask("version", "--format", "{{.Server.APIVersion}}").strip(),
        endpoint=_endpoint(),
        system=info.get("OperatingSystem", ""),
        os_type=info.get("OSType", ""),
        security=tuple(info.get("SecurityOptions") or ()),
        cgroup=info.get("CgroupVersion") or "1",
        limits_memory=bool(info.get("MemoryLimit")),
        limits_processes=bool(info.get("PidsLimit")),
        root_dir=info.get("DockerRootDir", ""),
        memory=int(info.get("MemTotal", 0)),
        pools=_pools(info.get("DefaultAddressPools") or ()),
        now=now,
        skew=_skew(now.timestamp(), before, after),
    )


def _skew(theirs: float, before: float, after: float) -> float:
    """How far a clock is outside the moments between which it was read; 0 within them."""
    if theirs < before:
        return theirs - before
    return max(0.0, theirs - after)


def _endpoint() -> str:
    """Where the command line finds the engine."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    return _ask("context", "inspect", "--format", "{{.Endpoints.docker.Host}}").strip()


def _pools(given: Any) -> tuple[Pool, ...]:
    pools = []
    for pool in given:
        try:
            pools.append(Pool(IPv4Network(pool["Base"], strict=False), int(pool["Size"])))
        except AddressValueError:  # of IPv6, which no trial uses
            continue
    return tuple(pools) or DEFAULT_POOLS


def _things() -> tuple[Thing, ...]:
    return (*_networks(), *_containers(), *_volumes())


def _networks() -> list[Thing]:
    """The networks; asked twice if one ended between being listed and being looked at."""
    for last in (False, True):
        try:
            names = _ask("network", "ls", "--quiet", "--no-trunc").split()
            return [_network(found) for found in json.loads(_ask("network", "inspect", *names))]
        except EngineError:
            if last:
                raise
    return []


def _network(found: Mapping[str, Any]) -> Thing:
    labels = found.get("Labels") or {}
    ranges = (found.get("IPAM") or {}).get("Config") or ()
    subnets = [part["Subnet"] for part in ranges if ":" not in part.get("Subnet", ":")]
    return Thing(
        kind="network",
        name=found["Name"],
        project=labels.get(_PROJECT_LABEL, ""),
        probe=labels.get(PROBE_LABEL, ""),
        created=_moment(found["Created"]),
        subnets=tuple(IPv4Network(subnet, strict=False) for subnet in subnets),
    )


def _containers() -> list[Thing]:
    found = []
    for line in _listed("ps", "--all", "{{.Names}}", "{{.State}}", "{{.CreatedAt}}"):
        name, state, created, project, probe = line
        moment = datetime.strptime(created[:25], "%Y-%m-%d %H:%M:%S %z")
        found.append(Thing("container", name, project, probe, state in ("running", "paused"), moment))
    return found


def _volumes() -> list[Thing]:
    """The volumes; when one was made only its own description says, and that is asked of trials' alone."""
    lines = _listed("volume", "ls", "{{.Name}}")
    own = [name for name, _, _ in lines if name.startswith(PREFIX)]
    made = _made(own) if own else {}
    return [Thing("volume", name, project, probe, created=made.get(name)) for name, project, probe in lines]


def _made(volumes: Sequence[str]) -> dict[str, datetime]:
    """When these volumes were made; now, if one ended between being listed and being looked at: trials run."""
    try:
        return {
            each["Name"]: _moment(each["CreatedAt"])
            for each in json.loads(_ask("volume", "inspect", *volumes))
        }
    except EngineError:
        return dict.fromkeys(volumes, datetime.now(UTC))


def _listed(*words: str) -> list[list[str]]:
    """The lines of a listing, each cut into the fields asked for, the project and the probe."""
    command = [word for word in words if not word.startswith("{{")]
    fields = [word for word in words if word.startswith("{{")]
    fields += [f'{{{{.Label "{label}"}}}}' for label in (_PROJECT_LABEL, PROBE_LABEL)]
    return [line.split("\t") for line in _ask(*command, "--format", "\t".join(fields)).splitlines()]


def _moment(text: str) -> datetime:
    """A time as the engine writes it, with nanoseconds or without."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
