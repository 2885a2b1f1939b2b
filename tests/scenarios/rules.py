"""What every module of a scenario's boundaries asks, of the charts that it names.

Such a module says which SCENARIO it is about, what verdict each of its CASES must come to, which charts lie OUTSIDE
the cohort and, if it says so, which INSIDE it; FURTHER are charts that only its own tests read. It subclasses `Rules`,
which is then asked of each chart, and reads what the scenario makes of them from `judged`.
"""

from collections.abc import Mapping
from types import ModuleType

from tests.scenarios.timed_charts import Chart, Judged

Claims = Mapping[str, tuple[Chart, tuple[str, str]]]


def charts_of(module: ModuleType) -> dict[str, Chart]:
    """Every chart that a module names; a name stands for one chart."""
    groups = [
        {claim: chart for claim, (chart, _) in module.CASES.items()},
        *(getattr(module, name, {}) for name in ("OUTSIDE", "INSIDE", "FURTHER")),
    ]
    charts = {claim: chart for group in groups for claim, chart in group.items()}
    assert len(charts) == sum(map(len, groups)), f"{module.__name__} has two charts of one name"
    return charts


class Rules:
    """Parametrised over the module's claims by the conftest of this folder."""

    def test_the_verdict_follows_the_rules(self, case: str, cases: Claims, judged: Judged) -> None:
        assert judged.verdicts[case] == cases[case][1]

    def test_no_chart_contradicts_its_gold(self, case: str, judged: Judged) -> None:
        own = {eid for rows in judged.eids[case].values() for eid in rows}
        for need in judged.evidence[case].values():
            assert need.kind != "absence" or not need.qualifying
            assert need.kind != "rows" or need.alternatives or not judged.eligible[case]
            dated = {eid for eid in need.relevant if not eid.startswith("dx")}
            assert own.issuperset(dated), "another patient's row, or one not known yet"

    def test_the_cohort_leaves_out(self, outside: str, judged: Judged) -> None:
        assert outside not in judged.tasks

    def test_the_cohort_takes_in(self, inside: str, judged: Judged) -> None:
        assert inside in judged.tasks


class SampledRules(Rules):
    """Where no case is too close to call for a task to be made of it."""

    def test_a_case_may_be_sampled(self, case: str, judged: Judged) -> None:
        assert judged.eligible[case]
