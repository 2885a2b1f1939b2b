"""Checks of what a container on a trial's network reaches."""

from harness.doctor.check import Check, Version, read_version
from harness.doctor.probe import Probe

_MENDED = {23: (23, 0, 11), 25: (25, 0, 5)}
"""The first release of a line that no longer hands names on from internal networks (CVE-2024-29018)."""
_ALL_MENDED = (26, 0, 0)
_UPGRADE = "upgrade the engine to 26.0 or newer (25.0.5 and 23.0.11 do as well)"
_LOOPBACK = "older engines hand names on from internal networks while the host's resolver is a 127.x address"


def hands_names_on(version: Version) -> bool:
    """Whether an engine of this version may ask the host's resolver for a container on an internal network."""
    mended = _MENDED.get(version[0], _ALL_MENDED)
    return version < mended


def check_names(version: str, probe: Probe | str) -> Check:
    """Whether names can be carried out of an internal network; `probe` is why it was not run, if it was not."""
    name, number = "names", read_version(version)
    affected = number is None or hands_names_on(number)
    by_version = f"engine {version} " + ("may hand names on" if affected else "hands no name on")
    if isinstance(probe, str):
        found = f"{by_version}, by its version; no probe: {probe}"
        return Check(name, "warning" if affected else "ok", found, _UPGRADE if affected else "")
    if probe.internal.forwarded:
        found = f"a resolver outside answered a container on an internal network (engine {version})"
        return Check(name, "problem", found, f"{_UPGRADE}; {_LOOPBACK}")
    if probe.ordinary.forwarded:
        found = (
            "proved: a name that a resolver outside answers on an ordinary network finds none on a trial's"
        )
        advice = f"keep it so: {_LOOPBACK}; or {_UPGRADE}" if affected else ""
        return Check(name, "ok", found, advice)
    found = f"{by_version}, by its version; no resolver answers on this machine at all, so no probe can tell"
    return Check(name, "warning" if affected else "ok", found, _UPGRADE if affected else "")


def check_bridge(probe: Probe | str) -> Check:
    """Whether a container on a trial's network reaches this host by its bridge."""
    name = "host"
    if isinstance(probe, str):
        return Check(name, "warning", f"not tried whether trials reach it: {probe}", "harness doctor")
    if probe.internal.reached:
        found = f"a container on a trial's network reaches the host at {', '.join(probe.internal.reached)}"
        return Check(name, "problem", found, "use an engine that knows inhibit_ipv4, 20.10 or newer")
    if probe.internal.ipv6:
        found = "a trial's network has IPv6, so that the host's bridge can be reached by it"
        return Check(
            name, "problem", found, 'switch it off: remove "default-network-opts" and "ipv6" from daemon.json'
        )
    if not probe.ordinary.reached:
        found = "not reached from a trial's network; nor from an ordinary one, so that this proves little"
        return Check(name, "ok", found)
    return Check(name, "ok", "proved: not reached from a trial's network, though from an ordinary one")
