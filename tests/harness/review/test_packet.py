"""Review packets: what readers see, what they must not see, and what comes of their answers."""

import csv
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.build import build_tasks
from harness.cli import run
from harness.cohort_file import write_rows
from harness.data import data_folder
from harness.review import signoff as signoffs
from harness.review.packet import KEY_FILE
from harness.review.sample import order_for, sample_cases
from harness.review.signoff import read_signoff, write_signoff
from harness.scenario import load_scenarios as load_all
from mcp_mimic.contract import VERDICTS
from tests.harness.built_tasks import KEY, World

Captured = pytest.CaptureFixture[str]
LACTATE, POTASSIUM = "05-lactate-remeasurement-six-hours", "16-severe-hyperkalaemia-treatment"


@pytest.fixture(scope="module")
def world(task_world: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    """With the cohort's file and the key beside its tasks."""
    folder = tmp_path_factory.mktemp("world")
    made = replace(task_world, tasks=shutil.copytree(task_world.tasks, folder / "tasks"))
    write_rows(list(made.rows.values()), made.tasks.parent / "cohort.csv")
    (made.tasks.parent / "key").write_bytes(KEY)
    return made


def review(world: World, out: Path, *options: str) -> int:
    base = world.tasks.parent
    files = ["--cohort", str(base / "cohort.csv"), "--key-file", str(base / "key"), "--out", str(out)]
    return run(["review", "--store", str(world.store.path), *files, *options])


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="module")
def made(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A blind packet as it was written; not to be changed."""
    folder = tmp_path_factory.mktemp("made")
    folder.chmod(0o700)
    assert review(world, folder / "packet", "--blind") == 0
    return folder / "packet"


@pytest.fixture
def blind(made: Path, private: Path) -> Path:
    """A blind packet."""
    return Path(shutil.copytree(made, private / "packet"))


@pytest.fixture(scope="module")
def shown(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packet that shows its labels; not to be changed."""
    folder = tmp_path_factory.mktemp("shown")
    folder.chmod(0o700)
    assert review(world, folder / "packet") == 0
    return folder / "packet"


def pages(packet: Path, reader: str = "A") -> dict[str, str]:
    """Each case's page, by task id."""
    found = (packet / f"reader-{reader}" / "cases").glob("*.md")
    return {file.stem.partition("-")[2]: file.read_text() for file in found}


def key_of(packet: Path) -> Mapping[str, Mapping[str, str]]:
    cases: Mapping[str, Mapping[str, str]] = json.loads((packet / KEY_FILE).read_text())["cases"]
    return cases


# --- writing ------------------------------------------------------------------------------------------


def test_every_class_is_read_and_a_page_has_question_label_and_rule(world: World, shown: Path) -> None:
    key, read = key_of(shown), pages(shown)
    assert read.keys() == key.keys() == {path.name for path in world.tasks.iterdir() if path.is_dir()}
    assert {one["label"] for one in key.values() if one["scenario"] == POTASSIUM} == set(VERDICTS)
    for task, page in read.items():
        assert "> " in page
        assert "{index_time}" not in page
        assert f"by rule `{key[task]['rule']}`" in page
        assert "clinician_reviewed = false" in page


def test_a_reader_sees_the_rules_that_all_agents_are_told(blind: Path) -> None:
    shared = (data_folder("docker") / "task" / "instruction.md").read_text()
    rules = shared.partition("## How to read the record")[2].partition("## Answer")[0]
    for reader in "AB":
        assert rules in (blind / f"reader-{reader}" / "instruction.md").read_text()
        assert "`instruction.md`" in (blind / f"reader-{reader}" / "README.md").read_text()


def test_the_rows_behind_the_label_are_marked_and_their_neighbours_are_there(shown: Path) -> None:
    page = pages(shown)[case_of(shown, POTASSIUM, "yes")]
    lines = [line for line in page.splitlines() if line.startswith("| 2150")]
    marked = [line for line in lines if "●" in line]
    assert any("Calcium Gluconate" in line and "Administered" in line for line in marked)
    assert any("Heparin" in line and "●" not in line for line in lines)
    times = [line.split(" | ")[0] for line in lines]
    assert times == sorted(times)


def test_a_page_ends_at_the_as_of_time(shown: Path) -> None:
    for page in pages(shown).values():
        [as_of] = re.findall(r"as it was known at (\S+ \S+)\.", page)
        known = re.findall(r"^\| [\d :-]+ \| (\d{4}-\d\d-\d\d \d\d:\d\d)", page, re.MULTILINE)
        assert known
        assert all(moment <= as_of for moment in known)


def test_a_blind_packet_shows_no_label_and_two_orders(world: World, blind: Path) -> None:
    key = key_of(blind)
    orders = []
    for reader in "AB":
        folder = blind / f"reader-{reader}"
        for page in pages(blind, reader).values():
            assert "by rule" not in page
            assert "●" not in page
            assert "## Label" not in page
        assert not list(folder.rglob(KEY_FILE))
        with (folder / "answers.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert all((row["verdict"], row["comment"]) == ("", "") for row in rows)
        orders.append([row["case"] for row in rows])
    assert set(orders[0]) == set(orders[1]) == set(key)
    assert orders[0] != orders[1]


def test_no_file_of_a_packet_has_a_subject_id(world: World, blind: Path) -> None:
    subjects = {str(row.subject_id) for row in world.rows.values()}
    for file in blind.rglob("*"):
        if file.is_file():
            assert not subjects & set(re.findall(r"\d+", file.read_text())), file


def test_a_packet_is_for_its_owner_alone_and_says_what_it_holds(
    world: World, private: Path, capsys: Captured
) -> None:
    blind = private / "packet"
    assert review(world, blind, "--blind") == 0
    printed = capsys.readouterr()
    assert "holds patient data" in printed.err
    assert f"{POTASSIUM}\tversion 1\t4 cases\trule-derived labels; clinician_reviewed = false" in printed.out
    for path in [blind, *blind.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0
    for folder in (blind, blind / "reader-A", blind / "reader-B"):
        assert "patient data" in (folder / "README.md").read_text()


def test_the_same_inputs_give_the_same_bytes(world: World, blind: Path, private: Path) -> None:
    assert review(world, private / "again", "--blind") == 0
    first, second = (
        {f.relative_to(root): f.read_bytes() for f in root.rglob("*") if f.is_file()}
        for root in (blind, private / "again")
    )
    assert first == second


def test_a_folder_that_others_can_open_is_refused(world: World, tmp_path: Path, capsys: Captured) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o750)
    assert review(world, shared / "packet") == 2
    printed = capsys.readouterr().err
    assert "holds patient data" in printed
    assert f"chmod 700 {shared}" in printed
    assert list(shared.iterdir()) == []


def test_a_folder_that_holds_something_is_refused(world: World, blind: Path, capsys: Captured) -> None:
    before = sorted(blind.rglob("*"))
    assert review(world, blind) == 2
    assert "not empty" in capsys.readouterr().err
    assert sorted(blind.rglob("*")) == before


def test_a_label_that_is_not_this_stores_is_refused(world: World, private: Path, capsys: Captured) -> None:
    base = world.tasks.parent
    text = (base / "cohort.csv").read_text().replace(",yes,repeated,", ",no,repeated,")
    assert text != (base / "cohort.csv").read_text()
    (private / "cohort.csv").write_text(text)
    options = ["--cohort", str(private / "cohort.csv"), "--key-file", str(base / "key")]
    out = private / "packet"
    assert run(["review", "--store", str(world.store.path), *options, "--out", str(out)]) == 2
    assert "this store's chart yes" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "either a packet to write or one to read"),
        (["--out", "x", "--import", "y"], "either a packet to write or one to read"),
        (["--out", "x"], "from a store and a cohort"),
        (["--import", "x", "--blind"], "takes no other option"),
        (["--import", "x"], "x is no review packet"),
    ],
)
def test_options_that_do_not_fit_are_one_line_and_a_hint(
    options: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLINICARE_STORE", raising=False)
    assert run(["review", *options]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert said in error
    assert hint.startswith("hint: ")


def test_the_sample_takes_one_of_each_verdict_in_turn(world: World) -> None:
    rows = list(world.rows.values())
    four = sample_cases(rows, 4)
    assert [row.gold for row in four if row.scenario == POTASSIUM] == list(VERDICTS)
    assert sample_cases(rows[::-1], 4) == four
    assert {row.subject_id for row in four} < {row.subject_id for row in sample_cases(rows, 8)}


def test_an_order_is_the_readers_own() -> None:
    tasks = [f"task-{n}" for n in range(20)]
    assert order_for("A", tasks) == order_for("A", tasks[::-1]) != order_for("B", tasks)


# --- answers ------------------------------------------------------------------------------------------

Say = Callable[[str, Mapping[str, str]], None]


@pytest.fixture
def say(blind: Path) -> Say:
    """Fill in a reader's form: verdicts by case, the label's for all others."""

    def said(reader: str, verdicts: Mapping[str, str]) -> None:
        file = blind / f"reader-{reader}" / "answers.csv"
        with file.open(newline="") as old:
            rows = list(csv.DictReader(old))
        for row in rows:
            row["verdict"] = verdicts.get(row["case"], key_of(blind)[row["case"]]["label"])
            row["comment"] = "=see, the note" if row["case"] in verdicts else ""
        with file.open("w", newline="") as new:
            writer = csv.DictWriter(new, rows[0])
            writer.writeheader()
            writer.writerows(rows)

    return said


def case_of(packet: Path, scenario: str, label: str) -> str:
    return next(
        task for task, one in key_of(packet).items() if (one["scenario"], one["label"]) == (scenario, label)
    )


def test_agreement_disagreements_and_disputed_cases_come_back(
    blind: Path, say: Say, capsys: Captured
) -> None:
    odd, silent = case_of(blind, LACTATE, "yes"), case_of(blind, POTASSIUM, "no")
    say("A", {odd: "no"})
    say("B", {silent: ""})
    capsys.readouterr()
    assert run(["review", "--import", str(blind)]) == 0
    printed = capsys.readouterr()
    cells = {tuple(line.split("\t")[:2]): line.split("\t")[2] for line in printed.out.splitlines()}
    number = sum(one["scenario"] == LACTATE for one in key_of(blind).values())
    assert cells[LACTATE, "A and label"].startswith(f"{number - 1} of {number} agree, kappa 0.")
    assert cells[LACTATE, "B and label"] == f"{number} of {number} agree, kappa 1.00"
    assert cells[LACTATE, "A and B"].startswith(f"{number - 1} of {number} agree")
    assert cells[POTASSIUM, "A and B"] == "3 of 3 agree, kappa 1.00"
    assert cells["all", "A and label"].startswith(f"{len(key_of(blind)) - 1} of {len(key_of(blind))} agree")
    assert f"disputed\t{odd}\tlabel yes\tA no, B yes" in printed.out
    assert "reader B gave no verdict on 1 case\n" in printed.err
    assert "clinician_reviewed = false" in printed.err
    with (blind / "disputed.csv").open(newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["task"], row["verdict_A"], row["comment_A"], row["verdict_B"]) == (
        odd,
        "no",
        "=see, the note",
        "yes",
    )
    assert not (blind / "signoff").exists()


TODAY = datetime.now(UTC).date().isoformat()


def sign(packet: Path, reader: str, **changes: str) -> Path:
    file = packet / f"reader-{reader}" / "signature.toml"
    text = file.read_text()
    for name, value in ({"name": "Ada Lovelace", "role": "nephrologist", "date": TODAY} | changes).items():
        text = text.replace(f'{name} = ""', f'{name} = "{value}"')
    file.write_text(text.replace(f'"{POTASSIUM}" = false', f'"{POTASSIUM}" = true'))
    return file


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small hospital has four cases of a scenario, one a class."""
    monkeypatch.setattr(signoffs, "LEAST_CASES", 4)


def settle(packet: Path, reader: str, case: str) -> None:
    with (packet / f"reader-{reader}" / "signature.toml").open("a") as file:
        file.write(f'"{case}" = "The note says so."\n')


@pytest.mark.usefixtures("small")
def test_a_sign_off_says_name_date_version_data_and_agreement(
    world: World, blind: Path, say: Say, capsys: Captured
) -> None:
    odd = case_of(blind, POTASSIUM, "no")
    say("A", {odd: "yes"})
    say("B", {})
    sign(blind, "A")
    settle(blind, "A", odd)
    sign(blind, "B", name="Grace Hopper")
    assert run(["review", "--import", str(blind)]) == 0
    printed = capsys.readouterr().err
    assert "signed on charts of a credentialed release" in printed
    assert "put it into effect" in printed
    signoff = read_signoff(blind / "signoff" / f"{POTASSIUM}.toml")
    assert signoff is not None
    [scenario] = [each for each in world.scenarios if each.id == POTASSIUM]
    assert (signoff.scenario, signoff.version) == (POTASSIUM, scenario.version)
    [review] = signoff.review
    assert (review.store, review.classification) == (world.store.manifest.fingerprint, "credentialed")
    assert review.cases == dict.fromkeys(VERDICTS, 1)
    assert [(r.name, r.date.isoformat(), r.agreed, r.settled) for r in review.reviewer] == [
        ("Ada Lovelace", TODAY, 3, (odd,)),
        ("Grace Hopper", TODAY, 4, ()),
    ]
    assert not (blind / "signoff" / f"{LACTATE}.toml").exists()


REFUSED = {
    "a packet too small": ({}, False, "held 4 cases, and a sign-off needs 8"),
    "one name twice": ({"name": " ada  LOVELACE"}, True, "two different readers"),
    "a date to come": ({"date": "2999-01-01"}, True, "lies in the future"),
    "a date long before": ({"date": "2020-01-01"}, True, "before its packet"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_sign_off_that_would_not_count_is_refused(
    fault: str, blind: Path, say: Say, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    changes, enough, said = REFUSED[fault]
    if enough:
        monkeypatch.setattr(signoffs, "LEAST_CASES", 4)
    say("A", {})
    say("B", {})
    sign(blind, "A")
    sign(blind, "B", **({"name": "Grace Hopper"} | changes))
    assert run(["review", "--import", str(blind)]) == 2
    printed = capsys.readouterr().err
    assert f"not signed: {blind / 'reader-A' / 'signature.toml'}: signed.{POTASSIUM}: " in printed
    assert said in printed
    assert (blind / "disputed.csv").exists()
    assert not (blind / "signoff").exists()


@pytest.mark.usefixtures("small")
def test_open_differences_are_listed_and_nothing_is_signed(blind: Path, say: Say, capsys: Captured) -> None:
    odd = case_of(blind, POTASSIUM, "no")
    for reader, name in (("A", "Ada Lovelace"), ("B", "Grace Hopper")):
        say(reader, {odd: "yes"})
        sign(blind, reader, name=name)
    settle(blind, "B", odd)
    assert run(["review", "--import", str(blind)]) == 2
    assert f"a reader and the label differ on A {odd};" in capsys.readouterr().err
    assert not (blind / "signoff").exists()


@pytest.mark.usefixtures("small")
def test_the_review_of_another_packet_is_kept_and_its_own_replaced(
    world: World, blind: Path, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    scenarios = tmp_path / "scenarios"
    shutil.copytree(data_folder("scenarios") / "determination", scenarios)
    monkeypatch.setattr("harness.scenario.load_scenarios", lambda: load_all(scenarios))
    for reader, name in (("A", "Ada Lovelace"), ("B", "Grace Hopper")):
        say(reader, {})
        sign(blind, reader, name=name)
    effect = scenarios / POTASSIUM / "signoff.toml"
    written = blind / "signoff" / f"{POTASSIUM}.toml"
    assert run(["review", "--import", str(blind)]) == 0
    first = read_signoff(written)
    assert first is not None
    other = first.review[0].model_copy(update={"packet": "sha256:" + "9" * 64})
    write_signoff(first.model_copy(update={"review": (other, *first.review)}), effect)
    capsys.readouterr()
    assert run(["review", "--import", str(blind)]) == 0
    assert "with 1 earlier review:" in capsys.readouterr().err
    again = read_signoff(written)
    assert again is not None
    assert again.review == (other, *first.review)


@pytest.mark.parametrize("charts", ["synthetic", "open"])
def test_tasks_of_patients_are_signed_by_charts_of_patients_only(
    charts: str, world: World, tmp_path: Path
) -> None:
    signer = signoffs.Signer("Ada Lovelace (nephrologist, 2026-05-20)", charts)
    known = {"clinician_reviewed": True, "reviewers": (str(signer),), "signers": (signer,)}
    signed = [scenario.model_copy(update=known) for scenario in world.scenarios]
    assert world.store.manifest.classification == "credentialed"
    built = build_tasks(world.store, [world.rows["lactate yes"]], signed, tmp_path / "tasks", key=KEY)
    task = tmp_path / "tasks" / built.tasks[0]
    counts = charts == "open"
    assert f"clinician_reviewed = {str(counts).lower()}" in (task / "task.toml").read_text()
    gold = json.loads((task / "tests" / "gold.json").read_text())
    assert gold["label"] == ("clinician-signed" if counts else "rule-derived")


def test_a_packet_that_shows_its_labels_cannot_be_signed(shown: Path) -> None:
    assert not list(shown.rglob("signature.toml"))
    assert "Nobody can sign here" in (shown / "reader-A" / "README.md").read_text()


def test_a_scenario_that_changed_since_it_was_read_cannot_be_signed(
    blind: Path, say: Say, capsys: Captured
) -> None:
    say("A", {})
    sign(blind, "A")
    file = blind / KEY_FILE
    key = json.loads(file.read_text())
    key["scenarios"][POTASSIUM]["content"] = "sha256:" + "0" * 64
    file.write_text(json.dumps(key))
    assert run(["review", "--import", str(blind)]) == 2
    printed = capsys.readouterr().err
    assert "has changed since it was read" in printed
    assert "make a packet of it again" in printed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"made": "yesterday"}, "made: 'yesterday' is not a date such as 2026-05-01"),
        ({"blind": "perhaps"}, "blind: 'perhaps' is not true or false"),
        ({"colour": "red"}, "colour: unknown key"),
        (None, "it is not JSON"),
    ],
)
def test_a_damaged_key_is_told_in_words(
    blind: Path, capsys: Captured, change: dict[str, str] | None, told: str
) -> None:
    file = blind / KEY_FILE
    file.write_text("{" if change is None else json.dumps(json.loads(file.read_text()) | change))
    assert run(["review", "--import", str(blind)]) == 2
    assert f"{KEY_FILE}: {told}\nhint: name the folder that" in capsys.readouterr().err


def test_a_packet_moved_where_others_can_open_it_is_refused(blind: Path, say: Say, capsys: Captured) -> None:
    say("A", {})
    blind.chmod(0o755)
    assert run(["review", "--import", str(blind)]) == 2
    assert "chmod 700" in capsys.readouterr().err


BAD_ANSWERS = {
    "an unknown verdict": (lambda text: text.replace(",yes,", ",perhaps,", 1), "verdict is 'perhaps'"),
    "an unknown case": (
        lambda text: text.replace("05-lactate-remeasurement-six-hours-", "06-", 1),
        "is no case of",
    ),
    "a case twice": (lambda text: text + text.splitlines()[1] + "\n", "stands in line 2 already"),
    "no column": (lambda text: text.replace("verdict", "answer", 1), "no column verdict"),
    "an open quote": (lambda text: text + '1,x,"y', "unexpected end of data"),
    "no answer": (lambda text: text.splitlines()[0] + "\n", "no reader has answered"),
}


@pytest.mark.parametrize("fault", BAD_ANSWERS)
def test_a_bad_form_is_one_line_with_file_place_and_remedy(
    fault: str, blind: Path, say: Say, capsys: Captured
) -> None:
    change, said = BAD_ANSWERS[fault]
    say("A", {})
    file = blind / "reader-A" / "answers.csv"
    file.write_text(change(file.read_text()))
    capsys.readouterr()
    assert run(["review", "--import", str(blind)]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert said in error
    assert str(blind) in error
    assert hint.startswith("hint: ")
    assert not (blind / "disputed.csv").exists()


BAD_SIGNATURES = {
    "no name": ({"name": ""}, None, "name is empty"),
    "a date in words": ({"date": "May"}, None, "date is 'May'"),
    "no TOML": ({}, ("name = ", "name "), "signature.toml: "),
    "neither true nor false": ({}, ("= true", '= "yes"'), "is 'yes'"),
    "another scenario": ({}, (POTASSIUM, "99-other"), "no scenario of this packet"),
    "settled without a reason": ({}, ("[settled]", '[settled]\n"CASE" = ""'), "has no reason"),
    "another case settled": ({}, ("[settled]", '[settled]\n"05-x" = "so"'), "no case of this packet"),
}


@pytest.mark.parametrize("fault", BAD_SIGNATURES)
def test_a_bad_signature_is_one_line_with_file_place_and_remedy(
    fault: str, blind: Path, say: Say, capsys: Captured
) -> None:
    given, change, said = BAD_SIGNATURES[fault]
    say("A", {})
    file = sign(blind, "A", **given)
    if change:
        old, new = change
        file.write_text(file.read_text().replace(old, new.replace("CASE", case_of(blind, POTASSIUM, "no"))))
    capsys.readouterr()
    assert run(["review", "--import", str(blind)]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert str(file) in error
    assert said in error
    assert hint.startswith("hint: ")


def test_a_scenario_with_unread_cases_cannot_be_signed(blind: Path, say: Say, capsys: Captured) -> None:
    say("A", {case_of(blind, POTASSIUM, "no"): ""})
    sign(blind, "A")
    assert run(["review", "--import", str(blind)]) == 2
    assert "1 of its 4 cases has no verdict" in capsys.readouterr().err


def test_a_form_that_went_through_a_spreadsheet_is_read_the_same(
    blind: Path, say: Say, capsys: Captured
) -> None:
    say("A", {})
    file = blind / "reader-A" / "answers.csv"
    text = file.read_text().replace(",", ";").replace(";yes;", ";Yes;").replace("\n", "\r\n")
    text = text.replace(";lack_of_data;", ";Indeterminate – lack of data;")
    file.write_text(text, encoding="utf-8-sig", newline="")
    capsys.readouterr()
    assert run(["review", "--import", str(blind)]) == 0
    number = len(key_of(blind))
    assert f"all\tA and label\t{number} of {number} agree, kappa 1.00" in capsys.readouterr().out
