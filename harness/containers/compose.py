"""Compose files of a user's own: what of them may join a trial, and how Compose is given them.

Compose merges them into the task's own file, reads their relative paths from the task's folder, and puts a service
that names no network on one that leads out. So each is read here, held to what is known to leave a trial closed,
and handed on with paths that are absolute. What is not listed here is refused.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from harness.data import data_folder
from harness.errors import UnknownSystemError

_AGENT, _CHART_SERVER, _NETWORK = "main", "mimic", "chart"
_NOWHERE = ["127.0.0.1"]
"""The resolver of a service that is on no network but the trial's: where none is. Services' names are the engine's."""

_TOP = ("services", "networks", "volumes", "version")
_TAKEN = frozenset(
    [
        "image",
        "platform",
        "pull_policy",
        "command",
        "entrypoint",
        "environment",
        "user",
        "working_dir",
        "init",
        "read_only",
        "restart",
        "stop_signal",
        "stop_grace_period",
        "cap_drop",
        "security_opt",
        "pids_limit",
        "mem_limit",
        "memswap_limit",
        "mem_reservation",
        "cpus",
        "cpuset",
        "shm_size",
        "ulimits",
        "gpus",
        "deploy",
        "tmpfs",
        "volumes",
        "networks",
        "depends_on",
        "healthcheck",
        "expose",
        "labels",
    ]
)
_REMEDIES = {
    "build": "build the image once with `docker build`, and name it: image: NAME",
    "env_file": "write environment: instead; a name without a value there is taken from the run's own environment",
    "network_mode": f"write networks: [{_NETWORK}]",
    "ports": "leave it out: on the trial's network every port is reached as http://SERVICE:PORT",
    "dns": f"leave it out: a service on {_NETWORK} alone resolves services' names and no other",
}
_SEE = "docs/containers.md has an example, and a list of what a service may have"
_WAY_OUT = (
    f"write networks: [{_NETWORK}]; a service that must reach the internet also names a network that "
    "this file declares under networks:"
)
_UNPRIVILEGED = ("no-new-privileges", "no-new-privileges:true")
_ENGINES_OWN = ("host", "bridge", "none", "default")


def joining(file: Path) -> dict[str, Any]:
    """A compose file as Compose is given it; UnknownSystemError for the first thing that may not join a trial."""
    return _File(file).joining()


def write_joining(files: Iterable[Path], folder: Path) -> list[Path]:
    """The files as Compose is given them, written into the folder, readable by this user alone."""
    written = []
    for number, file in enumerate(files):
        target = folder / f"compose-{number}.json"
        target.touch(mode=0o600)
        target.write_text(json.dumps(joining(file)), encoding="utf-8")  # every JSON document is a YAML one
        written.append(target)
    return written


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types of its own
    """YAML 1.2's plain scalars, as Compose reads them: `yes` and `10:10` are text."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _plain, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*|0[0-7]+|0x[0-9a-fA-F]+)", list("-+0123456789")),
    ("float", r"[-+]?[0-9]+\.[0-9]*([eE][-+]?[0-9]+)?", list("-+0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_plain})$"), _first)


@cache
def _tasks_own() -> Mapping[str, Any]:
    """The compose file that every task has."""
    template = data_folder("docker") / "task" / "environment" / "docker-compose.yaml"
    own: Mapping[str, Any] = yaml.load(template.read_bytes(), _Loader)  # noqa: S506 - a SafeLoader
    return own


class _File:
    """One compose file while it is looked at."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = path.resolve().parent
        self._networks: Mapping[str, Any] = {}
        self._volumes: Mapping[str, Any] = {}

    def joining(self) -> dict[str, Any]:
        document = self._mapping(self._load(), "it")
        for key in document:
            if key not in _TOP and not key.startswith("x-"):
                raise self._refused(f"it has {key}", f"it may have {', '.join(_TOP[:3])} and x-… keys")
        self._networks = self._mapping(document.get("networks") or {}, "networks")
        self._volumes = self._mapping(document.get("volumes") or {}, "volumes")
        for name, network in self._networks.items():
            self._look_at_network(name, self._mapping(network or {}, f"network {name}"))
        for name, volume in self._volumes.items():
            self._look_at_volume(name, self._mapping(volume or {}, f"volume {name}"))
        services = self._mapping(document.get("services"), "services")
        joined = {
            name: self._service(name, self._mapping(service, f"service {name}"))
            for name, service in services.items()
        }
        return {"services": joined, "networks": self._networks, "volumes": self._volumes}

    def _load(self) -> Any:
        try:
            return yaml.load(self._path.read_bytes(), _Loader)  # noqa: S506 - a SafeLoader
        except OSError as error:
            raise self._refused(f"it cannot be read ({error.strerror})", "see to the file") from error
        except yaml.YAMLError as error:
            said = " ".join(str(error).split())
            raise self._refused(f"it is not YAML that is taken here ({said})", _SEE) from error

    def _look_at_network(self, name: str, network: Mapping[str, Any]) -> None:
        where = f"network {name}"
        if name in (*_tasks_own()["networks"], "default"):
            raise self._refused(
                f"{where} is not this file's to declare", "give a network of yours another name"
            )
        self._only(where, network, ("internal", "external", "name", "driver"))
        self._named_if_external(where, network)
        if network.get("driver", "bridge") != "bridge" or network.get("name", name) in _ENGINES_OWN:
            raise self._refused(
                f"{where} is one of the engine's own", "declare a bridge network, or name one that you made"
            )

    def _look_at_volume(self, name: str, volume: Mapping[str, Any]) -> None:
        where = f"volume {name}"
        if name in _tasks_own()["volumes"]:
            raise self._refused(f"{where} is the trial's own", "give a volume of yours another name")
        self._only(where, volume, ("external", "name"))
        self._named_if_external(where, volume)

    def _named_if_external(self, where: str, declared: Mapping[str, Any]) -> None:
        if "name" in declared and declared.get("external") is not True:
            raise self._refused(
                f"{where} has a name of its own, which trials would share",
                "leave the name out, or say external: true",
            )
        if "$" in str(declared.get("name")):
            raise self._refused(f"{where} has a variable in its name", "write the name out")

    def _service(self, name: str, service: Mapping[str, Any]) -> dict[str, Any]:
        where = f"service {name}"
        if name == _CHART_SERVER:
            raise self._refused(f"{where} is the chart server, which is the task's own", "leave it out")
        if name == _AGENT:
            self._only(
                where, service, ("depends_on",), f"of {_AGENT}, the agent's container, say only depends_on"
            )
            return dict(service)
        self._look_at_service(where, service)
        joined = {**service, "networks": self._joined_networks(where, service.get("networks"))}
        if joined["networks"] == [_NETWORK]:
            joined["dns"] = _NOWHERE
        if "volumes" in service:
            mounts = self._list(service["volumes"], f"{where}: volumes")
            joined["volumes"] = [self._mount(where, mount) for mount in mounts]
        return joined

    def _look_at_service(self, where: str, service: Mapping[str, Any]) -> None:
        for key in service:
            if key not in _TAKEN:
                raise self._refused(f"{where} has {key}", _REMEDIES.get(key, f"leave it out; {_SEE}"))
        if not isinstance(service.get("image"), str):
            raise self._refused(f"{where} names no image", "write image: NAME")
        for option in self._list(service.get("security_opt", []), f"{where}: security_opt"):
            if option not in _UNPRIVILEGED:
                raise self._refused(f"{where} has security_opt {option}", f"only {_UNPRIVILEGED[1]} is taken")
        deploy = self._mapping(service.get("deploy", {}), f"{where}: deploy")
        self._only(f"{where}: deploy", deploy, ("resources",))

    def _joined_networks(self, where: str, networks: Any) -> list[str]:
        if not networks:
            raise self._refused(
                f"{where} names no networks, and would be put on one that leads out", _WAY_OUT
            )
        if isinstance(networks, Mapping):
            for name, settings in networks.items():
                self._only(
                    f"{where}: network {name}", self._mapping(settings or {}, f"{where}: network {name}"), ()
                )
            networks = list(networks)
        named = [str(name) for name in self._list(networks, f"{where}: networks")]
        for name in named:
            if name != _NETWORK and name not in self._networks:
                raise self._refused(
                    f"{where} is on network {name}, which this file does not declare", _WAY_OUT
                )
        return named

    def _mount(self, where: str, mount: Any) -> dict[str, Any]:
        """A mount in Compose's long form."""
        long = self._long(where, mount)
        kind, target = long.get("type"), long.get("target")
        if "$" in f"{long.get('source')}{target}":
            raise self._refused(f"{where} has a variable in its volumes", "write paths and names out")
        if kind == "bind":
            self._only(where, long, ("type", "source", "target", "read_only"))
            return {
                **long,
                "source": str(self._of_the_host(where, long)),
                "bind": {"create_host_path": False},
            }
        if kind == "volume":
            self._only(where, long, ("type", "source", "target", "read_only"))
            self._require_declared(where, long)
            return long
        if kind == "tmpfs":
            self._only(where, long, ("type", "target", "tmpfs"))
            return long
        raise self._refused(f"{where} has a mount of type {kind}", "mounts are of type bind, volume or tmpfs")

    def _long(self, where: str, mount: Any) -> dict[str, Any]:
        if isinstance(mount, Mapping):
            return dict(mount)
        source, *rest = mount.split(":") if isinstance(mount, str) else [None]
        if source is None or len(rest) > 2 or (len(rest) == 2 and rest[1] not in ("ro", "rw")):
            raise self._refused(f"{where} has the mount {mount}", "write SOURCE:TARGET:ro")
        if not rest:
            return {"type": "volume", "target": source}
        kind = "bind" if source[:1] in ("/", ".", "~") else "volume"
        return {"type": kind, "source": source, "target": rest[0], "read_only": rest[1:] == ["ro"]}

    def _of_the_host(self, where: str, mount: Mapping[str, Any]) -> Path:
        """A path of the host: a file or folder below the compose file's own, and read-only."""
        source = str(mount.get("source"))
        path = (self._folder / source).resolve()
        if self._folder not in path.parents:
            raise self._refused(
                f"{where} mounts {source}, which is not below the file's own folder",
                "put beside the file what a service reads; what is large may be in the image or an external volume",
            )
        if not path.is_file() and not path.is_dir():
            raise self._refused(
                f"{where} mounts {source}, and there is no file or folder {path}", "see to the path"
            )
        if mount.get("read_only") is not True:
            raise self._refused(
                f"{where} could write to {source}", f"mount it read-only: {source}:{mount.get('target')}:ro"
            )
        return path

    def _require_declared(self, where: str, mount: Mapping[str, Any]) -> None:
        source = mount.get("source")
        if source is None:
            return
        if source not in self._volumes:
            raise self._refused(
                f"{where} mounts volume {source}, which this file does not declare",
                "declare it under volumes:, or write ./PATH for a file beside this one",
            )
        if (self._volumes[source] or {}).get("external") and mount.get("read_only") is not True:
            raise self._refused(
                f"{where} could write to the external volume {source}, which trials share",
                "mount it read-only",
            )

    def _only(
        self,
        where: str,
        value: Mapping[str, Any],
        known: Sequence[str],
        remedy: str = f"leave it out; {_SEE}",
    ) -> None:
        for key in value:
            if key not in known:
                raise self._refused(f"{where} has {key}", remedy)

    def _mapping(self, value: Any, where: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise self._refused(f"{where} is no table of names", _SEE)
        return value

    def _list(self, value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._refused(f"{where} is no list", _SEE)
        return value

    def _refused(self, what: str, remedy: str) -> UnknownSystemError:
        return UnknownSystemError(f"compose file {self._path}: {what}", remedy)
