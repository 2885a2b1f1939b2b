"""What a compose file of a user's own may bring into a trial, and what Compose is given of it."""

import json
import os
import stat
from pathlib import Path

import pytest
import yaml

from harness.containers.compose import joining, write_joining
from harness.errors import UnknownSystemError


def _file(folder: Path, text: str) -> Path:
    file = folder / "model.yaml"
    file.write_text(text)
    return file


def _service(folder: Path, *lines: str, networks: str = "[chart]", more: str = "") -> Path:
    keys = "".join(f"    {line}\n" for line in ("image: x", f"networks: {networks}", *lines))
    return _file(folder, f"services:\n  model:\n{keys}{more}")


WHOLE = """
x-closed: &closed
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]
services:
  main:
    depends_on: {model: {condition: service_healthy}}
  model:
    <<: *closed
    image: x
    user: 10:10
    environment: {FLAG: yes, DAY: 2150-01-01, KEY: "${KEY}", LIMIT: 1_0}
    networks: {chart: }
    volumes:
      - ./server.py:/server.py:ro
      - {type: bind, source: weights, target: /weights, read_only: true}
      - {type: tmpfs, target: /tmp}
      - cache:/cache
      - large:/large:ro
  gateway:
    image: y
    networks: [chart, outside]
networks:
  outside: {external: true, name: shared}
volumes:
  cache:
  large: {external: true}
"""


def test_a_file_is_given_to_compose_with_paths_that_lead_beside_it(tmp_path: Path) -> None:
    (tmp_path / "server.py").touch()
    (tmp_path / "weights").mkdir()
    joined = joining(_file(tmp_path, WHOLE))
    model = joined["services"]["model"]
    assert model["volumes"] == [
        {
            "type": "bind",
            "source": str(tmp_path / "server.py"),
            "target": "/server.py",
            "read_only": True,
            "bind": {"create_host_path": False},
        },
        {
            "type": "bind",
            "source": str(tmp_path / "weights"),
            "target": "/weights",
            "read_only": True,
            "bind": {"create_host_path": False},
        },
        {"type": "tmpfs", "target": "/tmp"},
        {"type": "volume", "source": "cache", "target": "/cache", "read_only": False},
        {"type": "volume", "source": "large", "target": "/large", "read_only": True},
    ]
    assert model["cap_drop"] == ["ALL"]
    assert (model["networks"], model["dns"]) == (["chart"], ["127.0.0.1"])
    assert "dns" not in joined["services"]["gateway"]
    assert set(joined) == {"services", "networks", "volumes"}


def test_plain_words_are_the_ones_that_compose_reads(tmp_path: Path) -> None:
    (tmp_path / "server.py").touch()
    (tmp_path / "weights").mkdir()
    model = joining(_file(tmp_path, WHOLE))["services"]["model"]
    assert model["user"] == "10:10"
    assert model["environment"] == {"FLAG": "yes", "DAY": "2150-01-01", "KEY": "${KEY}", "LIMIT": "1_0"}


def test_what_is_written_is_what_was_looked_at_and_for_this_user_only(tmp_path: Path) -> None:
    first, folder = _service(tmp_path), tmp_path / "attempt"
    folder.mkdir()
    (written,) = write_joining([first], folder)
    assert yaml.safe_load(written.read_text()) == json.loads(written.read_text()) == joining(first)
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


@pytest.mark.parametrize("networks", ["[]", "", "{}", "~"])
def test_a_service_that_names_no_network_is_refused(tmp_path: Path, networks: str) -> None:
    with pytest.raises(UnknownSystemError, match="service model names no networks") as caught:
        joining(_service(tmp_path, networks=networks))
    assert caught.value.remedy.startswith("write networks: [chart]")


@pytest.mark.parametrize("networks", ["[chart, default]", "[outside]", "[[chart]]", "{elsewhere: }"])
def test_a_service_is_on_the_trials_network_or_one_that_the_file_declares(
    tmp_path: Path, networks: str
) -> None:
    with pytest.raises(UnknownSystemError, match="which this file does not declare"):
        joining(_service(tmp_path, networks=networks))


@pytest.mark.parametrize(
    ("networks", "said"),
    [
        ("{chart: }", "network chart is not this file's to declare"),
        ("{default: }", "network default is not this file's to declare"),
        ("{a: {external: true, name: host}}", "is one of the engine's own"),
        ("{host: {external: true}}", "is one of the engine's own"),
        ("{a: {driver: macvlan}}", "is one of the engine's own"),
        ("{a: {name: of-all-trials}}", "a name of its own, which trials would share"),
        ("{a: {external: true, name: '${NAME}'}}", "has a variable in its name"),
        ("{a: {driver_opts: {parent: eth0}}}", "network a has driver_opts"),
        ("[a]", "networks is no table"),
    ],
)
def test_a_network_that_is_not_a_plain_bridge_is_refused(tmp_path: Path, networks: str, said: str) -> None:
    with pytest.raises(UnknownSystemError, match=said):
        joining(_service(tmp_path, more=f"networks: {networks}\n"))


@pytest.mark.parametrize(
    "line",
    [
        "network_mode: host",
        "privileged: true",
        "pid: host",
        "ipc: host",
        "ports: ['9000:9000']",
        "cap_add: [SYS_ADMIN]",
        "devices: ['/dev/kvm']",
        "extra_hosts: ['host.docker.internal:host-gateway']",
        "build: .",
        "env_file: .env",
        "extends: {file: other.yaml, service: other}",
        "volumes_from: [mimic]",
        "container_name: model",
        "dns: [8.8.8.8]",
        "no_such_key: 1",
    ],
)
def test_a_key_that_is_not_known_to_leave_a_trial_closed_is_refused(tmp_path: Path, line: str) -> None:
    key = line.partition(":")[0]
    with pytest.raises(UnknownSystemError, match=rf"model\.yaml: service model has {key}$") as caught:
        joining(_service(tmp_path, line))
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("mount", "said"),
    [
        ("/var/run/docker.sock:/docker.sock:ro", "is not below the file's own folder"),
        ("../other:/other:ro", "is not below the file's own folder"),
        (".:/all:ro", "is not below the file's own folder"),
        ("./link:/link:ro", "is not below the file's own folder"),
        ("~/weights:/weights:ro", "there is no file or folder"),
        ("./nothing:/nothing:ro", "there is no file or folder"),
        ("./socket:/socket:ro", "there is no file or folder"),
        ("./here:/here", r"could write to \./here"),
        ("./here:/here:rw", r"could write to \./here"),
        ("./here:/here:ro,rshared", "has the mount"),
        ("${PWD}/here:/here:ro", "has a variable in its volumes"),
        ("here:/here:ro", "mounts volume here, which this file does not declare"),
        ("workspace:/workspace", "mounts volume workspace, which this file does not declare"),
        ("shared:/shared", "could write to the external volume shared"),
        ("{type: bind, source: ./here, target: /here}", r"could write to \./here"),
        ("{type: bind, source: ./here, target: /here, read_only: true, bind: {propagation: shared}}", "has bind"),
        ("{type: npipe, source: here, target: /here}", "a mount of type npipe"),
        ("{type: volume, source: shared, target: /here}", "could write to the external volume shared"),
        ("{type: 17}", "a mount of type 17"),
        ("a:b:c:d", "has the mount a:b:c:d"),
    ],
)  # fmt: skip
def test_a_mount_of_anything_but_what_lies_beside_the_file_is_refused(
    tmp_path: Path, mount: str, said: str
) -> None:
    folder = tmp_path / "mine"
    (folder / "here").mkdir(parents=True)
    (folder / "link").symlink_to("/etc")
    os.mkfifo(folder / "socket")
    file = _service(
        folder,
        f"volumes: [{mount if mount[0] == '{' else json.dumps(mount)}]",
        more="volumes: {shared: {external: true}}\n",
    )
    with pytest.raises(UnknownSystemError, match=said):
        joining(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("services: {mimic: {command: [serve]}}", "service mimic is the chart server"),
        ("services: {main: {networks: [chart, out]}}", "service main has networks"),
        ("services: {main: {volumes: ['/:/host']}}", "service main has volumes"),
        ("services: {a: {networks: [chart]}}", "service a names no image"),
        ("services: {a: {image: x, networks: [chart], security_opt: ['seccomp=unconfined']}}", "security_opt seccomp"),
        ("services: {a: {image: x, networks: [chart], deploy: {mode: global}}}", "deploy has mode"),
        ("services: {a: {image: x, networks: {chart: {aliases: [mimic]}}}}", "network chart has aliases"),
        ("services: {}\nvolumes: {audit: }", "volume audit is the trial's own"),
        ("services: {}\nvolumes: {a: {driver_opts: {o: bind, device: /}}}", "volume a has driver_opts"),
        ("services: {}\nvolumes: {a: {name: b}}", "volume a has a name of its own"),
        ("services: {}\ninclude: [other.yaml]", "it has include"),
        ("services: {}\nname: other", "it has name"),
        ("services: [a]", "services is no table"),
        ("services: {a: 1}", "service a is no table"),
        ("", "it is no table"),
        ("services: !override {}", "not YAML that is taken here"),
        ("services: {}\n---\nservices: {}", "not YAML that is taken here"),
        ("services: {", "not YAML that is taken here"),
    ],
)  # fmt: skip
def test_what_is_not_the_files_own_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UnknownSystemError, match=said) as caught:
        joining(_file(tmp_path, text))
    assert caught.value.message.startswith(f"compose file {tmp_path / 'model.yaml'}: ")
    assert "\n" not in caught.value.message
