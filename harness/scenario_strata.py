"""How many cases of each class stores have, as committed counts: `python -m harness.scenario_strata FILE NAME=STORE`.

Only counts leave a store, and of a credentialed one not even these.
"""

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import duckdb
from pydantic import Field, ValidationError

from harness.cohort import label_cases
from harness.data import data_folder
from harness.errors import CohortError, HarnessError, ScenarioError
from harness.rubric import DataModel, Text
from harness.scenario import Scenario, load_scenarios
from mcp_mimic.contract import VERDICTS, canonical_json
from mcp_mimic.errors import ChartServerError
from mcp_mimic.store.store import Store
from mcp_mimic.text.slips import first_slip

_REMEDY = "write it anew with: python -m harness.scenario_strata"


class Counted(DataModel):
    """Cases that are eligible, by verdict; `rules` is the digest of the rules that counted them."""

    rules: Text
    yes: int = Field(ge=0)
    no: int = Field(ge=0)
    lack_of_data: int = Field(ge=0)
    medical_ambiguity: int = Field(ge=0)

    @property
    def row(self) -> tuple[int, ...]:
        """The counts in the order of the verdicts."""
        return self.yes, self.no, self.lack_of_data, self.medical_ambiguity


class StoreCounts(DataModel):
    """One store, and what it has of each scenario.

    `chart_texts`: of the entries of icu.chartevents whose item is one of texts, how many have one, and all.
    """

    release: Text
    classification: Text
    fingerprint: Text
    patients: int = Field(ge=1)
    modules: tuple[Text, ...]
    chart_texts: tuple[int, int]
    scenarios: Mapping[str, Counted]


class Strata(DataModel):
    """The file of counts, by the name that a store was given."""

    stores: Mapping[str, StoreCounts]


def count_store(store: Store, scenarios: Sequence[Scenario]) -> StoreCounts:
    """Count the eligible cases of every scenario; CohortError for a credentialed store."""
    manifest = store.manifest
    if manifest.classification == "credentialed":
        raise CohortError(
            f"{store.path}: counts of a credentialed store are not written",
            "name a synthetic store or one of the open demo; `harness cohort` prints the counts of any",
        )
    with duckdb.connect(":memory:") as connection:
        store.attach(connection, "store")
        (patients,) = connection.execute("select count(*) from store.hosp.patients").fetchone() or (0,)
        texts = connection.execute(
            "select count(c.value), count(*) from store.icu.chartevents c join store.icu.d_items i using (itemid) "
            "where i.param_type = 'Text'"
        ).fetchone()
    return StoreCounts(
        release=manifest.release,
        classification=manifest.classification,
        fingerprint=manifest.fingerprint,
        patients=patients,
        modules=tuple(sorted(manifest.modules)),
        chart_texts=texts or (0, 0),
        scenarios={scenario.id: _count(store, scenario) for scenario in scenarios},
    )


def _count(store: Store, scenario: Scenario) -> Counted:
    found = Counter(case.gold for case in label_cases(store, scenario))
    return Counted(
        rules=rules_digest(scenario),
        yes=found["yes"],
        no=found["no"],
        lack_of_data=found["lack_of_data"],
        medical_ambiguity=found["medical_ambiguity"],
    )


def rules_digest(scenario: Scenario) -> str:
    """Over what says which cases there are and what they are: SQL and shared definitions without comments, params."""
    definitions = sorted((data_folder("scenarios") / "definitions").glob("*.sql"))
    texts = [scenario.cohort_sql, scenario.adjudicate_sql]
    texts += [file.read_text(encoding="utf-8") for file in definitions]
    bare = [re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", text)).strip() for text in texts]
    return sha256("\0".join([*bare, canonical_json(scenario.params)]).encode()).hexdigest()[:16]


def read_strata(path: Path) -> Strata:
    """Read a file of counts; ScenarioError if it is none."""
    try:
        data = {"stores": tomllib.loads(path.read_text(encoding="utf-8"))}
        return Strata.model_validate(data)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path} cannot be read: {error}", _REMEDY) from error
    except ValidationError as error:
        told = str(first_slip(error, Strata, data)).removeprefix("stores, ")
        raise ScenarioError(f"{path}: {told}", _REMEDY) from error


def write_strata(strata: Strata, path: Path) -> None:
    """Write a file of counts; the same counts give the same bytes."""
    lines = ["# Written by `python -m harness.scenario_strata`: eligible cases by scenario and verdict."]
    for name, counts in strata.stores.items():
        lines += [
            "",
            f"[{name}]",
            f'release = "{counts.release}"',
            f'classification = "{counts.classification}"',
            f'fingerprint = "{counts.fingerprint}"',
            f"patients = {counts.patients}",
            f"modules = {list(counts.modules)}".replace("'", '"'),
            f"chart_texts = {list(counts.chart_texts)}",
            "",
            f"[{name}.scenarios]",
            *(f"{scenario} = {_inline(counted)}" for scenario, counted in sorted(counts.scenarios.items())),
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _inline(counted: Counted) -> str:
    numbers = ", ".join(f"{verdict} = {count}" for verdict, count in zip(VERDICTS, counted.row, strict=True))
    return f'{{ {numbers}, rules = "{counted.rules}" }}'


def main(arguments: Sequence[str]) -> int:
    """Count the stores that are named, and keep what the file has of others; the exit code."""
    named = [text.partition("=") for text in arguments[1:]]
    if not arguments or not all(name and store for name, _, store in named):
        sys.stderr.write("usage: python -m harness.scenario_strata FILE NAME=STORE ...\n")
        return 2
    file = Path(arguments[0])
    try:
        stores = dict(read_strata(file).stores) if file.exists() else {}
        scenarios = load_scenarios()
        for name, _, store in named:
            stores[name] = count_store(Store.open(Path(store)), scenarios)
    except (HarnessError, ChartServerError) as error:
        sys.stderr.write(f"error: {error.message}\nhint: {error.remedy}\n")
        return 1
    write_strata(Strata(stores=stores), file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
