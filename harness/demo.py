"""The whole path on the synthetic hospital: chart, tasks, runs, scores."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.data import data_folder
from harness.stages import Stage, Tell, digest_of, run_stages
from harness.sweep import Progress, silent
from harness.words import counted

SEED = 20260101
MOST_CASES = 1
"""Cases of one verdict of one scenario: every class of every scenario, and few enough to watch."""


@dataclass(frozen=True)
class DemoScores:
    """The demo's numbers: the job's summary, and each instrument's cells on the axes."""

    summary: Mapping[str, Any]
    probes: Mapping[str, Mapping[str, Any]]
    report: Path

    @property
    def surprises(self) -> list[str]:
        """The cells that are not as expected, as `system axis`."""
        return [
            f"{tag} {axis}"
            for tag, cells in self.probes.items()
            for axis, cell in cells.items()
            if cell["wrong"]
        ]


def run_demo(root: Path, tell: Tell, progress: Progress = silent) -> DemoScores:
    """Do whatever of the path is not done yet; the same code and data make every stage a no-op."""
    path = _Path(root, progress)
    run_stages(root, path.stages(), tell)
    summary, probes = (
        json.loads((path.report / name).read_bytes()) for name in ("scores.json", "probes.json")
    )
    return DemoScores(summary, probes, path.report)


class _Path:
    """The demo's stages; each leaves its output below the demo's folder and says what it made."""

    def __init__(self, root: Path, progress: Progress) -> None:
        self._hospital = root / "hospital"
        self._store = root / "store"
        self._cohort = root / "cohort.csv"
        self._tasks = root / "tasks"
        self._job = root / "jobs" / "demo"
        self.report = root / "report"
        self._progress = progress

    def stages(self) -> Iterator[Stage]:
        """In order. The first one's inputs hold the code and the data, so that all follow from them."""
        package = Path(__file__).parent
        code = digest_of(
            [package, package.parent / "mcp_mimic", data_folder("scenarios"), data_folder("corpus")]
        )
        yield Stage("hospital", f"{SEED} {MOST_CASES} {code}", (self._hospital,), self._write_hospital)
        yield Stage("store", "", (self._store,), self._import, resumes=True)
        yield Stage("cohort", "", (self._cohort,), self._sample)
        yield Stage("tasks", "", (self._tasks,), self._build)
        yield Stage("trials", "", (self._job,), self._run, resumes=True)
        yield Stage("report", "", (self.report,), self._grade)

    def _write_hospital(self) -> str:
        from harness.scenario import load_scenarios
        from harness.synthetic import write_hospital

        few = [scenario.at_most(MOST_CASES) for scenario in load_scenarios()]
        hospital = write_hospital(self._hospital, seed=SEED, scenarios=few)
        return f"{hospital.patients} synthetic patients, {len(hospital)} planted cases"

    def _import(self) -> str:
        from mcp_mimic.store.importer import import_store

        manifest = import_store([self._hospital], self._store)
        rows = sum(table.rows for table in manifest.tables.values())
        return f"{rows:,} rows, {manifest.classification}"

    def _sample(self) -> str:
        from harness.cohort import build_cohort, write_cohort
        from harness.scenario import load_scenarios
        from mcp_mimic.store.store import Store

        scenarios = [scenario.at_most(MOST_CASES) for scenario in load_scenarios()]
        cohort = build_cohort(Store.open(self._store), scenarios)
        write_cohort(cohort, self._cohort)
        return f"{len(cohort.rows)} cases of {len(scenarios)} scenarios"

    def _build(self) -> str:
        from harness.build import build_tasks
        from harness.cohort import read_cohort
        from harness.scenario import load_scenarios
        from mcp_mimic.store.store import Store

        store, scenarios = Store.open(self._store), load_scenarios()
        built = build_tasks(store, read_cohort(self._cohort, store, scenarios), scenarios, self._tasks)
        return counted(len(built), "task")

    def _run(self) -> str:
        from harness.sweep import Sweep, run_sweep
        from harness.systems import load_systems

        systems = tuple(load_systems().values())
        sweep = Sweep(self._tasks, self._store, self._job, systems, concurrency=os.cpu_count() or 1)
        return f"{run_sweep(sweep, self._progress).trials} trials of {len(systems)} systems"

    def _grade(self) -> str:
        from harness.grade import grade_job
        from harness.probes import compare_all
        from harness.report.folder import write_report

        scores = grade_job(self._job, self._tasks)
        write_report(scores.summary, scores.trials, self.report)
        probes = {
            tag: {axis: asdict(cell) for axis, cell in cells.items()}
            for tag, cells in compare_all(scores.trials).items()
        }
        text = json.dumps(probes, indent=2)
        (self.report / "probes.json").write_text(text + "\n", encoding="utf-8")
        return str(self.report / "index.html")
