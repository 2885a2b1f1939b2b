"""Whether a machine can run trials in containers: checks of recorded facts, and of the real engine."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from harness.cli import run
from harness.containers.images import ImageState
from harness.containers.leftovers import job_prefix
from harness.doctor import engine_checks, host_checks, inside
from harness.doctor.check import Check, Status, read_version
from harness.doctor.engine_checks import Trials
from harness.doctor.engine_facts import PROBE_LABEL, Engine, Thing, gather_engine
from harness.doctor.host_facts import (
    CorpusFacts,
    StoreFacts,
    container_user,
    free_space,
    gather_corpus,
    gather_jobs,
    gather_store,
    read_route,
)
from harness.doctor.limits import Limits, read_limits, trial_limits
from harness.doctor.pools import DEFAULT_POOLS, Pool, networks_in, networks_left
from harness.doctor.probe import Probe, Reach, read_reach
from harness.doctor.probe_checks import check_bridge, check_names, hands_names_on
from harness.errors import EngineError
from harness.job import Job
from tests.harness.tiny import TinyWorld

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LIMITS = Limits(memory=3 * 2**30, storage=4 * 2**30, seconds=1650)
ENGINE = Engine(
    version="20.10.24+dfsg1",
    api="1.41",
    endpoint="unix:///var/run/docker.sock",
    system="Debian GNU/Linux 12 (bookworm)",
    os_type="linux",
    security=("name=seccomp,profile=default",),
    cgroup="1",
    limits_memory=True,
    limits_processes=True,
    root_dir="/var/lib/docker",
    memory=16 * 2**30,
    pools=DEFAULT_POOLS,
    now=NOW,
    skew=0.0,
)
INFO = {
    "ServerVersion": "20.10.24+dfsg1",
    "OperatingSystem": "Debian GNU/Linux 12 (bookworm)",
    "OSType": "linux",
    "SecurityOptions": ["name=seccomp,profile=default"],
    "CgroupVersion": "1",
    "MemoryLimit": True,
    "PidsLimit": True,
    "DockerRootDir": "/var/lib/docker",
    "MemTotal": 25276502016,
}
Captured = pytest.CaptureFixture[str]


def _network(name: str, subnet: str, age: float, project: str = "") -> Thing:
    created = NOW - timedelta(seconds=age)
    return Thing("network", name, project, created=created, subnets=(IPv4Network(subnet),))


def _says(check: Check, status: Status, *parts: str) -> None:
    assert check.status == status, check
    assert "\n" not in check.found
    assert status == "ok" or check.remedy
    for part in parts:
        assert part in f"{check.found} | {check.remedy}"


# versions


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("20.10.24+dfsg1", (20, 10, 24)),
        ("v2.2.3", (2, 2, 3)),
        ("github.com/docker/buildx 0.13.1+ds1 0.13.1+ds1-3", (0, 13, 1)),
        ("28.0-rc.1", (28, 0, 0)),
        ("dev", None),
    ],
)
def test_a_version_is_read_from_what_distributions_make_of_it(
    text: str, version: tuple[int, int, int] | None
) -> None:
    assert read_version(text) == version


# the engine itself


def test_a_fit_engine_is_described_in_one_line() -> None:
    _says(engine_checks.check_engine(ENGINE), "ok", "20.10.24", "API 1.41", "not rootless", "cgroup v1")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"version": "19.03.15"}, "upgrade"),
        ({"version": "unknown"}, "upgrade"),
        ({"os_type": "windows"}, "Linux containers"),
        ({"endpoint": "tcp://10.0.0.7:2376"}, "another machine (tcp)"),
        ({"endpoint": "ssh://someone:secret@host"}, "another machine (ssh)"),
        ({"limits_processes": False}, "cannot limit the number of processes"),
        ({"limits_memory": False}, "cannot limit memory"),
    ],
)
def test_an_engine_that_cannot_run_trials_is_a_problem(changed: dict[str, str], said: str) -> None:
    check = engine_checks.check_engine(replace(ENGINE, **changed))
    _says(check, "problem", said)
    assert "secret" not in check.found + check.remedy


def test_the_error_of_an_engine_that_does_not_answer_is_the_finding() -> None:
    _says(engine_checks.check_engine(EngineError("no engine answers", "start it")), "problem", "start it")


@pytest.mark.parametrize(
    ("version", "status"),
    [("2.26.1-4", "ok"), ("v2.20.0", "ok"), ("2.19.1", "problem"), ("1.29.2", "problem"), (None, "problem")],
)
def test_compose_must_be_there_and_know_what_tasks_use(version: str | None, status: Status) -> None:
    _says(engine_checks.check_compose(version), status)


def test_images_can_be_built_without_buildx() -> None:
    _says(engine_checks.check_buildx(None), "warning", "install the plugin")
    _says(engine_checks.check_buildx("github.com/docker/buildx 0.13.1+ds1"), "ok", "buildx 0.13.1")


def test_images_must_be_there_and_built_from_what_is_installed() -> None:
    current = ImageState("clinicare/agent:1", present=True, current=True, size=2**30)
    stale = ImageState("clinicare/mimic:1", present=True)
    absent = ImageState("clinicare/verifier:1")
    _says(engine_checks.check_images({"agent": current}), "ok", "1.0 GiB")
    check = engine_checks.check_images({"agent": current, "mimic": stale, "verifier": absent})
    _says(check, "problem", "mimic built from other code", "verifier missing", "harness images")


@pytest.mark.parametrize(
    ("skew", "status"), [(0.0, "ok"), (1.9, "ok"), (2.5, "problem"), (-3600.0, "problem")]
)
def test_clocks_may_differ_by_two_seconds(skew: float, status: Status) -> None:
    check = engine_checks.check_clock(replace(ENGINE, skew=skew))
    _says(check, status)
    assert status == "ok" or ("ahead of" if skew > 0 else "behind") in check.found


def test_a_clock_in_the_past_is_a_problem_even_if_both_agree() -> None:
    _says(engine_checks.check_clock(replace(ENGINE, now=datetime(1970, 1, 1, tzinfo=UTC))), "problem", "1970")


# limits and room


def test_the_limits_of_a_trial_are_read_from_the_templates() -> None:
    task = "timeout_sec = 900\nmemory_mb = 512\ntitle = @@TITLE@@\nmemory_mb = 2048\nstorage_mb = 4096\n"
    compose = "  mimic:\n    mem_limit: 1g\n  gateway:\n    mem_limit: 256m\n    # mem_limit: 8g\n"
    limits = read_limits(task, [compose])
    assert limits == Limits((2048 + 1024 + 256) * 2**20, 4096 * 2**20, 1500)


def test_tasks_are_built_with_limits() -> None:
    limits = trial_limits()
    assert min(limits.memory, limits.storage, limits.seconds) > 0


@pytest.mark.parametrize(
    ("memory", "status", "said"),
    [(12, "ok", "3.0 GiB"), (11, "warning", "-n 3"), (2, "problem", "more memory")],
)
def test_memory_is_measured_against_four_trials(memory: int, status: Status, said: str) -> None:
    _says(engine_checks.check_memory(replace(ENGINE, memory=memory * 2**30), LIMITS), status, said)


@pytest.mark.parametrize(
    ("free", "status"),
    [({"a": 20, "b": 16}, "ok"), ({"a": 20, "b": 15}, "warning"), ({"a": 3, "b": None}, "problem")],
)
def test_the_fullest_disk_decides(free: dict[str, int | None], status: Status) -> None:
    sizes = {place: None if size is None else size * 2**30 for place, size in free.items()}
    _says(host_checks.check_disk(sizes, LIMITS), status)


def test_unknown_space_is_no_full_disk() -> None:
    _says(host_checks.check_disk({"at the jobs folder": None}, LIMITS), "warning")


def test_space_is_looked_up_where_a_folder_would_be_made(tmp_path: Path) -> None:
    free = free_space(tmp_path / "not" / "there")
    assert free is not None
    assert free > 0


# address pools


def test_an_engine_has_room_for_31_networks_of_its_own_accord() -> None:
    assert networks_in(DEFAULT_POOLS) == 31


def test_networks_and_routes_that_overlap_take_room_away() -> None:
    taken = ["172.17.0.0/16", "192.168.16.0/24", "192.168.0.0/19", "10.0.0.0/8"]
    assert networks_left(DEFAULT_POOLS, map(IPv4Network, taken)) == 31 - 3
    wide = (Pool(IPv4Network("10.200.0.0/16"), 24),)
    assert networks_in(wide) == 256
    assert networks_left(wide, [IPv4Network("10.0.0.0/8")]) == 0
    assert networks_left(wide, [IPv4Network("10.200.3.0/26"), IPv4Network("10.200.4.0/23")]) == 253


def test_full_pools_are_a_problem_and_leftovers_the_first_remedy() -> None:
    things = [_network(f"n{number}", f"172.{number}.0.0/16", 9999) for number in range(17, 32)]
    routes = [IPv4Network("192.168.0.0/17"), IPv4Network("192.168.128.0/18"), IPv4Network("192.168.192.0/20")]
    check = engine_checks.check_pools(ENGINE, things, routes, Trials())
    _says(check, "problem", "room for 3 more networks of 31", "daemon.json")
    assert "leftovers" not in check.remedy
    project = "clinicare-12345678-9abcdef0__env"
    things[0] = _network("old", "172.17.0.0/16", 9999, project)
    running, left = Trials(running=(project,)), Trials(left=(project,))
    assert "leftovers" not in engine_checks.check_pools(ENGINE, things, routes, running).remedy
    _says(engine_checks.check_pools(ENGINE, things, routes, left), "problem", "see leftovers")
    _says(engine_checks.check_pools(ENGINE, things, routes[:2], left), "ok", "room for 4")


def test_pools_that_were_set_count_instead_of_the_default() -> None:
    engine = replace(ENGINE, pools=(Pool(IPv4Network("10.200.0.0/16"), 24),))
    _says(engine_checks.check_pools(engine, [], [], Trials()), "ok", "256 in the address pools")


def test_a_route_is_read_from_the_kernels_table() -> None:
    line = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0"
    assert read_route(line) == IPv4Network("172.17.0.0/16")


# leftovers


def _leftovers(things: Sequence[Thing], jobs: Mapping[str, bool] | None = None) -> Check:
    trials = engine_checks.sort_trials(things, NOW, LIMITS, jobs or {})
    return engine_checks.check_leftovers(things, NOW, LIMITS, trials)


def test_what_ended_trials_left_is_named_with_the_command_that_removes_it() -> None:
    project = "clinicare-12345678-9abcdef0__env"
    things = [
        _network(f"{project}_chart", "172.18.0.0/16", 7200, project),
        Thing("container", f"{project}-mimic-1", project, running=True, created=NOW - timedelta(hours=2)),
        Thing("volume", f"{project}_audit", project),
        _network("bridge", "172.17.0.0/16", 99999),
        _network("web_default", "172.19.0.0/16", 99999, "web"),
    ]
    check = _leftovers(things)
    _says(check, "warning", "1 container, 1 network, 1 volume of 1 ended trials")
    assert check.remedy.splitlines() == [
        "remove what is left with",
        f"docker compose --project-name {project} down --volumes --remove-orphans",
    ]


def test_the_commands_that_remove_many_leftovers_are_short_lines_that_a_shell_can_run(
    command: Callable[[str], None], tmp_path: Path
) -> None:
    projects = [f"clinicare-12345678-{number:08x}__env" for number in range(40)]
    things = [_network(project, "172.18.0.0/16", 7200, project) for project in projects]
    probe = replace(_network("x", "172.18.0.0/16", 7200), probe="abcdef")
    said, *lines = _leftovers([*things, probe]).remedy.splitlines()
    assert said == "remove what is left with"
    assert max(map(len, lines)) < 100
    command('echo "$@" >> "$0.asked"')
    places = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    pasted = "\n".join(f"    {line}" for line in lines)
    subprocess.run(["/bin/bash", "-euc", pasted], check=True, env=places)
    asked = (tmp_path / "bin" / "docker.asked").read_text().splitlines()
    assert asked[:40] == [
        f"compose --project-name {project} down --volumes --remove-orphans" for project in projects
    ]
    assert [line.split()[0] for line in asked[40:]] == ["ps", "network"]


def test_trials_that_may_still_run_are_not_called_leftovers() -> None:
    old, young = "first__abc__env", "second__abc__verifier__main"
    things = [
        _network("a", "172.18.0.0/16", 7200, old),
        Thing("container", "b", young, running=True, created=NOW - timedelta(seconds=60)),
        _network("c", "172.19.0.0/16", 7200, young),
    ]
    check = _leftovers(things)
    _says(check, "warning", "1 network of 1", old)
    assert young not in check.remedy
    check = _leftovers(things[1:])
    _says(check, "ok", "1 younger than 27 min, perhaps still running", "--jobs-dir")
    assert young not in check.remedy


def test_what_belongs_to_a_job_that_is_run_now_is_in_use_and_of_one_that_is_not_is_left() -> None:
    running, killed = "clinicare-aaaaaaaa-9abcdef0__env", "clinicare-bbbbbbbb-9abcdef0__env"
    jobs = {"clinicare-aaaaaaaa-": True, "clinicare-bbbbbbbb-": False}
    things = [
        _network("a", "172.18.0.0/16", 7200, running),
        _network("b", "172.19.0.0/16", 60, killed),
    ]
    check = _leftovers(things, jobs)
    _says(check, "warning", "1 network of 1 ended trials; 1 trials of a job that is being run", killed)
    assert running not in check.remedy
    _says(_leftovers(things[:1], jobs), "ok", "1 trials of a job that is being run")


def test_a_job_is_known_to_be_run_by_its_lock(tmp_path: Path) -> None:
    running, ended = Job(tmp_path / "running"), Job(tmp_path / "ended")
    with ended.locked():
        pass
    with running.locked():
        assert gather_jobs(tmp_path) == {job_prefix(running.path): True, job_prefix(ended.path): False}
    assert not any(gather_jobs(tmp_path).values())
    assert gather_jobs(tmp_path / "nowhere") == {}


def test_a_killed_doctors_own_networks_are_found_again() -> None:
    probe = replace(_network("x", "172.18.0.0/16", 7200), probe="abcdef")
    _says(_leftovers([probe]), "warning", "label=clinicare.doctor=abcdef")


def test_a_clean_engine_has_no_leftovers() -> None:
    _says(_leftovers([_network("web", "172.18.0.0/16", 9, "web")]), "ok")


# store, corpus, keys, telemetry


def test_a_store_that_containers_can_read_is_told_with_its_class(tiny: TinyWorld) -> None:
    facts = gather_store(tiny.store, (os.getuid(), os.getgid()), maps_users=False)
    _says(host_checks.check_store(facts), "ok", facts.classification, facts.fingerprint.split(":")[-1][:12])


def test_a_missing_store_is_a_warning_and_a_broken_one_a_problem(tmp_path: Path) -> None:
    def check() -> Check:
        return host_checks.check_store(gather_store(tmp_path, (1000, 1000), maps_users=False))

    _says(check(), "warning", f"no store at {tmp_path}", "--store", "harness demo", "mcp-mimic import")
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    _says(check(), "problem", "not a manifest")


def test_the_demos_store_is_found_where_no_other_is(
    tiny: TinyWorld,
    tmp_path: Path,
    command: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Captured,
) -> None:
    command(_recorded())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLINICARE_STORE", raising=False)

    def found() -> str:
        run(["doctor", "--quick", "--json"])
        checks = json.loads(capsys.readouterr().out)["checks"]
        return next(str(check["found"]) for check in checks if check["name"] == "store")

    assert found() == "no store at store nor demo/store"
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "store").symlink_to(tiny.store)
    assert found().startswith("demo/store: ")
    (tmp_path / "store").symlink_to(tiny.store)
    assert found().startswith("store: ")


@pytest.mark.parametrize(
    ("user", "maps_users", "readable"),
    [("owner", False, True), ("group", False, False), ("other", False, False), ("owner", True, False)],
)
def test_a_private_store_is_for_its_owner_alone(
    tiny: TinyWorld, tmp_path: Path, user: str, maps_users: bool, readable: bool
) -> None:
    copy = tmp_path / "store"
    copy.mkdir(mode=0o700)
    for file in tiny.store.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
        (copy / file.name).chmod(0o600)
    uid, gid = os.getuid(), os.getgid()
    who = {"owner": (uid, gid), "group": (uid + 1, gid), "other": (uid + 1, gid + 1)}[user]
    check = host_checks.check_store(gather_store(copy, who, maps_users))
    if readable:
        _says(check, "ok")
    else:
        _says(check, "problem", "may not read", "rootless" if maps_users else f"CLINICARE_USER={uid}:{gid}")
        assert "chmod" not in check.remedy


def test_the_chart_servers_user_is_this_one_unless_another_is_named() -> None:
    assert container_user({}) == (os.getuid(), os.getgid())
    assert container_user({"CLINICARE_USER": "1234:99"}) == (1234, 99)


def test_the_policy_documents_are_all_there() -> None:
    _says(host_checks.check_corpus(gather_corpus()), "ok", "policy documents")


@pytest.mark.parametrize(
    "corpus", [CorpusFacts(trouble="unreadable"), CorpusFacts(3, ("house/x.md",)), CorpusFacts()]
)
def test_a_corpus_that_is_not_whole_is_a_problem(corpus: CorpusFacts) -> None:
    _says(host_checks.check_corpus(corpus), "problem", "reinstall")


def test_keys_are_told_by_name_only() -> None:
    _says(host_checks.check_keys([]), "ok", "none set")
    check = host_checks.check_keys(["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HOME"])
    assert check == Check("keys", "ok", "set: ANTHROPIC_API_KEY, OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("value", "status"), [("off", "ok"), (" 0", "ok"), (None, "warning"), ("1", "warning")]
)
def test_telemetry_is_off_as_harbor_reads_it(value: str | None, status: Status) -> None:
    _says(host_checks.check_telemetry(value), status)


def test_a_store_that_cannot_be_opened_is_told_in_the_stores_own_words(tmp_path: Path) -> None:
    facts = StoreFacts(tmp_path, ("a: cut", "again"))
    assert host_checks.check_store(facts) == Check("store", "problem", "a: cut", "again")


# what a container reaches


@pytest.mark.parametrize(
    ("version", "affected"),
    [
        ((20, 10, 24), True),
        ((23, 0, 10), True),
        ((23, 0, 11), False),
        ((24, 0, 9), True),
        ((25, 0, 4), True),
        ((25, 0, 5), False),
        ((26, 0, 0), False),
        ((28, 1, 1), False),
    ],
)
def test_releases_that_hand_names_on_are_known(version: tuple[int, int, int], affected: bool) -> None:
    assert hands_names_on(version) is affected


SILENT, DENIED = Reach("silent"), Reach("denied", ("172.17.0.1",))


@pytest.mark.parametrize(
    ("version", "probe", "status", "said"),
    [
        ("28.1.1", Probe(DENIED, DENIED), "problem", "answered a container on an internal network"),
        ("20.10.24", Probe(Reach("answered"), SILENT), "problem", "upgrade"),
        ("20.10.24", Probe(SILENT, DENIED), "ok", "proved"),
        ("28.1.1", Probe(Reach("refused"), DENIED), "ok", "proved"),
        ("20.10.24", Probe(SILENT, SILENT), "warning", "by its version"),
        ("28.1.1", Probe(Reach("failed"), Reach("failed")), "ok", "by its version"),
        ("24.0.7", "it was skipped", "warning", "no probe: it was skipped"),
        ("28.1.1", "it was skipped", "ok", "hands no name on, by its version"),
        ("unknown", "it was skipped", "warning", "by its version"),
    ],
)
def test_what_is_said_of_names_comes_with_what_it_was_decided_from(
    version: str, probe: Probe | str, status: Status, said: str
) -> None:
    _says(check_names(version, probe), status, said)


@pytest.mark.parametrize(
    ("probe", "status", "said"),
    [
        (Probe(SILENT, DENIED), "ok", "proved"),
        (Probe(SILENT, SILENT), "ok", "proves little"),
        (Probe(Reach("silent", ("172.18.0.1",)), DENIED), "problem", "172.18.0.1"),
        (Probe(Reach("silent", ipv6=1), DENIED), "problem", "IPv6"),
        ("it was skipped", "warning", "it was skipped"),
    ],
)
def test_a_host_within_reach_is_a_problem(probe: Probe | str, status: Status, said: str) -> None:
    _says(check_bridge(probe), status, said)


def _resolver(reply: Callable[[bytes], bytes | None]) -> Iterator[str]:
    """A name server for one question."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)

        def serve() -> None:
            question, client = server.recvfrom(512)
            if (answer := reply(question)) is not None:
                server.sendto(answer, client)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    ("code", "kind"), [(0, "answered"), (2, "failed"), (3, "denied"), (5, "refused"), (4, "failed")]
)
def test_the_probe_tells_how_a_name_was_answered(code: int, kind: str) -> None:
    asked = []

    def reply(question: bytes) -> bytes:
        asked.append(question)
        return question[:3] + bytes([0x80 | code]) + question[4:]

    for server in _resolver(reply):
        assert inside.ask(server, "4f2a.invalid") == kind
    assert b"\x044f2a\x07invalid\x00\x00\x01\x00\x01" in asked[0]


def test_a_server_that_says_nothing_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inside, "SECONDS", 0.05)
    for server in _resolver(lambda _: None):
        assert inside.ask(server, "4f2a.invalid") == "silent"


def test_what_the_probe_prints_is_read_back() -> None:
    said = "dns denied\nhost 172.17.0.1 reached\nhost 172.18.0.1 unreached\nhost 172.18.0.2 own\nipv6 0\n"
    assert read_reach(said) == Reach("denied", ("172.17.0.1",), 0)
    with pytest.raises(EngineError, match="did not say"):
        read_reach("python3: not found\n")


def test_the_probe_imports_only_what_a_minimal_python_has() -> None:
    source = Path(inside.__file__).read_text(encoding="utf-8")
    imported = {line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))}
    assert imported == {"pathlib", "select", "socket", "struct", "sys"}


# asking a docker command


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a `docker` of our own on an otherwise empty PATH: the body of a shell script."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("DOCKER_HOST", raising=False)

    def write(body: str) -> None:
        script = folder / "docker"
        script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        script.chmod(0o755)

    return write


def _recorded(ahead: float = 0.0, **info: object) -> str:
    now = (datetime.now(UTC) + timedelta(seconds=ahead)).isoformat().replace("+00:00", "000Z")
    network = {
        "Name": "clinicare-12345678-9abcdef0__env_chart",
        "Created": "2026-03-01T10:00:00.123456789Z",
        "Labels": {"com.docker.compose.project": "clinicare-12345678-9abcdef0__env"},
        "IPAM": {"Config": [{"Subnet": "172.18.0.0/16", "Gateway": "172.18.0.1"}, {"Subnet": "fd00::/64"}]},
    }
    volume = {"Name": "clinicare-1__env_audit", "CreatedAt": "2026-03-01T11:00:00Z"}
    answers = {
        "info *": json.dumps({**INFO, "SystemTime": now, **info}),
        "version *": "1.41",
        "context *": "unix:///var/run/docker.sock",
        "compose *": "2.26.1-4",
        "buildx *": "github.com/docker/buildx 0.13.1+ds1 0.13.1+ds1-3",
        "network\\ ls*": "0123abcd",
        "network\\ inspect*": json.dumps([network]),
        "ps *": "a-main-1\trunning\t2026-03-01 10:00:00 +0000 UTC\ta__b__env\t",
        "volume\\ ls*": "clinicare-1__env_audit\tclinicare-1__env\t",
        "volume\\ inspect*": json.dumps([volume]),
    }
    cases = "\n".join(
        f"{pattern.replace(' *', '*')}) cat <<'END'\n{answer}\nEND\n;;" for pattern, answer in answers.items()
    )
    return f'PATH=/usr/bin:/bin\ncase "$*" in\n{cases}\n*) echo "unknown: $*" >&2; exit 1;;\nesac'


def test_facts_are_read_from_what_the_command_prints(command: Callable[[str], None]) -> None:
    command(_recorded())
    facts = gather_engine()
    assert isinstance(facts.engine, Engine)
    assert facts.engine == replace(
        ENGINE, memory=INFO["MemTotal"], now=facts.engine.now, skew=facts.engine.skew
    )
    assert abs(facts.engine.skew) < 1
    assert facts.compose == "2.26.1-4"
    assert not isinstance(facts.things, EngineError)
    network, container, volume = facts.things
    assert (network.project, network.subnets) == (
        "clinicare-12345678-9abcdef0__env",
        (IPv4Network("172.18.0.0/16"),),
    )
    assert (container.project, container.running) == ("a__b__env", True)
    assert container.created == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert (volume.kind, volume.project) == ("volume", "clinicare-1__env")
    assert volume.created == datetime(2026, 3, 1, 11, tzinfo=UTC)


def test_pools_are_taken_from_the_engine_if_it_names_some(command: Callable[[str], None]) -> None:
    command(
        _recorded(DefaultAddressPools=[{"Base": "10.9.0.0/16", "Size": 24}, {"Base": "fd00::/8", "Size": 64}])
    )
    engine = gather_engine().engine
    assert isinstance(engine, Engine)
    assert engine.pools == (Pool(IPv4Network("10.9.0.0/16"), 24),)


def test_a_skewed_clock_is_seen(command: Callable[[str], None]) -> None:
    command(_recorded(ahead=-90))
    engine = gather_engine().engine
    assert isinstance(engine, Engine)
    assert -91 < engine.skew < -89


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "no docker command"),
        (
            "echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 1",
            "answers",
        ),
        ("echo 'permission denied while trying to connect to the socket' >&2; exit 1", "may not use"),
        ("echo nonsense", "not understood"),
        ("echo '{}'", "not understood"),
        ("echo '[]'", "not understood"),
        ('echo \'{"ServerErrors": ["cannot reach it"]}\'', "cannot reach it"),
    ],
)
@pytest.mark.parametrize("form", ["table", "json"])
def test_every_check_is_made_without_an_engine(
    body: str | None,
    said: str,
    form: str,
    command: Callable[[str], None],
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if body is not None:
        command(body)
    monkeypatch.setenv("COLUMNS", "200")
    arguments = ["doctor", "--store", str(tmp_path / "store"), "--jobs-dir", str(tmp_path)]
    assert run([*arguments, "--json"] if form == "json" else arguments) == 1
    printed = capsys.readouterr().out
    assert said in printed
    if form == "json":
        report = json.loads(printed)
        assert report["ok"] is False
        assert [sorted(check) for check in report["checks"]] == [["found", "name", "remedy", "status"]] * 15
        assert next(check["name"] for check in report["checks"] if check["status"] == "problem") == "engine"


def test_a_docker_that_cannot_be_executed_is_a_finding(
    command: Callable[[str], None], tmp_path: Path
) -> None:
    command("exit 0")
    (tmp_path / "bin" / "docker").write_text("\0", encoding="utf-8")
    assert isinstance(gather_engine().engine, EngineError)


def test_a_keys_value_is_never_printed(
    command: Callable[[str], None], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(_recorded())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    run(["doctor", "--quick", "--json", "--store", str(tmp_path)])
    printed = "".join(capsys.readouterr())
    assert "OPENAI_API_KEY" in printed
    assert "secret" not in printed


def test_help_has_an_example(capsys: Captured) -> None:
    assert run(["doctor", "--help"]) == 0
    assert "Example: harness doctor" in capsys.readouterr().out


# the real engine


def _left_of_probes() -> str:
    label = f"--filter=label={PROBE_LABEL}"
    listings = (["ps", "--all", "--quiet", label], ["network", "ls", "--quiet", label])
    return "".join(
        subprocess.run(["docker", *listing], capture_output=True, text=True, check=True).stdout
        for listing in listings
    )


@pytest.mark.docker
def test_a_trials_network_leads_nowhere_on_this_engine(capsys: Captured, tiny: TinyWorld) -> None:
    run(["doctor", "--json", "--store", str(tiny.store)])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    for name in ("engine", "compose", "clock", "store", "corpus"):
        assert checks[name]["status"] == "ok", checks[name]
    for name in ("names", "host"):
        assert "no probe" not in checks[name]["found"], "build the images first: harness images"
        assert checks[name]["status"] == "ok", checks[name]
    assert _left_of_probes() == ""


@pytest.mark.docker
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_probe_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from harness.cli import run; sys.exit(run(['doctor', '--json']))"
    )
    doctor = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + 30
    while not _left_of_probes():
        assert doctor.poll() is None
        assert time.monotonic() < end, "no probe was started"
    os.killpg(doctor.pid, number)
    assert doctor.wait(timeout=60) == 128 + number
    assert _left_of_probes() == ""


@pytest.mark.docker
def test_a_new_network_takes_the_room_of_one() -> None:
    def left() -> int:
        facts = gather_engine()
        assert isinstance(facts.engine, Engine)
        assert not isinstance(facts.things, EngineError)
        taken = [subnet for thing in facts.things for subnet in thing.subnets if not _others(thing)]
        return networks_left(facts.engine.pools, taken)

    name = f"clinicare-doctor-test-{os.getpid()}"

    def _others(thing: Thing) -> bool:
        """Networks that come and go beside this test."""
        return thing.name not in ("bridge", name)

    before = left()
    subprocess.run(["docker", "network", "create", name], check=True, capture_output=True)
    try:
        assert left() == before - 1
    finally:
        subprocess.run(["docker", "network", "rm", name], check=True, capture_output=True)
