"""What a container on a trial's network reaches, tried with two throwaway networks and containers.

The query is for a random name below `.invalid`, which exists nowhere. An engine's own resolver says of it
that it failed or was refused, or nothing at all; only a resolver outside can say that there is no such name.
The same query from an ordinary network tells whether one would have answered on this machine.
"""

import contextlib
import json
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from types import FrameType
from typing import NoReturn

from harness.containers.engine import docker
from harness.doctor.engine_facts import PROBE_LABEL
from harness.errors import EngineError

_SCRIPT = Path(__file__).with_name("inside.py")
_RESOLVER = "127.0.0.11"
_RUN_SECONDS = 60
_SETTLE_SECONDS = 0.3
_REMOVAL_SECONDS = 20
_KINDS = ((("ps", "--all"), ("rm", "--force", "--volumes")), (("network", "ls"), ("network", "rm")))
_INTERNAL = ("--internal", "--opt", "com.docker.network.bridge.inhibit_ipv4=true")
"""As the compose file of a task makes its network."""


@dataclass(frozen=True)
class Reach:
    """What one container found: how a name was answered, the host's addresses it reached, its IPv6 addresses."""

    dns: str
    reached: tuple[str, ...] = ()
    ipv6: int = 0

    @property
    def forwarded(self) -> bool:
        """Whether a resolver outside the engine answered."""
        return self.dns in ("answered", "denied")


@dataclass(frozen=True)
class Probe:
    """From a trial's network, and from an ordinary one for comparison."""

    internal: Reach
    ordinary: Reach


def run_probe(image: str) -> Probe:
    """Probe with containers of `image`; EngineError if they cannot be run. Nothing is left, also on Ctrl-C."""
    token = secrets.token_hex(6)
    with _cleared(token):
        internal = _reach(image, token, "internal", *_INTERNAL)
        ordinary = _reach(image, token, "ordinary")
    return Probe(internal, ordinary)


def _reach(image: str, token: str, kind: str, *options: str) -> Reach:
    name, label = f"clinicare-doctor-{token}-{kind}", f"--label={PROBE_LABEL}={token}"
    docker("network", "create", label, *options, name)
    hosts = sorted({address for network in (name, "bridge") for address in _bridge_addresses(network)})
    said = docker(
        "run",
        *("--rm", "--pull=never", f"--name={name}", label, f"--network={name}"),
        *("--cap-drop=ALL", "--security-opt=no-new-privileges:true", "--read-only", "--pids-limit=32"),
        *("--memory=256m", "--entrypoint=python3", image),
        *("-c", _SCRIPT.read_text(encoding="utf-8"), _RESOLVER, f"{secrets.token_hex(8)}.invalid", *hosts),
        timeout=_RUN_SECONDS,
    )
    return read_reach(said)


def read_reach(said: str) -> Reach:
    """What `inside.py` printed."""
    lines = [line.split() for line in said.splitlines()]
    try:
        dns = next(line[1] for line in lines if line[0] == "dns")
        ipv6 = next(int(line[1]) for line in lines if line[0] == "ipv6")
        reached = tuple(line[1] for line in lines if line[0] == "host" and line[2] == "reached")
    except (StopIteration, IndexError, ValueError) as error:
        raise EngineError(
            "the probe's container did not say what it found", "build the images again: harness images"
        ) from error
    return Reach(dns, reached, ipv6)


def _bridge_addresses(network: str) -> list[str]:
    """The addresses that the host has, or would have, on a network's bridge."""
    [found] = json.loads(docker("network", "inspect", network))
    addresses = []
    for part in (found.get("IPAM") or {}).get("Config") or ():
        if ":" not in part.get("Subnet", ":"):
            first = IPv4Network(part["Subnet"], strict=False)[1]
            addresses.append(part.get("Gateway") or str(first))
    return addresses


@contextlib.contextmanager
def _cleared(token: str) -> Iterator[None]:
    """Remove every container and network of the probe at the end, however it comes."""
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        with _undisturbed():
            _remove(token)
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _remove(token: str) -> None:
    """Remove what carries the token, until nothing was there in two looks.

    What the engine is still making or removing when the probe is interrupted shows only a moment later.
    """
    clear, end = 0, time.monotonic() + _REMOVAL_SECONDS
    while clear < 2 and time.monotonic() < end:
        left = [_remove_all(kind, remove, token) for kind, remove in _KINDS]
        clear = 0 if any(left) else clear + 1
        time.sleep(_SETTLE_SECONDS)


def _remove_all(kind: tuple[str, ...], remove: tuple[str, ...], token: str) -> bool:
    """Remove all of a kind that there is; whether anything was, or could not be seen."""
    try:
        found = docker(
            *kind, "--quiet", f"--filter=label={PROBE_LABEL}={token}", timeout=_REMOVAL_SECONDS
        ).split()
        if found:
            docker(*remove, *found, timeout=_REMOVAL_SECONDS)
    except EngineError:
        return True
    return bool(found)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """No second signal gets in between, into this process or the commands that it runs."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_IGN) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
