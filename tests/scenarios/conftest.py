"""The charts of all modules that are run lie in one store: an import takes longer than all that is asked of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_mimic.store.store import Store
from tests.conftest import once
from tests.scenarios.rules import Claims, charts_of
from tests.scenarios.timed_charts import Judged, judge_stored, write_charts

type ReadAs = Callable[[str, Iterable[str]], dict[str, tuple[str, str]]]


@dataclass(frozen=True)
class Ward:
    """A store, and whose chart is whose: module → claim → the patient's number."""

    store: Store
    numbers: Mapping[str, Mapping[str, int]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each claim of the module."""
    for argument in ("case", "outside", "inside"):
        if argument in metafunc.fixturenames:
            claims = getattr(metafunc.module, "CASES" if argument == "case" else argument.upper())
            metafunc.parametrize(argument, claims)


@pytest.fixture(scope="session")
def ward(request: pytest.FixtureRequest, shared_dir: Path) -> Ward:
    """Every chart of the modules of this session; all workers collect the same ones."""
    modules = dict.fromkeys(
        item.module
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item.module, "SCENARIO")
    )
    charts = [
        (module.__name__, claim, chart) for module in modules for claim, chart in charts_of(module).items()
    ]
    numbers: dict[str, dict[str, int]] = {}
    for number, (module, claim, _) in enumerate(charts, start=1):
        numbers.setdefault(module, {})[claim] = number
    folder = shared_dir / "ward"
    folder.mkdir(exist_ok=True)
    store = once(folder, "store", lambda _: write_charts(folder, (chart for _, _, chart in charts)))
    return Ward(store, numbers)


@pytest.fixture(scope="module")
def cases(request: pytest.FixtureRequest) -> Claims:
    """The module's own."""
    claims: Claims = request.module.CASES
    return claims


@pytest.fixture(scope="module")
def judged(request: pytest.FixtureRequest, ward: Ward) -> Judged:
    """What the module's scenario makes of its charts."""
    return judge_stored(ward.store, request.module.SCENARIO, ward.numbers[request.module.__name__])


@pytest.fixture
def read_as(request: pytest.FixtureRequest, ward: Ward) -> ReadAs:
    """Verdicts on the module's charts of those names, under an accepted other reading."""

    def read(reading: str, claims: Iterable[str]) -> dict[str, tuple[str, str]]:
        numbers = ward.numbers[request.module.__name__]
        asked = {claim: numbers[claim] for claim in claims}
        found = judge_stored(ward.store, request.module.SCENARIO, asked, reading=reading).verdicts
        return {claim: found[claim] for claim in asked}

    return read
