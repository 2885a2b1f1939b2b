"""Sign-offs: they hold for what was signed, and for nothing else."""

import inspect
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from harness.commands.data import standing
from harness.commands.review import review as command
from harness.errors import ScenarioError
from harness.review import signoff
from harness.review.signoff import (
    LEAST_CASES,
    SIGNOFF_FILE,
    SignOff,
    content_digest,
    read_signoff,
    shortcoming,
    write_signoff,
)
from harness.scenario import load_scenario
from harness.scenario_page import scenario_page
from tests.harness.review.reviews import ADA, CLASSES, GRACE, reviewed
from tests.harness.toy_scenario import FILES, write_toy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_toy(tmp_path)


def sign(folder: Path, **changes: object) -> SignOff:
    said = {"scenario": folder.name, "version": 1, "content": content_digest(folder), "review": (reviewed(),)}
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
    assert after.reviewers == (
        'Ada "A." Lovelace\\ (intensivist, 2026-05-20) on synthetic charts',
        "Grace Hopper (nephrologist, 2026-05-20) on synthetic charts",
    )
    assert "clinician_reviewed = false" not in scenario_page(after)


TOMORROW = datetime.now(UTC).date() + timedelta(days=2)
SHORT = {
    "too few cases": ({"cases": CLASSES | {"yes": 1}}, f"held 7 cases, and a sign-off needs {LEAST_CASES}"),
    "a class that nobody read": ({"cases": CLASSES | {"yes": 4, "no": 0}}, "no case of the class no"),
    "one reader": ({"reviewer": (GRACE,)}, "two different readers"),
    "one reader twice": (
        {"reviewer": (GRACE, GRACE.model_copy(update={"name": " grace  HOPPER"}))},
        "two different readers",
    ),
    "a date to come": (
        {"reviewer": (ADA, GRACE.model_copy(update={"date": TOMORROW}))},
        "lies in the future",
    ),
    "a date before the packet": (
        {"reviewer": (ADA, GRACE.model_copy(update={"date": date(2026, 4, 1)}))},
        "before its packet",
    ),
    "an open difference": (
        {"reviewer": (ADA.model_copy(update={"settled": ()}), GRACE)},
        "1 difference between Ada",
    ),
}


@pytest.mark.parametrize("fault", SHORT)
def test_a_review_that_falls_short_signs_nothing(fault: str, folder: Path) -> None:
    changes, said = SHORT[fault]
    assert said in (shortcoming(reviewed(**changes), tuple(CLASSES)) or "")
    sign(folder, review=(reviewed(), reviewed(**changes)))
    with pytest.raises(ScenarioError, match="it does not count") as caught:
        load_scenario(folder)
    assert "unsigned" in caught.value.remedy


def test_a_class_that_the_mix_does_not_want_need_not_be_read() -> None:
    assert shortcoming(reviewed(cases={"yes": 4, "no": 4}), ("yes", "no")) is None


def test_a_packet_has_by_default_as_many_cases_as_a_sign_off_needs() -> None:
    assert inspect.signature(command).parameters["cases"].default == LEAST_CASES


def test_synthetic_charts_sign_no_label_of_patients(folder: Path) -> None:
    sign(folder)
    scenario = load_scenario(folder)
    assert "signed on synthetic charts" in standing([scenario.on("synthetic")])
    for patients in ("open", "credentialed"):
        unsigned = scenario.on(patients)
        assert (unsigned.clinician_reviewed, unsigned.reviewers) == (False, ())
        assert standing([unsigned]) == "rule-derived labels; clinician_reviewed = false"


def test_charts_of_patients_sign_every_label_and_a_later_review_takes_nothing_away(folder: Path) -> None:
    sign(folder, review=(reviewed(), reviewed(classification="open", packet="sha256:" + "3" * 64)))
    scenario = load_scenario(folder)
    assert len(scenario.reviewers) == len(scenario.on("synthetic").reviewers) == 4
    for patients in ("open", "credentialed"):
        assert [name.rsplit(" on ")[1] for name in scenario.on(patients).reviewers] == [
            "charts of an open release"
        ] * 2


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


def shared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own, with the files that all scenarios share."""
    (folder / "definitions").mkdir(parents=True)
    (folder / "task").mkdir()
    for name in ("definitions/cohort.sql", "definitions/adjudication.sql", "task/instruction.md"):
        (folder / name).write_text("-- nothing\n")
    monkeypatch.setattr(signoff, "data_folder", lambda _: folder)
    return folder


def test_a_changed_rule_of_reading_loses_the_sign_off(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = shared(tmp_path / "data", monkeypatch)
    sign(folder)
    assert load_scenario(folder).clinician_reviewed
    (data / "task" / "instruction.md").write_text("An order is a dose given.\n")
    assert load_scenario(folder).lapsed


def test_a_definition_that_another_one_calls_counts_too(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = shared(tmp_path / "data", monkeypatch)
    (folder / "evidence.sql").write_text(FILES["evidence.sql"] + "-- given_doses(task)\n")
    digests = set()
    for hours in (1, 2):
        (data / "definitions" / "adjudication.sql").write_text(
            "create or replace temp macro given_doses(t) as table select late(t);\n"
            f"create or replace temp macro late(t) as t + {hours};\n"
        )
        digests.add(content_digest(folder))
    assert len(digests) == 2


def test_shared_definitions_count_where_the_scenario_calls_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = shared(tmp_path / "data", monkeypatch)
    caller = write_toy(tmp_path / "one", {"evidence.sql": FILES["evidence.sql"] + "-- given_doses(task)\n"})
    other = write_toy(tmp_path / "two")
    digests = []
    for hours in (1, 1, 2):
        comment = f"-- edition {len(digests)}\n"
        text = f"{comment}create or replace temp macro given_doses(t) as table select {hours};\n"
        (data / "definitions" / "adjudication.sql").write_text(text)
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
        ('scenario = "x"\n', "toml: version: the key is missing"),
        (
            'scenario = "x"\nversion = 1\ncontent = "sha256:0"\nreview = []\n',
            "content: 'sha256:0' has not the form",
        ),
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
