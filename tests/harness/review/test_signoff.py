"""Sign-offs: they hold for what was signed, and for nothing else."""

from datetime import date
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.review import signoff
from harness.review.signoff import (
    SIGNOFF_FILE,
    Reviewer,
    SignOff,
    content_digest,
    read_signoff,
    write_signoff,
)
from harness.scenario import load_scenario
from harness.scenario_page import scenario_page
from tests.harness.toy_scenario import FILES, write_toy

REVIEWER = Reviewer(name='Ada "A." Lovelace\\', role="intensivist", date=date(2031, 5, 1), cases=8, agreed=7)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_toy(tmp_path)


def sign(folder: Path, **changes: object) -> SignOff:
    said = {"scenario": folder.name, "version": 1, "content": content_digest(folder), "reviewer": (REVIEWER,)}
    signed = SignOff.model_validate(said | changes)
    write_signoff(signed, folder / SIGNOFF_FILE)
    return signed


def test_a_scenario_is_unsigned_until_there_is_a_sign_off(folder: Path) -> None:
    before = load_scenario(folder)
    assert (before.clinician_reviewed, before.reviewers) == (False, ())
    assert "clinician_reviewed = false" in scenario_page(before)
    sign(folder)
    after = load_scenario(folder)
    assert after.clinician_reviewed
    assert after.reviewers == ('Ada "A." Lovelace\\ (intensivist, 2031-05-01)',)
    assert "clinician_reviewed = false" not in scenario_page(after)


def test_a_written_sign_off_reads_back_the_same(folder: Path) -> None:
    assert sign(folder) == read_signoff(folder / SIGNOFF_FILE)


CHANGES = {
    "scenario.toml": ("threshold = 5.0", "threshold = 5.1"),
    "cohort.sql": ("interval 6 hour", "interval 7 hour"),
    "adjudicate.sql": (">=", ">"),
    "evidence.sql": ("'sufficient'", "'relevant'"),
    "rubrics.toml": ("weight = 1", "weight = 2"),
    "policy_rubrics.toml": ("weight = 1", "weight = 2"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_scenario_loses_its_sign_off(name: str, folder: Path) -> None:
    sign(folder)
    file = folder / name
    assert CHANGES[name][0] in file.read_text()
    file.write_text(file.read_text().replace(*CHANGES[name]))
    changed = load_scenario(folder)
    assert not changed.clinician_reviewed
    assert changed.lapsed
    page = scenario_page(changed)
    assert "The sign-off of Ada" in page
    assert "clinician_reviewed = false" in page


def test_another_version_loses_the_sign_off(folder: Path) -> None:
    sign(folder, version=2)
    assert not load_scenario(folder).clinician_reviewed


def test_plants_are_no_part_of_what_is_signed(folder: Path) -> None:
    sign(folder)
    (folder / "plants.toml").write_text(FILES["plants.toml"] + "\n# another chart\n")
    assert load_scenario(folder).clinician_reviewed


def test_shared_definitions_count_where_the_scenario_calls_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    (data / "definitions").mkdir(parents=True)
    (data / "definitions" / "cohort.sql").write_text("-- nothing\n")
    shared = data / "definitions" / "adjudication.sql"
    monkeypatch.setattr(signoff, "data_folder", lambda _: data)
    caller = write_toy(tmp_path / "one", {"evidence.sql": FILES["evidence.sql"] + "-- given_doses(task)\n"})
    other = write_toy(tmp_path / "two")
    digests = []
    for hours in (1, 1, 2):
        comment = f"-- edition {len(digests)}\n"
        shared.write_text(f"{comment}create or replace temp macro given_doses(t) as table select {hours};\n")
        digests.append((content_digest(caller), content_digest(other)))
    assert digests[0] == digests[1]
    assert digests[1][0] != digests[2][0]
    assert digests[1][1] == digests[2][1]


def test_claiming_a_review_in_the_scenario_itself_is_refused(tmp_path: Path) -> None:
    claimed = FILES["scenario.toml"].replace(
        "clinician_reviewed = false", 'clinician_reviewed = true\nreviewers = ["Somebody"]'
    )
    with pytest.raises(ScenarioError, match="clinician_reviewed is true") as caught:
        load_scenario(write_toy(tmp_path, {"scenario.toml": claimed}))
    assert "signoff.toml" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "cannot be read"),
        ('scenario = "x"\n', "version"),
        ('scenario = "x"\nversion = 1\ncontent = "sha256:0"\nreviewer = []\n', "content"),
    ],
)
def test_a_damaged_sign_off_is_named(text: str, said: str, folder: Path) -> None:
    (folder / SIGNOFF_FILE).write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(folder)
    assert caught.value.message.startswith(str(folder / SIGNOFF_FILE))
    assert said in caught.value.message
    assert "unsigned" in caught.value.remedy


def test_the_sign_off_of_another_scenario_is_refused(folder: Path) -> None:
    sign(folder, scenario="91-something-else")
    with pytest.raises(ScenarioError, match="it is the sign-off of 91-something-else"):
        load_scenario(folder)
