"""Cases of a store with the label that a scenario's SQL gives each."""

import json
from dataclasses import fields

from harness.cohort import CohortRow, label_cases
from harness.scenario import Scenario
from mcp_mimic.store.store import Store
from tests.second.chart import Case


def labelled(store: Store, scenario: Scenario) -> list[tuple[Case, str]]:
    """Every case that a cohort might take, not only those of a sample; with its verdict."""
    return [(_case(row), row.gold) for row in label_cases(store, scenario)]


def _case(row: CohortRow) -> Case:
    named = {field.name: getattr(row, field.name) for field in fields(Case)}
    return Case(**(named | {"params": json.loads(row.params)}))
