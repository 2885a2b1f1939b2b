"""What only a trial's own container shows of the chart server: policies, named readers, and queries within its limits.

One trial on a credentialed store with every module, on a corpus of a user's own, by an agent without a model.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.containers.engine import docker
from harness.containers.images import image_tag
from harness.digests import digest_files, task_files
from tests.harness.scoring.sessions import HOUSE, World, make_world

SECTION = f"policy:{HOUSE}#2"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "policy": ("read_policy", {"document": SECTION}),
    "other policy": ("read_policy", {"document": "hyperkalaemia-severe"}),
    "note": ("read_note", {"note": "note:DS-4"}),
    "count": ("query_chart", {"sql": "select count(*) from hosp.labevents where itemid = 50971"}),
    "join": (
        "query_chart",
        {"sql": "select d.label, l.valuenum from labevents l join d_labitems d using (itemid) order by 2"},
    ),
    "huge": ("query_chart", {"sql": "select repeat('x', 4000000000)"}),
    "hungry": ("query_chart", {"sql": "select count(distinct md5(i::varchar)) from range(30000000) t(i)"}),
    "endless": ("query_chart", {"sql": "select count(*) from range(1000000000000)"}),
    "file": ("query_chart", {"sql": "select * from read_text('/grant.json')"}),
    "again": ("query_chart", {"sql": "select 1"}),
    "labs": ("get_labs", {"items": [50971]}),
}
REPORT = f"## Answer: YES\n\nPotassium was 5.1 [lab:3, note:DS-4#2], which is high [{SECTION}].\n"


@dataclass(frozen=True)
class Asked:
    """The trial's folder, and what its calls were answered."""

    trial: Path
    answers: dict[str, dict[str, Any]]

    def code(self, call: str) -> str:
        return str(self.answers[call]["error"]["code"])

    def score(self) -> dict[str, Any]:
        return dict(json.loads((self.trial / "verifier" / "score.json").read_bytes()))


def _grant_queries(world: World, tasks: Path) -> None:
    """The world's tasks, with a grant that has the tool that no task's has yet, and ten seconds a call."""
    shutil.copytree(world.task.parent, tasks)
    task = tasks / world.task.name
    file = task / "environment" / "grant.json"
    grant = json.loads(file.read_bytes())
    grant |= {"tools": ["*", "query_chart"], "limits": grant["limits"] | {"seconds": 10}}
    file.write_text(json.dumps(grant))
    manifest = json.loads((tasks / "manifest.json").read_bytes())
    manifest["tasks"][task.name] |= digest_files(task_files(task))
    (tasks / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture(scope="module")
def asked(images: None, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    folder = tmp_path_factory.mktemp("asked")
    world = make_world(folder / "world")
    _grant_queries(world, folder / "tasks")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "calls.json").write_text(json.dumps(list(CALLS.values())))
    (notes / "report.md").write_text(REPORT)
    (notes / "systems.toml").write_text(
        '[[system]]\ntag = "asking"\nabout = "asks"\n[system.harbor]\nagent = "tests.containers.asking:Asking"\n'
        f'options = {{ notes = "{notes}" }}\n'
    )
    harness = Path(sys.executable).with_name("harness")
    places = ["--tasks", folder / "tasks", "--store", world.store.path, "--corpus", world.corpus]
    command = [harness, "run", "--systems", "asking", "--systems-file", notes / "systems.toml"]
    done = subprocess.run(
        [*command, *places, "--jobs-dir", folder / "jobs"],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads((notes / "answers.json").read_bytes())
    assert isinstance(answers, list), answers
    trial = folder / "jobs" / "run" / f"{world.task.name}__asking"
    return Asked(trial, dict(zip(CALLS, answers, strict=True)))


def test_a_query_is_answered(asked: Asked) -> None:
    assert asked.answers["count"]["rows"] == [[1]]
    assert asked.answers["join"]["rows"][-1] == ["Potassium", 5.1]


@pytest.mark.parametrize(
    ("call", "rule"),
    [("huge", "limits.memory"), ("hungry", "limits.memory"), ("endless", "limits.seconds")],
)
def test_a_query_that_takes_too_much_is_ended(asked: Asked, call: str, rule: str) -> None:
    assert asked.code(call) in {rule, "limits.seconds"}


def test_a_query_reads_no_file(asked: Asked) -> None:
    assert asked.code("file").startswith("query.")


def test_the_server_outlives_them_all(asked: Asked) -> None:
    assert asked.answers["again"]["rows"] == [[1]]
    assert asked.answers["labs"]["rows"][0]["eid"] == "lab:3"


def test_policies_come_from_the_corpus_of_the_user_and_only_if_the_grant_names_them(asked: Asked) -> None:
    assert asked.answers["policy"]["passages"][0]["eid"] == SECTION
    assert asked.code("other policy") == "grant.documents"


def test_what_was_served_in_the_container_is_scored_like_anywhere(asked: Asked) -> None:
    score = asked.score()
    assert (score["supported"], score["citation_precision"], score["policy_support"]) == (1, 1, 1)


def test_without_named_readers_a_credentialed_store_is_not_served(images: None, tmp_path: Path) -> None:
    world = make_world(tmp_path)
    mounts = [f"--volume={world.store.path}:/store:ro", f"--volume={world.task}/environment:/task:ro"]
    options = ["--rm", "--network=none", f"--user={os.getuid()}:{os.getgid()}", *mounts]
    done = subprocess.run(
        [
            "docker",
            "run",
            *options,
            image_tag("mimic"),
            "serve",
            "--store",
            "/store",
            "--grant",
            "/task/grant.json",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2
    assert "no model is named that may read it" in done.stderr


def test_no_image_carries_a_policy_document() -> None:
    find = ["run", "--rm", "--network=none", "--entrypoint=find", image_tag("mimic"), "/opt", "/home", "/srv"]
    assert docker(*find, "-name", "*.md", "-path", "*corpus*") == ""
