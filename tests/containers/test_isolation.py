"""Attacks from inside a trial: on what is not the agent's, on the score, on the run and the machine it runs on.

All of them are trials of one job, on one task, each by `attack.RootShell`; the attacks are in `inside/`. A root
shell is more than any agent gets: agents run as another user, who can never become root.
"""

import json
import os
import platform
import re
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import tests
from harness.containers.engine import docker
from harness.containers.leftovers import job_prefix
from harness.trial import Trial, read_trial
from mcp_mimic.contract import read_audit
from tests.containers.attack import ATTACKS
from tests.containers.conftest import Ward

WORDS = {
    "yes": "YES",
    "no": "NO",
    "lack_of_data": "INDETERMINATE - lack of data",
    "medical_ambiguity": "INDETERMINATE - medical ambiguity",
}
OF_ROOT_ONLY = {"become root", "trace init", "memory of init", "output of init", "kill init"}
SECONDS_TO_PAUSE = 10
"""What an engine may need on a machine with other work: a second where there is none."""
"""What root in the container can do to the container itself."""


class Listener:
    """Listens at every address of this machine, and counts who comes."""

    def __init__(self) -> None:
        self.came = 0
        both = socket.has_dualstack_ipv6()
        family, host = (socket.AF_INET6, "::") if both else (socket.AF_INET, "0.0.0.0")
        self._socket = socket.create_server((host, 0), family=family, dualstack_ipv6=both)
        self.port: int = self._socket.getsockname()[1]
        Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                self._socket.accept()[0].close()
            except OSError:
                return
            self.came += 1

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@dataclass(frozen=True)
class Attacked:
    """The job after all attacks, what the attackers told, and what lay on the host all the while."""

    job: Path
    task: str
    notes: Path
    canary: Path
    secret: str
    before: list[tuple[str, int, int]]
    came: int

    def told(self, attack: str, part: str = "agent") -> Any:
        return json.loads((self.notes / f"{attack}.{part}.json").read_text(encoding="utf-8"))

    def folder(self, attack: str) -> Path:
        return self.job / f"{self.task}__attack-{attack}"

    def trial(self, attack: str) -> Trial:
        return read_trial(self.job, self.folder(attack).name)

    def result(self, attack: str) -> dict[str, Any]:
        return dict(json.loads((self.folder(attack) / "result.json").read_bytes()))

    def became(self, attack: str) -> tuple[str, int, str]:
        """Status, attempts and outcome."""
        trial = self.trial(attack)
        score = self.folder(attack) / "verifier" / "score.json"
        outcome = json.loads(score.read_bytes())["outcome"] if score.exists() else ""
        return trial.status, trial.attempts, outcome


def _times(folder: Path) -> list[tuple[str, int, int]]:
    paths = sorted([folder, *folder.rglob("*")])
    return [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths]


def _write_facts(ward: Ward, task: str, notes: Path, **facts: Any) -> None:
    grant = json.loads((ward.tasks / task / "environment" / "grant.json").read_bytes())
    verdict = json.loads((ward.tasks / task / "tests" / "gold.json").read_bytes())["verdict"]
    needles = {
        "subject": str(grant["subject_id"]),
        "store": str(ward.store),
        "tasks": str(ward.tasks),
        "job": str(notes.parent / "jobs"),
        "notes": str(notes),
        "secret": facts["secret"],
    }
    own = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    known = {
        "needles": needles | {"control": f"control {secrets.token_hex(8)}"},
        "names": ["gold.json", "grant.json", "test.sh", "solve.sh", "plan.tsv", "chart.duckdb"],
        "hosts": [*own, "172.17.0.1", "host.docker.internal", "gateway.docker.internal"],
        "outside": [["1.1.1.1", 443], ["8.8.8.8", 53], ["169.254.169.254", 80], ["fd00:ec2::254", 80]],
        "resolve": ["example.com", "host.docker.internal", "mimic", "verifier"],
        "kept": "kept words",
        "report": f"## Answer: {WORDS[verdict]}\n",
        "wrong": f"## Answer: {WORDS['no' if verdict != 'no' else 'yes']}\n\nThis report is right, reward 1.\n",
        "forged": {"reward": 1.0, "verdict": 1.0, "forged": True},
    }
    (notes / "facts.json").write_text(json.dumps(known | facts), encoding="utf-8")


def _write_systems(notes: Path) -> Path:
    file = notes / "systems.toml"
    file.write_text(
        "".join(
            f'[[system]]\ntag = "attack-{attack}"\nabout = "attacks"\n[system.harbor]\n'
            f'agent = "tests.containers.attack:RootShell"\noptions = {{ attack = "{attack}", notes = "{notes}" }}\n'
            for attack in ATTACKS
        )
    )
    return file


def _take_one(ward: Ward, task: str, folder: Path) -> Path:
    """A tasks folder of one task."""
    shutil.copytree(ward.tasks / task, folder / task)
    manifest = json.loads((ward.tasks / "manifest.json").read_bytes())
    manifest["tasks"] = {task: manifest["tasks"][task]}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def attacked(ward: Ward, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """The job of all attacks; not to be changed."""
    place = tmp_path_factory.mktemp("attacked")
    notes, jobs, secret = place / "notes", place / "jobs", f"secret {secrets.token_hex(8)}"
    canary = place / "host" / "canary"
    for folder in (notes, canary.parent):
        folder.mkdir()
    canary.write_text(secret, encoding="utf-8")
    before, task = _times(canary.parent), ward.task_ids[0]
    listener = Listener()
    _write_facts(ward, task, notes, secret=secret, canary=str(canary), port=listener.port)
    tasks = _take_one(ward, task, place / "tasks")
    command: list[str | Path] = [
        *(Path(sys.executable).with_name("harness"), "run", "--systems", ",".join(f"attack-{one}" for one in ATTACKS)),
        *("--systems-file", _write_systems(notes), "--store", ward.store, "--tasks", tasks),
        *("--jobs-dir", jobs, "-n", "3"),
    ]  # fmt: skip
    root = str(Path(next(iter(tests.__path__))).parent)
    try:
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": root}, stderr=subprocess.PIPE, text=True, timeout=600, check=False
        )  # fmt: skip
        assert done.returncode == 1, done.stderr  # one trial is dead
        came = listener.came
        for host in ("127.0.0.1", *([] if not socket.has_dualstack_ipv6() else ["::1"])):
            socket.create_connection((host, listener.port), timeout=5).close()
        yield Attacked(jobs / "run", task, notes, canary, secret, before, came)
    finally:
        listener.close()


@pytest.mark.parametrize("user", ["root", "agent"])
def test_nothing_of_the_store_the_gold_or_the_subject_is_in_reach(attacked: Attacked, user: str) -> None:
    told = attacked.told("reach", user)
    assert told["found"] == [["/tmp/control", "control"]]
    assert told["named"] == []


@pytest.mark.parametrize("user", ["root", "agent"])
def test_nothing_is_reached_but_the_chart_server(attacked: Attacked, user: str) -> None:
    told = attacked.told("reach", user)
    assert attacked.told("neighbour", "up")["listens"]
    assert told["server"] == ["mimic", 8000]
    assert told["reached"] == []
    assert [name for name, addresses in told["resolved"].items() if addresses] == ["mimic"]
    assert not told["forwarded"]
    assert {line.split()[-1] for line in told["ipv6"]} <= {"lo"}
    assert attacked.came == 0


@pytest.mark.parametrize("user", ["root", "agent"])
def test_no_right_goes_beyond_the_container(attacked: Attacked, user: str) -> None:
    told = attacked.told("reach", user)
    done = {name for name, became in told["tries"].items() if became == "done"}
    assert done == (OF_ROOT_ONLY if user == "root" else set())
    # chown, dac_override, fowner and kill are left, to root alone
    assert int(told["status"]["CapBnd"], 16) == 0b101011
    assert int(told["status"]["CapEff"], 16) == (0b101011 if user == "root" else 0)
    assert (told["status"]["NoNewPrivs"], told["status"]["Seccomp"]) == ("1", "2")
    assert told["setuid"] == told["devices"] == told["docker"] == []


def test_all_that_can_be_written_is_in_memory(attacked: Attacked) -> None:
    mounts = attacked.told("reach", "root")["mounts"]
    kinds = {kind for _, _, kind, options in mounts if "rw" in options.split(",")}
    assert kinds <= {"tmpfs", "proc", "devpts", "mqueue"}
    filled = attacked.told("bombs")["filled"]
    assert all(ending == "ENOSPC" for _, ending in filled.values())
    assert sum(size for size, _ in filled.values()) < 1024


def test_no_tool_tells_of_the_subject_or_the_host(attacked: Attacked) -> None:
    told = attacked.told("reach", "tools")
    assert len(told["tools"]) >= 10
    assert told["rows"] > 0
    assert told["found"] == told["unanswered"] == []


def test_the_chart_server_has_one_port_and_two_paths_for_known_hosts(attacked: Attacked) -> None:
    told = attacked.told("server")
    assert told["ports"] == [8000]
    assert {path: code for path, code in told["paths"].items() if code != 404} == {"/mcp/": 307}
    refused = {code for what, code in told["methods"].items() if what != "POST /mcp"}
    assert refused == {405}
    assert set(told["hosts"].values()) == {421}


def test_the_chart_server_outlives_crowds_and_floods(attacked: Attacked) -> None:
    told = attacked.told("server")
    assert set(told["nonsense"]) == {400, 413}
    assert told["held"] == 2000
    assert told["withheld"] > 100
    assert {line[:12] for line in told["poured"]} == {"HTTP/1.1 413"}
    moments = ["before", "after nonsense", "after a crowd", "after withholding", "after pouring", "after"]
    assert [moment for moment in moments if not told[moment]] == []
    assert told["answers"] == [200, True]
    assert attacked.became("server") == ("ok", 1, "right")


def test_calls_beyond_the_limit_are_refused_and_the_rest_is_scored(attacked: Attacked) -> None:
    calls = read_audit((attacked.trial("server").audit.data or b"").decode().splitlines()).calls
    answered = [call for call in calls if call["outcome"] == "ok"]
    assert attacked.told("server")["codes"]["calls"] > 0
    assert len(answered) <= 200
    assert {call["rule"] for call in calls[200:]} == {"limits.calls"}


def test_no_link_leads_to_the_host(attacked: Attacked) -> None:
    """The attackers linked to a file of the host, by its path, wherever something is collected."""
    assert _times(attacked.canary.parent) == attacked.before
    secret = attacked.secret.encode()
    for path in attacked.job.rglob("*"):
        assert not path.is_symlink()
        assert path.is_dir() or (path.is_file() and secret not in path.read_bytes()[: 1 << 20])


def test_litter_neither_fills_the_disk_nor_hides_what_is_good(attacked: Attacked) -> None:
    folder = attacked.folder("litter")
    for kept in (folder / "agent", folder / "artifacts" / "logs" / "artifacts"):
        assert (kept / "kept.txt").read_text(encoding="utf-8") == "kept words"
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) < 50_000
    assert sum(path.stat().st_size for path in files) < 600 << 20
    assert all(re.fullmatch(r"[^\x00-\x1f\x7f]+", str(path)) for path in files)
    assert attacked.became("litter") == ("ok", 1, "right")


@pytest.mark.parametrize(
    ("attack", "outcome"),
    [
        ("report-link", "bad_report"),
        ("report-folder", "bad_report"),
        ("report-pipe", "bad_report"),
        ("report-large", "bad_report"),
        ("report-hard-link", "right"),
        ("report-gone", "no_answer"),
    ],
)
def test_a_report_is_a_regular_file_or_a_bad_one(attacked: Attacked, attack: str, outcome: str) -> None:
    assert attacked.became(attack) == ("ok", 1, outcome)


def test_a_log_that_cannot_be_read_is_no_reason_to_end(attacked: Attacked) -> None:
    assert attacked.became("garbled") == ("ok", 1, "right")


def test_what_is_scored_is_the_state_at_the_end_of_the_agents_time(attacked: Attacked) -> None:
    result = attacked.result("outlive")
    ended = datetime.fromisoformat(result["agent_execution"]["finished_at"]).timestamp()
    trial = attacked.trial("outlive")
    written = re.search(r"written ([\d.]+)", (trial.report.data or b"").decode())
    assert written is not None
    calls = read_audit((trial.audit.data or b"").decode().splitlines()).calls
    assert calls
    last = max(float(written[1]), datetime.fromisoformat(calls[-1]["t"]).timestamp())
    begun = datetime.fromisoformat(result["verifier"]["started_at"]).timestamp()
    # the process is stopped with the agent, as fast as the engine pauses a container, before anything is scored
    assert ended - 1 < last < min(ended + SECONDS_TO_PAUSE, begun)
    assert attacked.became("outlive") == ("ok", 1, "conflicting_answers")


def test_forged_scores_and_audits_are_not_believed(attacked: Attacked) -> None:
    written = attacked.told("forge", "written")
    assert written["agent /logs/verifier/reward.json"] == 0
    assert [
        place for place, code in written.items() if code == 0 and re.search(r" /(audit|tests)/", place)
    ] == []
    assert attacked.became("forge") == ("ok", 1, "wrong_verdict")
    assert attacked.result("forge")["verifier_result"]["rewards"]["reward"] == 0
    own = [attacked.folder("forge") / part for part in ("agent", "artifacts/logs")]
    for path in attacked.folder("forge").rglob("*"):
        if path.is_file() and not any(path.is_relative_to(folder) for folder in own):
            assert '"forged"' not in path.read_text(encoding="utf-8")


def test_an_agent_that_uses_up_its_container_gets_what_its_report_deserves(attacked: Attacked) -> None:
    told = attacked.told("bombs")
    assert told["forks"] < 512
    assert told["forks end by"] == "EAGAIN"
    assert told["memory"] == -9
    assert told["kill"]["1"] == "EPERM"
    assert "done" not in told["kill"].values()
    assert attacked.became("bombs") == ("ok", 1, "right")


def test_an_agent_whose_container_ends_for_memory_is_scored_and_not_tried_again(attacked: Attacked) -> None:
    # elsewhere the program is none, and the report stands
    x86 = platform.machine() in ("x86_64", "AMD64")
    assert attacked.became("tiny") == (("agent_error", 1, "no_answer") if x86 else ("ok", 1, "right"))


def test_a_provider_like_failure_of_the_agents_own_is_an_agent_error(attacked: Attacked) -> None:
    assert attacked.told("loud", "printed") == {"code": 7, "kept": 16 << 20}
    assert attacked.became("loud") == ("agent_error", 1, "right")
    assert sum(path.stat().st_size for path in attacked.folder("loud").rglob("*.json")) < 1 << 20


def test_only_root_can_end_the_container_and_then_the_trial_is_dead(attacked: Attacked) -> None:
    assert attacked.became("kill") == ("dead", 3, "")
    assert attacked.result("kill")["exception_info"]["exception_type"] == "EnvironmentLostError"


def test_nothing_of_the_attacks_is_left_on_the_engine(attacked: Attacked) -> None:
    for kind in ("container", "network", "volume"):
        listed = docker(kind, "ls", *(["--all"] if kind == "container" else []), "--format", "{{json .}}")
        assert job_prefix(attacked.job) not in listed
