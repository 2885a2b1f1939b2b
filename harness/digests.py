"""The four digests of a task directory. Each of its files counts in exactly one.

`agent_digest` is over what the agent can see, `gold_digest` over the gold as a score names it, `plan_digest`
over the solution's plan, which is made from the gold, and `rest_digest` over every other file: what runs
and scores the trial, and whatever else lies there.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from mcp_mimic.contract import ContractError, canonical_json

GOLD = "tests/gold.json"
PLAN = "solution/plan.tsv"
GRANT = "environment/grant.json"

_SEEN = ("instruction.md", "task.toml", "environment/docker-compose.yaml")
_IDENTIFYING = ("subject_id", "sealed_hadm_id")
_LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"""What a file manager leaves in a folder that it shows."""


def digest_bytes(content: bytes) -> str:
    """The sha256 of some bytes, as manifests, jobs and scores write it."""
    return f"sha256:{sha256(content).hexdigest()}"


def digest_files(files: Mapping[str, bytes]) -> dict[str, str]:
    """The digests by their names in a tasks manifest, of all files by their path in the task's directory.

    KeyError for a file that every task has and this one has not, ValueError if the grant is no object.
    """
    shown = sorted(name for name in files if name.startswith("environment/") and name != GRANT)
    seen = [*_SEEN, *(name for name in shown if name not in _SEEN)]
    rest = sorted(files.keys() - {*seen, GRANT, GOLD, PLAN})
    return {
        "agent_digest": digest_bytes(_listed(files, seen) + _impersonal(files[GRANT])),
        "gold_digest": digest_gold(files[GOLD]),
        "plan_digest": digest_bytes(files[PLAN]),
        "rest_digest": digest_bytes(_listed(files, rest)),
    }


def digest_gold(gold: bytes) -> str:
    """Over tests/gold.json, as a score names it."""
    return digest_bytes(gold)


def task_files(folder: Path) -> dict[str, bytes]:
    """Every file of a task's directory by its path in it, links followed; OSError if one cannot be read."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name in _LITTER or (path.is_dir() and not path.is_symlink()):
            continue
        if path.exists() and not path.is_file():
            raise OSError(None, "no regular file", str(path))
        found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def _listed(files: Mapping[str, bytes], names: Iterable[str]) -> bytes:
    return "".join(f"{name}\0{sha256(files[name]).hexdigest()}\n" for name in names).encode()


def _impersonal(text: bytes) -> bytes:
    """The grant without the numbers in the record.

    The task id in it stands for the subject, so that the digest of a credentialed task cannot be searched
    for the subject behind it.
    """
    grant = json.loads(text)
    if not isinstance(grant, dict):
        raise ContractError("the grant is no JSON object")
    return canonical_json({key: grant[key] for key in grant if key not in _IDENTIFYING}).encode()
