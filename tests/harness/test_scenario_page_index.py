"""The pages on scenarios are what their folders make, and the counts in them are those of stores."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from harness.cohort import build_cohort
from harness.data import data_folder
from harness.errors import CohortError, ScenarioError
from harness.scenario import Scenario, load_scenario, load_scenarios
from harness.scenario_index import PREFACE, STRATA, scenario_pages, write_pages
from harness.scenario_strata import (
    Strata,
    count_store,
    main,
    read_strata,
    rules_digest,
    write_strata,
)
from mcp_mimic.store.classification import seal_synthetic
from mcp_mimic.store.importer import import_store
from mcp_mimic.store.store import Store
from tests.harness.toy_scenario import ADMITTED, FILES, Admissions, ward_store, write_toy

DOCS = data_folder("scenarios").parent / "docs"
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def shipped() -> Mapping[str, str]:
    return scenario_pages(DOCS, load_scenarios())


def test_the_pages_are_up_to_date(shipped: Mapping[str, str]) -> None:
    found = {f"scenarios/{page.name}" for page in (DOCS / "scenarios").glob("*.md")}
    assert found == set(shipped) - {"scenarios.md"}, "run `just docs`"
    stale = [name for name, text in shipped.items() if (DOCS / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run `just docs`"


def test_the_index_names_every_scenario_with_its_mix_and_that_nobody_signed(
    shipped: Mapping[str, str],
) -> None:
    index = shipped["scenarios.md"]
    for scenario in load_scenarios():
        [line] = [line for line in index.splitlines() if f"(scenarios/{scenario.id}.md) |" in line]
        wanted = [scenario.mix[verdict] for verdict in ("yes", "no", "lack_of_data", "medical_ambiguity")]
        assert line.split(" | ")[1] == " / ".join(map(str, wanted))
    assert "No clinician has signed one" in index
    assert "`clinician_reviewed = false`" in index


def test_the_counts_are_of_the_scenarios_that_there_are() -> None:
    for counts in read_strata(DOCS / STRATA).stores.values():
        assert counts.classification in ("synthetic", "open")
        assert set(counts.scenarios) == {scenario.id for scenario in load_scenarios()}


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, Store]:
    folder = tmp_path_factory.mktemp("toy")
    subjects: dict[int, Admissions] = {
        101: [(ADMITTED, [(ADMITTED + HOUR, 5.5)])],
        102: [(ADMITTED, [(ADMITTED + HOUR, 5.2)])],
        103: [(ADMITTED, [(ADMITTED + HOUR, 4.0)])],
        104: [(ADMITTED, [])],
    }
    return load_scenario(write_toy(folder)), ward_store(folder, subjects)


@pytest.mark.slow
def test_counts_are_those_of_the_cohort_and_read_back_the_same(
    toy: tuple[Scenario, Store], tmp_path: Path
) -> None:
    scenario, credentialed = toy
    source = credentialed.path.parent / "source"
    seal_synthetic(source)
    import_store([source], tmp_path / "store")
    store = Store.open(tmp_path / "store")
    counts = count_store(store, [scenario])
    counted = counts.scenarios[scenario.id]
    assert counted.row == tuple(stratum.eligible for stratum in build_cohort(store, [scenario]).strata)
    assert counted.row == (2, 1, 1, 0)
    assert (counts.patients, counts.fingerprint) == (4, store.manifest.fingerprint)
    strata = Strata(stores={"toy": counts})
    write_strata(strata, tmp_path / "strata.toml")
    assert read_strata(tmp_path / "strata.toml") == strata


def test_a_credentialed_store_is_not_counted(toy: tuple[Scenario, Store]) -> None:
    scenario, store = toy
    assert store.manifest.classification == "credentialed"
    with pytest.raises(CohortError, match="credentialed"):
        count_store(store, [scenario])


def test_the_command_keeps_what_the_file_has_of_other_stores(
    toy: tuple[Scenario, Store], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "strata.toml"
    file.write_text((DOCS / STRATA).read_text(encoding="utf-8"), encoding="utf-8")
    assert main([str(file)]) == 0
    assert file.read_text(encoding="utf-8") == (DOCS / STRATA).read_text(encoding="utf-8")
    assert main([str(file), f"demo={toy[1].path}"]) == 1
    assert "credentialed" in capsys.readouterr().err
    assert main([str(file), "demo"]) == 2
    assert file.read_text(encoding="utf-8") == (DOCS / STRATA).read_text(encoding="utf-8")


def test_a_file_that_is_no_strata_is_told(tmp_path: Path) -> None:
    (tmp_path / "strata.toml").write_text('[synthetic]\nrelease = "3.1"\n', encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"strata\.toml: synthetic, classification: the key is missing"):
        read_strata(tmp_path / "strata.toml")
    whole = (DOCS / STRATA).read_text(encoding="utf-8")
    (tmp_path / "strata.toml").write_text(whole.replace("patients = 1000", "patients = 0"), encoding="utf-8")
    with pytest.raises(ScenarioError, match="synthetic, patients: 0 is out of range") as caught:
        read_strata(tmp_path / "strata.toml")
    assert "scenario_strata" in caught.value.remedy


def test_only_what_decides_changes_the_digest_of_the_rules(tmp_path: Path) -> None:
    before = rules_digest(load_scenario(write_toy(tmp_path / "a")))

    def digest(place: str, name: str, old: str, new: str) -> str:
        assert old in FILES[name]
        return rules_digest(load_scenario(write_toy(tmp_path / place, {name: FILES[name].replace(old, new)})))

    assert digest("b", "cohort.sql", "from hosp", "-- a comment\n  from hosp") == before
    assert digest("c", "cohort.sql", "interval 6 hour", "interval 7 hour") != before
    assert digest("d", "adjudicate.sql", ">=", ">") != before
    assert digest("e", "scenario.toml", "threshold = 5.0", "threshold = 5.1") != before


def test_changed_rules_are_marked_and_pages_of_lost_scenarios_go(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "scenarios").mkdir(parents=True)
    (docs / "scenarios" / "99-gone.md").write_text("gone", encoding="utf-8")
    (docs / PREFACE).write_text("About.\n\n## More\nThat.\n", encoding="utf-8")
    text = (DOCS / STRATA).read_text(encoding="utf-8")
    first = load_scenarios()[0]
    assert rules_digest(first) in text
    (docs / STRATA).write_text(text.replace(rules_digest(first), "0" * 16), encoding="utf-8")
    write_pages(docs)
    assert not (docs / "scenarios" / "99-gone.md").exists()
    index = (docs / "scenarios.md").read_text(encoding="utf-8")
    [marked] = [line for line in index.splitlines() if line.startswith(f"| [{first.number} ")]
    assert marked.count("†") == 2
    assert "have changed since the count" in index
    assert "\nAbout.\n" in index
    assert "\n## More\nThat.\n" in index
