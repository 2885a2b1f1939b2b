"""The synthetic hospital: plans its patients, generates their charts, writes the official file layout."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, ScenarioError
from harness.scenario import load_scenarios
from harness.synthetic.agreement import agree
from harness.synthetic.chart import Chart, open_chart
from harness.synthetic.codes import add_codes
from harness.synthetic.consequences import clear_operations, feed_by_tube, limit_record, withhold_potassium
from harness.synthetic.cultures import add_cultures
from harness.synthetic.dictionaries import dictionary_rows
from harness.synthetic.drugs import add_drugs
from harness.synthetic.emergency import add_emergency
from harness.synthetic.encounters import add_encounters
from harness.synthetic.eventful import add_eventful
from harness.synthetic.fluids import add_fluids
from harness.synthetic.imaging import add_imaging
from harness.synthetic.labs import add_labs
from harness.synthetic.numbering import number
from harness.synthetic.orders import add_orders
from harness.synthetic.overlay import plant
from harness.synthetic.place import place_beside
from harness.synthetic.plan import Case, PlantedScenario, plan_cases
from harness.synthetic.procedures import add_procedures
from harness.synthetic.summaries import add_summaries
from harness.synthetic.suppression import suppress
from harness.synthetic.tracings import add_tracings
from harness.synthetic.vitals import add_lab_copies, add_vitals
from harness.synthetic.writer import open_tables
from mcp_mimic.store.classification import seal_synthetic

Progress = Callable[[int, int], None]
"""Called with patients written and patients in all."""

_BACKGROUND = (
    add_encounters,
    add_labs,
    add_vitals,
    add_fluids,
    add_procedures,
    add_drugs,
    add_orders,
    add_cultures,
    add_codes,
    add_emergency,
    add_eventful,
)


@dataclass(frozen=True)
class PlantedCase:
    """Who carries which plant, the index time (ISO), and the verdict that adjudication must come to."""

    scenario: str
    plant_id: str
    verdict: str
    subject_id: int
    index_time: str


@dataclass(frozen=True)
class Hospital:
    """What was written: the folder, rows by table, and the carriers of the plants, which it iterates."""

    path: Path
    seed: int
    patients: int
    rows: dict[str, int]
    plants: tuple[PlantedCase, ...]

    def __len__(self) -> int:
        return len(self.plants)

    def __iter__(self) -> Iterator[PlantedCase]:
        return iter(self.plants)


def write_hospital(
    out: Path,
    *,
    seed: int = 20260101,
    patients: int | None = None,
    scenarios: Sequence[PlantedScenario] | None = None,
    progress: Progress | None = None,
) -> Hospital:
    """Write a hospital that carries every plant of the scenarios into `out`, sealed as synthetic.

    The same seed, scenarios and number of patients give the same bytes. `scenarios` defaults to those
    that come with the harness; neighbours are added up to `patients` in all, a dozen at least. Raises
    HarnessError where `out` holds something already or another process is making it, ScenarioError for a plant that cannot be realised.
    """
    with place_beside(out) as folder:
        cases = plan_cases(load_scenarios() if scenarios is None else scenarios, patients)
        hospital = _write(folder, out, cases, seed, progress)
        seal_synthetic(folder)
    return hospital


def _write(folder: Path, out: Path, cases: list[Case], seed: int, progress: Progress | None) -> Hospital:
    charts = []
    for case in cases:
        with _telling(case):
            charts.append(open_chart(case, seed))
    charts.sort(key=lambda chart: chart.person.subject_id)
    planted = []
    with open_tables(folder) as tables:
        tables.write(dictionary_rows())
        for done, chart in enumerate(charts, 1):
            with _telling(chart.case):
                fill_chart(chart)
            tables.write(chart.rows)
            chart.rows.clear()
            if chart.case.plant and chart.case.scenario:
                planted.append(
                    PlantedCase(
                        chart.case.scenario,
                        chart.case.plant.id,
                        chart.case.plant.verdict,
                        chart.person.subject_id,
                        chart.index_time.isoformat(" "),
                    )
                )
            if progress:
                progress(done, len(charts))
    by_plan = sorted(planted, key=lambda case: (case.scenario, case.plant_id, case.subject_id))
    return Hospital(out, seed, len(charts), tables.counts, tuple(by_plan))


@contextmanager
def _telling(case: Case) -> Iterator[None]:
    """ScenarioError, with scenario and plant, for whatever goes wrong while a carrier's chart is written."""
    try:
        yield
    except HarnessError:
        raise
    except Exception as error:
        if case.plant is None:
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        raise ScenarioError(
            f"{case.scenario}, plant {case.plant.id!r}: no chart can be written for it ({what})",
            "look for times of its presence, stay or events that cannot all be true of one patient",
        ) from error


def fill_chart(chart: Chart) -> None:
    """Write the whole chart: background, the plant over it, then what follows from both."""
    for add in _BACKGROUND:
        add(chart)
    limit_record(chart)
    if chart.case.plant:
        suppress(chart, chart.case.plant)
        plant(chart, chart.case.plant)
    clear_operations(chart)
    feed_by_tube(chart)
    withhold_potassium(chart)
    agree(chart)
    add_lab_copies(chart)
    add_tracings(chart)
    add_imaging(chart)
    add_summaries(chart)
    number(chart)
