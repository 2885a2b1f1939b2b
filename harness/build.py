"""Tasks folders: a Harbor task directory for each case of a cohort, and a manifest of all of them.

A tasks folder is a function of store, cohort, scenarios and this code: the same four give the same bytes.
It is written beside its place and moved there whole.
"""

import hmac
import json
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.cohort_file import CohortRow
from harness.errors import TaskError
from harness.gold import Case, gather_gold
from harness.scenario import Scenario
from harness.task import TaskFiles, render_task
from harness.words import counted
from mcp_mimic.contract import canonical_json
from mcp_mimic.store.store import Store

FORMAT = 1
MANIFEST_FILE = "manifest.json"

PUBLIC_KEY = b"clinicare: task ids of synthetic and open stores"
"""So that laboratories give the same ids to the same cases of data that anyone may have."""

_MIN_KEY_BYTES = 16

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Built:
    """The task ids of a folder, in order, whether the build changed anything in it, and how many tasks it replaced."""

    tasks: tuple[str, ...]
    changed: bool
    replaced: int = 0

    def __len__(self) -> int:
        return len(self.tasks)


def read_key(path: Path) -> bytes:
    """The key in a file, less the white space around it; TaskError if there is none or it is too short."""
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise TaskError(f"{path}: the key cannot be read ({error.strerror})", _MAKE_KEY) from error
    if len(key) < _MIN_KEY_BYTES:
        raise TaskError(f"{path}: the key has fewer than {_MIN_KEY_BYTES} bytes", _MAKE_KEY)
    return key


_MAKE_KEY = "make a key with `openssl rand -hex 32 > tasks.key`, and share it in your group only"


def choose_key(classification: str, key: bytes | None) -> bytes:
    """The key of the task ids: a group's own for credentialed stores, the public constant for others."""
    if classification == "credentialed":
        if key is None:
            raise TaskError(
                "a credentialed store needs a key, so that task ids identify nobody",
                f"{_MAKE_KEY}; then name it with --key-file",
            )
        return key
    if key is not None:
        raise TaskError(
            f"the store is {classification}, and task ids of such stores are the same everywhere",
            "leave --key-file out",
        )
    return PUBLIC_KEY


def task_id(row: CohortRow, key: bytes) -> str:
    """`<NN-slug>-<12 hex>`, keyed, over the scenario and what tells its cases apart."""
    case = {
        "subject_id": row.subject_id,
        "index_time": row.index_time.isoformat(),
        "as_of": row.as_of.isoformat(),
        "params": json.loads(row.params),
    }
    return f"{row.scenario}-{_keyed(key, canonical_json([row.scenario, case]))[:12]}"


def build_tasks(
    store: Store,
    rows: Sequence[CohortRow],
    scenarios: Sequence[Scenario],
    out: Path,
    *,
    key: bytes | None = None,
    progress: Progress | None = None,
) -> Built:
    """Write the task directories of all cohort rows and their manifest into `out`.

    A folder built from the same store becomes exactly what these rows make: it stays untouched if that is
    what it is, and is replaced otherwise, tasks of other rows included. TaskError if `out` is another
    store's or no tasks folder, if it holds files that no build makes, or if a case's gold is not sound;
    nothing is left half-built.
    """
    tell = progress or (lambda _: None)
    key = choose_key(store.manifest.classification, key)
    scenarios = [scenario.on(store.manifest.classification) for scenario in scenarios]
    before = _read_manifest(out, store)
    tasks: dict[str, tuple[CohortRow, TaskFiles]] = {}
    chosen = _cases(rows, scenarios, key)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the database works outside the interpreter's lock
        gathered = pool.map(lambda each: gather_gold(store, *each), chosen)
        for (scenario, cases), golds in zip(chosen, gathered, strict=True):
            tell(f"{scenario.id}: {counted(len(cases), 'task')}")
            for case in cases:
                gold = golds[case.task_id]
                files = render_task(scenario, case.row, case.task_id, gold, store.manifest.fingerprint)
                tasks[case.task_id] = case.row, files
    manifest = _manifest(store, tasks, key)
    if before == manifest and _is_whole(out, tasks):
        return Built(tuple(sorted(tasks)), changed=False)
    if before is not None:
        _require_own(out, before, {path for _, files in tasks.values() for path in files.files})
    _write(out, manifest, tasks)
    return Built(tuple(sorted(tasks)), changed=True, replaced=len(before["tasks"]) if before else 0)


def choose_split(rows: Sequence[CohortRow], split: str) -> list[CohortRow]:
    """The cases of a split: `dev` the development cases, `full` all of them; TaskError if there is none."""
    chosen = [row for row in rows if split == "full" or row.split == split]
    if rows and not chosen:
        raise TaskError(
            f"none of the cohort's {len(rows)} cases is in the split {split}",
            "a cohort of `harness cohort` marks them in its column split; build all cases with --split full",
        )
    return chosen


def _cases(
    rows: Sequence[CohortRow], scenarios: Sequence[Scenario], key: bytes
) -> list[tuple[Scenario, list[Case]]]:
    """The rows under their task ids, by scenario; TaskError if one occurs twice or has no scenario."""
    if not rows:
        raise TaskError("the cohort has no cases", "make one with: harness cohort")
    known = {scenario.id: scenario for scenario in sorted(scenarios, key=lambda each: each.id)}
    cases: dict[str, Case] = {}
    for row in rows:
        case = Case(task_id(row, key), row)
        if row.scenario not in known:
            raise TaskError(f"unknown scenario {row.scenario}", f"use one of {', '.join(known)}")
        if case.task_id in cases:
            raise TaskError(f"two cases make the task {case.task_id}", "remove one of them from the cohort")
        cases[case.task_id] = case
    return [
        (scenario, [case for case in cases.values() if case.row.scenario == name])
        for name, scenario in known.items()
    ]


def _manifest(store: Store, tasks: dict[str, tuple[CohortRow, TaskFiles]], key: bytes) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "store": store.manifest.fingerprint,
        "classification": store.manifest.classification,
        "release": store.manifest.release,
        "tasks": {
            name: {
                "scenario": row.scenario,
                "cluster": _keyed(key, f"subject {row.subject_id}")[:16],
                "split": row.split,
                **files.digests,
            }
            for name, (row, files) in sorted(tasks.items())
        },
    }


def _keyed(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), sha256).hexdigest()


def _read_manifest(out: Path, store: Store) -> dict[str, Any] | None:
    """The manifest of the folder that is there already; None if there is nothing in its place."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    try:
        manifest = json.loads((out / MANIFEST_FILE).read_bytes())
        fingerprint, _ = manifest["store"], dict(manifest["tasks"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TaskError(f"{out} is there and is no tasks folder", "name a new folder with --out") from error
    if fingerprint != store.manifest.fingerprint:
        raise TaskError(
            f"{out} was built from another store ({str(fingerprint)[:12]}…, not {store.manifest.fingerprint[:12]}…)",
            "name a new folder with --out, or remove this one",
        )
    return dict(manifest)


def _require_own(out: Path, before: dict[str, Any], names: set[str]) -> None:
    """TaskError if replacing the folder would take a file with it that no task directory has."""
    made = {f"{task}/{name}" for task in before["tasks"] for name in names} | {MANIFEST_FILE}
    found = {
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()
    }
    if others := sorted(found - made):
        raise TaskError(
            f"{out} holds {counted(len(others), 'file')} that no build makes, such as {others[0]}",
            "move them away, for the folder is replaced as a whole, or name another one with --out",
        )


def _is_whole(out: Path, tasks: dict[str, tuple[CohortRow, TaskFiles]]) -> bool:
    """Whether the folder holds exactly the bytes of the tasks."""
    wanted = {
        f"{name}/{path}": content
        for name, (_, files) in tasks.items()
        for path, content in files.files.items()
    }
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} - {MANIFEST_FILE}
    return found == set(wanted) and all((out / path).read_bytes() == wanted[path] for path in wanted)


def _write(out: Path, manifest: dict[str, Any], tasks: dict[str, tuple[CohortRow, TaskFiles]]) -> None:
    """Write all files into a hidden folder beside `out`, then put it in place of what is there."""
    partial, replaced = (out.with_name(f".{out.name}.{what}") for what in ("partial", "replaced"))
    for leftover in (partial, replaced):
        shutil.rmtree(leftover, ignore_errors=True)
    try:
        for name, (_, files) in tasks.items():
            for path, content in files.files.items():
                file = partial / name / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                file.chmod(0o755 if file.suffix == ".sh" else 0o644)
        text = json.dumps(manifest, indent=1, sort_keys=True) + "\n"
        (partial / MANIFEST_FILE).write_text(text, encoding="utf-8")
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if out.exists():
        out.rename(replaced)
    partial.rename(out)
    shutil.rmtree(replaced, ignore_errors=True)
