"""Whether a scenario folder holds together: its files, its SQL, its plants, and the answer that should be full."""

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.adjudication import adjudicate, gather_evidence
from harness.build import build_tasks
from harness.cohort import build_cohort, label_cases
from harness.cohort_file import CohortRow
from harness.data import data_folder
from harness.errors import HarnessError, ScenarioError
from harness.grade import grade_job
from harness.probes import AXES, axis_values
from harness.scenario import Scenario, load_scenario
from harness.sweep import Sweep, run_sweep
from harness.synthetic import write_hospital
from harness.synthetic.dictionaries import chart_items, dictionary_rows, lab_items
from harness.synthetic.hospital import Hospital
from harness.synthetic.plants import Plant, read_plants
from harness.synthetic.writer import open_tables
from harness.systems import load_systems
from harness.words import counted
from mcp_mimic.chart.tasks import open_tasks
from mcp_mimic.policies.corpus import open_corpus
from mcp_mimic.store.classification import seal_synthetic
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store

Tell = Callable[[str], None]

_CASES = 30
_ITEM_ID = re.compile(r"\b(5[0-3]\d{3,4}|22\d{3,5})\b")
"""Ids of d_labitems (50801 to 53xxx) and of d_items (220001 to 229xxx), a digit too many or too few included."""
_BEYOND = range(230_000, 231_000)
"""Ids of d_items that a scenario may search for, and that the synthetic hospital has none of."""


@dataclass(frozen=True)
class Checked:
    """What was found of one scenario: `problems` are lines, each with its file; `strata` count cases by verdict."""

    scenario: str
    plants: int
    carriers: int
    strata: Mapping[str, int]
    problems: tuple[str, ...]


def check_scenario(folder: Path, store: Store | None = None, tell: Tell = lambda _: None) -> Checked:
    """Check one folder. ScenarioError if it cannot be loaded; everything else is a problem of the result.

    Its SQL runs on a store without patients and on a synthetic hospital that carries its plants alone, where each
    plant must come to its verdict, and the oracle must have all of every axis. With `store`, the cohort and the
    verdicts are tried there too, and `strata` are that store's.
    """
    tell(f"{folder.name}: files")
    scenario = load_scenario(folder)
    plants = read_plants(scenario.plants)
    problems = [*_classes(scenario, plants), *_policies(scenario), *_items(scenario)]
    strata: Counter[str] = Counter()
    carriers = 0
    with tempfile.TemporaryDirectory(prefix="scenario-") as name:
        work = Path(name)
        try:
            tell(f"{folder.name}: SQL on a store without patients")
            _require_nothing(_empty_store(work), scenario)
            tell(f"{folder.name}: a hospital of its plants")
            hospital = write_hospital(work / "hospital", scenarios=[scenario], patients=1)
            planted = _import(work / "hospital", work / "store")
            carriers = len(hospital)
            problems += wrong_plants(label_cases(planted, scenario), scenario, hospital)
            tell(f"{folder.name}: tasks, and the answer that should be full")
            problems += _wanting_answers(planted, scenario, work)
            strata = Counter(case.gold for case in label_cases(store or planted, scenario))
        except HarnessError as error:
            problems.append(f"{error.message}: {error.remedy}")
    return Checked(scenario.id, len(plants), carriers, strata, tuple(problems))


def _classes(scenario: Scenario, plants: tuple[Plant, ...]) -> Iterator[str]:
    if (cases := sum(scenario.mix.values())) != _CASES:
        yield f"{scenario.folder / 'scenario.toml'}: mix asks for {counted(cases, 'case')}: make it {_CASES}"
    planted = {plant.verdict for plant in plants}
    for verdict, wanted in scenario.mix.items():
        if wanted and verdict not in planted:
            yield f"{scenario.plants}: no plant with the verdict {verdict}: add one"
    if not any(item.weight > 0 for item in scenario.rubric.item):
        yield f"{scenario.folder / 'rubrics.toml'}: no item has a positive weight: add one"


def _policies(scenario: Scenario) -> Iterator[str]:
    file = scenario.folder / "scenario.toml"
    known = open_corpus(data_folder("corpus"))
    for policy in scenario.policies:
        if policy not in known.entries:
            yield f"{file}: policy {policy} is not in the corpus: add it to corpus/manifest.toml"
        elif known.document(policy) is None:
            yield f"{file}: the text of policy {policy} is not here: write or acquire it"
    if not scenario.policies:
        yield f"{file}: no policy: name at least one document of corpus/manifest.toml"


def _items(scenario: Scenario) -> Iterator[str]:
    """Items that the files name and the hospital's dictionaries do not have: an id with a wrong digit is one."""
    remedy = "correct it, or add the item to harness/synthetic/reference/"
    labs, charted = lab_items().keys(), chart_items().keys()
    told = set(_BEYOND)
    for evidence in scenario.evidence:
        for search in evidence.search:
            if search.source != "hosp.labevents" and not search.source.startswith("icu."):
                continue
            known = labs if search.source == "hosp.labevents" else charted
            for item in sorted(set(search.items or ()) - known - told):
                told.add(item)
                yield (
                    f"{scenario.folder / 'scenario.toml'}, evidence {evidence.id!r}: the synthetic hospital has no "
                    f"item {item} in {search.source}: {remedy}"
                )
    for name in ("scenario.toml", "cohort.sql", "adjudicate.sql", "evidence.sql", "plants.toml"):
        path = scenario.folder / name
        text = re.sub(r"(?m)(--|#).*$", "", path.read_text(encoding="utf-8"))
        seen = told if name == "scenario.toml" else set()
        for item in sorted({int(found) for found in _ITEM_ID.findall(text)} - labs - charted - seen):
            yield f"{path}: the synthetic hospital has no item {item}: {remedy}"


def _empty_store(work: Path) -> Store:
    with open_tables(work / "empty") as tables:
        tables.write(dictionary_rows())
    seal_synthetic(work / "empty")
    return _import(work / "empty", work / "empty-store")


def _import(folder: Path, store: Path) -> Store:
    import_store([folder], store)
    return Store.open(store)


def _require_nothing(store: Store, scenario: Scenario) -> None:
    """ScenarioError if the SQL fails without a patient, or finds a case."""
    if cases := label_cases(store, scenario):
        raise ScenarioError(
            f"{scenario.id}: cohort.sql finds {counted(len(cases), 'case')} in a store without patients",
            "mend it",
        )
    with open_tasks(store, []) as connection:
        adjudicate(connection, scenario)
        gather_evidence(connection, scenario)


def wrong_plants(labelled: Iterable[CohortRow], scenario: Scenario, hospital: Hospital) -> Iterator[str]:
    """What became of each plant whose carriers are not the cases they were planted as, a line each."""
    cases = {case.subject_id: case for case in labelled}
    wrong: dict[str, tuple[int, str]] = {}
    for planted in hospital:
        case = cases.get(planted.subject_id)
        if case is None:
            came = "is no case"
        elif case.index_time.isoformat(" ") != planted.index_time:
            came = f"is planted at {planted.index_time}, and cohort.sql has it at {case.index_time}"
        elif case.gold != planted.verdict:
            came = f"is {case.gold} by the rule {case.rule}, not {planted.verdict}"
        else:
            continue
        wrong[planted.plant_id] = wrong.get(planted.plant_id, (0, came))[0] + 1, came
    for plant_id, (count, came) in wrong.items():
        yield f"{scenario.plants}: plant {plant_id} {came} ({count} of its patients): mend plant or rule"


def _wanting_answers(store: Store, scenario: Scenario, work: Path) -> Iterator[str]:
    """Where sampling comes up short, and where the oracle, which cites what the gold rests on, lacks a point."""
    cohort = build_cohort(store, [scenario])
    for stratum in cohort.strata:
        if stratum.taken < stratum.wanted:
            yield (
                f"{scenario.plants}: {stratum.taken} of {stratum.wanted} cases {stratum.verdict} are eligible: "
                "let more patients carry such a plant"
            )
    tasks, job = work / "tasks", work / "jobs" / "check"
    build_tasks(store, cohort.rows, [scenario], tasks)
    run_sweep(Sweep(tasks, store.path, job, (load_systems()["oracle"],), environment="direct"))
    for trial in grade_job(job, tasks).trials:
        axes = axis_values(trial.score) if trial.score is not None else dict.fromkeys(AXES, 0.0)
        short = [name for name, value in axes.items() if value < 1]
        if short:
            unmet = [] if trial.score is None else trial.score["requirements"]
            named = ", ".join(f"{each['id']} ({each['why']})" for each in unmet if not each["satisfied"])
            yield (
                f"{scenario.folder}: in a case {trial.gold} the oracle lacks {', '.join(short)}"
                + (f", for it does not meet {named}" if named else "")
                + ": let [[evidence]] of scenario.toml and the rows of evidence.sql fit"
            )
            return
