"""Checks of the engine: what it is, what it has room for, and what earlier trials left on it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Network

from harness.containers.images import ImageState
from harness.doctor.check import Check, Status, gigabytes, read_version
from harness.doctor.engine_facts import Engine, Thing
from harness.doctor.limits import TRIALS_AT_A_TIME, Limits
from harness.doctor.pools import DEFAULT_POOLS, networks_in, networks_left
from harness.errors import EngineError

OLDEST_ENGINE = (20, 10, 0)
"""The oldest engine that trials were run on."""
OLDEST_COMPOSE = (2, 20, 0)
"""2.14 knows the mode of a tmpfs; before 2.20 a gateway can come up without one of its two networks."""
CLOCK_SECONDS = 2.0

_INSTALL = "see https://docs.docker.com/engine/install"
_WIDEN = (
    'put "default-address-pools": [{"base": "10.200.0.0/16", "size": 24}] into the engine\'s daemon.json '
    "and restart it"
)
_TRIAL = re.compile(r"__(env|verifier__.+|.+__[0-9a-f]{8})$")
"""How Harbor's compose projects end: a trial's name, then the environment; a long verifier's in a hash."""


@dataclass(frozen=True)
class Trials:
    """The compose projects of trials on the engine, by whether anybody may still need them."""

    running: tuple[str, ...] = ()
    """Of jobs that a process runs now."""
    perhaps: tuple[str, ...] = ()
    """Of jobs that are not known here, and young enough to run."""
    left: tuple[str, ...] = ()


def check_engine(engine: Engine | EngineError) -> Check:
    """Whether an engine answers that trials can run on."""
    name = "engine"
    if isinstance(engine, EngineError):
        return Check(name, "problem", engine.message, engine.remedy)
    found = ", ".join(
        (
            f"Docker {engine.version}",
            f"API {engine.api}",
            "rootless" if "name=rootless" in engine.security else "not rootless",
            f"cgroup v{engine.cgroup}",
        )
    )
    version = read_version(engine.version)
    if version is None or version < OLDEST_ENGINE:
        return Check(name, "problem", found, f"upgrade to 20.10 or newer, the oldest tried: {_INSTALL}")
    if engine.os_type != "linux":
        what = f"{found}, containers of {engine.os_type or 'an unknown system'}"
        return Check(name, "problem", what, "switch the engine to Linux containers")
    if not engine.local:
        scheme = engine.endpoint.split("://")[0]
        return Check(
            name,
            "problem",
            f"{found}, on another machine ({scheme}): it cannot mount this machine's store",
            "run the harness where the engine is, or choose a local one: docker context use default",
        )
    if not (engine.limits_memory and engine.limits_processes):
        what = "memory" if not engine.limits_memory else "the number of processes"
        return Check(
            name,
            "problem",
            f"{found}, cannot limit {what}",
            "delegate the cgroup controllers: https://docs.docker.com/engine/security/rootless",
        )
    return Check(name, "ok", found)


def check_compose(version: str | None) -> Check:
    """Whether the compose plugin is there and new enough for the compose files of tasks."""
    name = "compose"
    install = "install the plugin, 2.20 or newer: https://docs.docker.com/compose/install/linux"
    if version is None:
        return Check(name, "problem", "docker has no compose plugin", install)
    number = read_version(version)
    if number is None or number < OLDEST_COMPOSE:
        return Check(name, "problem", f"compose {version} is too old", install)
    return Check(name, "ok", f"compose {version}")


def check_buildx(version: str | None) -> Check:
    """Whether images are built by BuildKit; without it they are built by the engine's older builder."""
    if version is None:
        return Check(
            "buildx",
            "warning",
            "docker has no buildx plugin; images are built by the older builder",
            f"install the plugin: {_INSTALL}",
        )
    number = read_version(version)
    return Check("buildx", "ok", f"buildx {'.'.join(map(str, number)) if number else version}")


def check_images(images: Mapping[str, ImageState] | EngineError, remedy: str = "harness images") -> Check:
    """Whether the images of trials are there, and built from what is installed; `remedy` builds them."""
    if isinstance(images, EngineError):
        return Check("images", "problem", images.message, images.remedy)
    said = [f"{name} {_state(image)}" for name, image in images.items()]
    if all(image.current for image in images.values()):
        sizes = sum(image.size or 0 for image in images.values())
        return Check("images", "ok", f"{', '.join(images)} current, {gigabytes(sizes)}")
    return Check("images", "problem", ", ".join(said), remedy)


def _state(image: ImageState) -> str:
    if image.current:
        return "current"
    return "built from other code" if image.present else "missing"


def check_pools(
    engine: Engine, things: Sequence[Thing], routes: Iterable[IPv4Network], trials: Trials
) -> Check:
    """Whether as many networks as trials at a time can still be made."""
    taken = [*(subnet for thing in things for subnet in thing.subnets), *routes]
    left, whole = networks_left(engine.pools, taken), networks_in(engine.pools)
    pools = "the default address pools" if engine.pools == DEFAULT_POOLS else "the address pools"
    found = f"room for {left} more networks of {whole} in {pools}; a trial needs one"
    if left >= TRIALS_AT_A_TIME:
        return Check("address pools", "ok", found)
    old = any(thing.kind == "network" and thing.project in trials.left for thing in things)
    first = "remove what earlier trials left (see leftovers), or " if old else ""
    return Check("address pools", "problem", found, first + _WIDEN)


def sort_trials(things: Iterable[Thing], now: datetime, limits: Limits, jobs: Mapping[str, bool]) -> Trials:
    """Tell trials that run from leftovers.

    `jobs` says, of those that are known, by how the names of their trials begin, whether one is run now.
    Of any other job, what is older than a trial can last is left.
    """
    oldest = now - timedelta(seconds=limits.seconds)
    young = {thing.project for thing in things if _is_trials(thing) and _since(thing, oldest)}
    sorts: dict[str, list[str]] = {"running": [], "perhaps": [], "left": []}
    for project in sorted({thing.project for thing in things if _is_trials(thing)}):
        run_now = next((held for prefix, held in jobs.items() if project.startswith(prefix)), None)
        if run_now is None:
            sorts["perhaps" if project in young else "left"].append(project)
        else:
            sorts["running" if run_now else "left"].append(project)
    return Trials(**{name: tuple(projects) for name, projects in sorts.items()})


def check_leftovers(things: Sequence[Thing], now: datetime, limits: Limits, trials: Trials) -> Check:
    """What earlier trials left behind; what runs, or may run, is counted and never named for removal."""
    oldest = now - timedelta(seconds=limits.seconds)
    probes = [thing for thing in things if thing.probe and not _since(thing, oldest)]
    said = []
    if trials.running:
        said.append(f"{len(trials.running)} trials of a job that is being run")
    if trials.perhaps:
        said.append(f"{len(trials.perhaps)} younger than {limits.seconds // 60} min, perhaps still running")
    if not trials.left and not probes:
        wait = "look again later, or name the folder of their job: --jobs-dir" if trials.perhaps else ""
        return Check("leftovers", "ok", "; ".join(said) or "nothing left of earlier trials", wait)
    parts = [thing for thing in things if thing.project in trials.left] + probes
    counts = [(sum(part.kind == kind for part in parts), kind) for kind in ("container", "network", "volume")]
    found = ", ".join(f"{number} {kind}{'s' * (number > 1)}" for number, kind in counts if number)
    commands = [_removal(trials.left)] if trials.left else []
    commands += [_probe_removal(probe) for probe in sorted({thing.probe for thing in probes})]
    what = f"of {len(trials.left)} ended trials" if trials.left else "of an earlier doctor"
    remedy = "\n".join(["remove what is left with", *commands])
    return Check("leftovers", "warning", "; ".join([f"{found} {what}", *said]), remedy)


def _is_trials(thing: Thing) -> bool:
    return bool(_TRIAL.search(thing.project))


def _since(thing: Thing, oldest: datetime) -> bool:
    return thing.created is not None and thing.created >= oldest


def _removal(projects: Sequence[str]) -> str:
    """The command that removes what these compose projects left, a project a line; it needs none of their files."""
    down = "docker compose --project-name {} down --volumes --remove-orphans"
    if len(projects) == 1:
        return down.format(projects[0])
    return "\n".join(["for p in " + " \\\n  ".join(projects), f"do {down.format('$p')}; done"])


def _probe_removal(probe: str) -> str:
    label = f"--filter label=clinicare.doctor={probe}"
    return (
        f"docker ps --all --quiet {label} | xargs -r docker rm --force\n"
        f"docker network ls --quiet {label} | xargs -r docker network rm"
    )


def check_memory(engine: Engine, limits: Limits) -> Check:
    """Whether the engine's memory holds as many trials at their limits as may run at a time."""
    fit = engine.memory // limits.memory if limits.memory else TRIALS_AT_A_TIME
    found = (
        f"{gigabytes(engine.memory)}; a trial may take {gigabytes(limits.memory)}, "
        f"{TRIALS_AT_A_TIME} at a time {gigabytes(TRIALS_AT_A_TIME * limits.memory)}"
    )
    if fit >= TRIALS_AT_A_TIME:
        return Check("memory", "ok", found)
    status: Status = "warning" if fit else "problem"
    remedy = f"run at most {fit} at a time: -n {fit}" if fit else "give the engine more memory"
    return Check("memory", status, found, remedy)


def check_clock(engine: Engine) -> Check:
    """Whether the engine's clock is this machine's, and either can be right."""
    if engine.now.year < 2025:
        return Check(
            "clock",
            "problem",
            f"the engine lives in {engine.now.year}",
            "set the clock: timedatectl set-ntp true",
        )
    if abs(engine.skew) > CLOCK_SECONDS:
        way = "ahead of" if engine.skew > 0 else "behind"
        return Check(
            "clock",
            "problem",
            f"the engine's clock is {abs(engine.skew):.1f} s {way} this machine's",
            "set both clocks by the network: timedatectl set-ntp true; restart the engine's virtual machine",
        )
    return Check("clock", "ok", f"the engine's clock is this machine's ({engine.now:%Y-%m-%d %H:%M} UTC)")
