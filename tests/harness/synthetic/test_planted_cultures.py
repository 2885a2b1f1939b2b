"""Planted cultures: organisms, susceptibilities, days without a time, cancelled specimens."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ScenarioError
from harness.synthetic.chart import Chart
from tests.harness.synthetic.toy_plants import plant_one

ALONE = 'suppress = [{ source = "hosp.microbiologyevents", from = "-900d", to = "+900d" }]\n'


def cultures(chart: Chart) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = chart.rows["hosp.microbiologyevents"]
    return rows


def grown(tmp_path: Path, *keys: str, specimen: str = "BLOOD CULTURE", at: str = "+4h") -> Chart:
    events = ",\n".join(
        f'{{ source = "hosp.microbiologyevents", at = "{at}", specimen = "{specimen}", {key} }}'
        for key in keys
    )
    return plant_one(tmp_path, f"{ALONE}event = [\n{events}\n]\n", anchor="unit")


def test_every_antibiotic_has_a_row_with_its_number_and_dilution(tmp_path: Path) -> None:
    key = 'organism = "KLEBSIELLA PNEUMONIAE", antibiotics = { CEFTRIAXONE = "R", AMIKACIN = "S" }'
    rows = [row for row in cultures(grown(tmp_path, key)) if row.get("ab_name")]
    assert [(row["ab_name"], row["ab_itemid"], row["interpretation"]) for row in rows] == [
        ("AMIKACIN", "90014", "S"),
        ("CEFTRIAXONE", "90018", "R"),
    ]
    assert [(row["dilution_comparison"].strip(), row["dilution_value"]) for row in rows] == [
        ("<=", "2"),
        ("=>", "64"),
    ]
    assert {(row["org_itemid"], row["isolate_num"]) for row in rows} == {("80004", 1)}


def test_an_organism_may_be_tested_for_nothing(tmp_path: Path) -> None:
    rows = cultures(grown(tmp_path, 'organism = "ENTEROCOCCUS SP.", antibiotics = {}'))
    assert [row["org_name"] for row in rows if row["test_seq"] == 1] == ["ENTEROCOCCUS SP."]
    assert not [row for row in rows if row.get("ab_name")]


def test_positive_bottles_are_stained_before_the_organism_is_reported(tmp_path: Path) -> None:
    rows = cultures(grown(tmp_path, 'organism = "STAPH AUREUS COAG +", stored = "+70h"'))
    reports = [row for row in rows if row["test_seq"] == 1]
    stains = [row for row in rows if row["test_name"].endswith("Bottle Gram Stain")]
    assert stains
    assert all(stain["storetime"] < reports[0]["storetime"] for stain in stains)
    assert all(stain.get("org_name") is None for stain in stains)
    assert {stain["comments"] for stain in stains} <= {"___", "GRAM POSITIVE COCCI IN CLUSTERS.  "}


def test_organisms_with_one_key_grow_in_one_specimen(tmp_path: Path) -> None:
    chart = grown(
        tmp_path,
        'organism = "ESCHERICHIA COLI", specimen_key = "a", antibiotics = {}',
        'organism = "YEAST", specimen_key = "a"',
        'organism = "ESCHERICHIA COLI", specimen_key = "a", antibiotics = {}',
        'organism = "YEAST"',
        specimen="URINE",
    )
    rows = cultures(chart)
    numbers = [row["micro_specimen_id"] for row in rows]
    assert sorted(map(numbers.count, {*numbers})) == [1, 3]
    shared = [row for row in rows if numbers.count(row["micro_specimen_id"]) == 3]
    assert sorted((row["org_name"], row["isolate_num"]) for row in shared) == [
        ("ESCHERICHIA COLI", 1),
        ("ESCHERICHIA COLI", 2),
        ("YEAST", 1),
    ]
    assert len({(row["charttime"], row["storetime"]) for row in shared}) == 1


def test_a_culture_may_have_a_day_and_no_time(tmp_path: Path) -> None:
    chart = grown(tmp_path, "date_only = true", at="+50h")
    (row,) = cultures(chart)
    day = (chart.index_time + timedelta(hours=50)).date()
    assert row["charttime"] is None
    assert (row["chartdate"].date(), row["chartdate"].hour, row["comments"]) == (day, 0, "NO GROWTH.  ")


def test_a_cancelled_culture_is_no_growth_and_is_known_soon(tmp_path: Path) -> None:
    (row,) = cultures(grown(tmp_path, "cancelled = true"))
    assert (row["org_itemid"], row["org_name"], row["comments"]) == ("90760", "CANCELLED", None)
    assert row["storetime"] - row["charttime"] < timedelta(hours=12)


def test_a_test_of_a_specimen_has_its_own_number(tmp_path: Path) -> None:
    key = 'test = "C. difficile Toxin antigen assay", organism = "POSITIVE"'
    (row,) = cultures(grown(tmp_path, key, specimen="STOOL"))
    assert (row["test_itemid"], row["org_itemid"], row["spec_itemid"]) == ("90233", "90855", "70064")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (('organism = "MOULD"',), "has no organism 'MOULD'"),
        (('test = "Tasting"',), "has no test 'Tasting' of 'BLOOD CULTURE'"),
        (('organism = "YEAST", antibiotics = { GARLIC = "S" }',), "has no antibiotic 'GARLIC'"),
        (('organism = "YEAST", antibiotics = { DAPTOMYCIN = "R" }',), "no dilution at which DAPTOMYCIN is R"),
    ],
)
def test_what_no_table_has_is_named(tmp_path: Path, keys: tuple[str, ...], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        grown(tmp_path, *keys)


def test_an_unknown_specimen_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="has no specimen 'TEARS'"):
        grown(tmp_path, "date_only = true", specimen="TEARS")
