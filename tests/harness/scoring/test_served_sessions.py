"""What a chart server serves is what the score holds citations against: real sessions, and forgeries of them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.scoring.score import UnsealedError, score_trial
from mcp_mimic.cli import run as mcp_mimic
from mcp_mimic.contract import EID_KINDS, text_term
from tests.harness.scoring.casebook import MISSING, handed_in
from tests.harness.scoring.sessions import EVERYTHING, HOUSE, Served, World, make_world, serve
from tests.hospital import BEN

Cite = Callable[..., dict[str, Any]]
SUMMARY = ("read_note", {"note": "note:DS-4", "section": "Brief Hospital Course"})
POTASSIUM = ("get_labs", {"items": [50971]})
SECTION = f"policy:{HOUSE}#2"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = make_world(tmp_path_factory.mktemp("world"))
    yield made
    for chart in made.charts.values():
        chart.close()


@pytest.fixture(scope="module")
def everything(world: World, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A session that called every tool, and read every table."""
    return serve(world, tmp_path_factory.mktemp("everything"), EVERYTHING)


@pytest.fixture
def cite(world: World, tmp_path: Path) -> Cite:
    """The score of a right verdict that cites ids after the calls were made, in a session of its own."""

    def made(*ids: str, calls: Any = (), gold: Any = None) -> dict[str, Any]:
        return _scored(world, serve(world, tmp_path, calls), *ids, gold=gold)

    return made


def _scored(world: World, session: Served, *ids: str, gold: Any = None) -> dict[str, Any]:
    report = handed_in(f"## Answer: YES\n\n[{', '.join(ids)}]")
    return score_trial(world.gold | (gold or {}), report, MISSING, session.lines)


def _rest_on(*alternatives: list[str]) -> dict[str, Any]:
    need = {"id": "it", "kind": "rows", "alternatives": list(alternatives), "relevant": [], "search": []}
    return {"requirements": [need]}


def test_the_tools_serve_ids_of_every_kind(everything: Served) -> None:
    assert {eid.partition(":")[0] for eid in everything.shown()} == set(EID_KINDS)
    assert all("error" not in answer for answer in everything.answers)


def test_every_id_that_is_shown_resolves_and_is_served(world: World, everything: Served) -> None:
    """One report each, since twelve count."""
    for eid in sorted(everything.shown()):
        score = _scored(world, everything, eid)
        held = score["citations"]
        if eid.startswith("policy:"):
            assert (score["policy_citations"], held["counted"]) == ([eid], 0), eid
        else:
            assert (held["resolvable"], held["served"]) == (1, 1), eid


@pytest.mark.parametrize(
    "altered",
    [
        str.upper,
        str.title,
        lambda eid: eid.replace(":", ":0", 1),
        lambda eid: eid + "0",
        lambda eid: eid + "-",
        lambda eid: eid + "#x",
        lambda eid: eid + ".p9",
        lambda eid: eid.replace(":", "\u2236"),
        lambda eid: eid.replace(":", ": "),
        lambda eid: eid[:-1] + "\u200b" + eid[-1],
        lambda eid: f"{eid}#{eid}",
    ],
)
def test_an_id_that_is_nearly_right_holds_nothing(
    world: World, everything: Served, altered: Callable[[str], str]
) -> None:
    shown = everything.shown()
    for eid in sorted(shown):
        if (wrong := altered(eid)) in shown:
            continue
        score = _scored(world, everything, wrong)
        assert (score["citations"]["served"], score["citations"]["relevant"]) == (0, 0), wrong
        assert (score["policy_citations"], score["policy_support"]) == ([], 0), wrong


def test_an_id_of_the_chart_that_was_not_shown_is_there_and_supports_nothing(cite: Cite) -> None:
    score = cite("lab:3", "note:DS-4", "ecg:43000001", "echo:m1", calls=[("get_labs", {"items": [50912]})])
    assert score["citations"] == {"cited": 4, "counted": 4, "resolvable": 4, "served": 0, "relevant": 0}
    assert score["evidence_recall"] == 0


def test_a_passage_or_a_section_that_was_not_shown_holds_nothing(cite: Cite) -> None:
    score = cite("note:DS-4#2", SECTION, calls=[POTASSIUM, ("list_notes", {}), ("search_policies", {})])
    assert score["citations"] == {"cited": 2, "counted": 2, "resolvable": 0, "served": 0, "relevant": 0}
    assert (score["policy_citations"], score["policy_support"]) == ([], 0)


def test_ids_of_another_patient_hold_nothing(world: World, everything: Served, tmp_path: Path) -> None:
    calls = [call for call in EVERYTHING if call[0] != "read_note"]
    others = serve(world, tmp_path, [*calls, ("read_note", {"note": "note:DS-9"})], subject=BEN).shown()
    foreign = sorted(eid for eid in others - everything.shown() if not eid.startswith("search:"))
    assert {"lab:5", "adm:20000002", "note:DS-9", "note:DS-9#1"} <= set(foreign)
    for eid in foreign:
        score = _scored(world, everything, eid)
        assert (score["citations"]["resolvable"], score["citations"]["served"]) == (0, 0), eid


def test_an_id_of_a_refused_or_mistaken_call_is_not_shown(cite: Cite) -> None:
    score = cite(
        "note:DS-9#1", "policy:other#1", "search:1", "search:2",
        calls=[("read_note", {"note": "note:DS-9#1"}), ("read_policy", {"document": "other"})],
    )  # fmt: skip
    assert score["citations"]["served"] == 0
    assert (score["calls"]["errors"], score["calls"]["refusals"]) == (1, 1)


def test_a_cited_passage_cites_the_note_that_a_requirement_names(cite: Cite) -> None:
    score = cite("note:DS-4#2", "lab:3", calls=[SUMMARY, POTASSIUM])
    assert (score["supported"], score["citation_precision"]) == (1, 1)


def test_the_note_itself_may_be_cited_once_a_passage_of_it_was_served(cite: Cite) -> None:
    score = cite("note:DS-4", "lab:3", calls=[("search_notes", {"query": "lvef"}), POTASSIUM])
    assert (score["supported"], score["citation_precision"]) == (1, 1)


def test_a_passage_of_another_note_cites_nothing(cite: Cite) -> None:
    score = cite("note:RR-5#1", "lab:3", calls=[("read_note", {"note": "note:RR-5"}), POTASSIUM])
    assert (score["supported"], score["citations"]["served"], score["citations"]["relevant"]) == (0, 2, 1)


@pytest.mark.parametrize(
    ("cited", "held"), [("note:DS-4#2", 1), ("note:DS-4", 0), ("note:DS-4#1", 0), ("note:DS-4#3", 0)]
)
def test_a_requirement_that_names_a_passage_is_satisfied_by_that_one_only(
    cite: Cite, cited: str, held: int
) -> None:
    score = cite(cited, calls=[("read_note", {"note": "note:DS-4"})], gold=_rest_on(["note:DS-4#2"]))
    assert (score["supported"], score["citation_precision"], score["retrieval_recall"]) == (held, held, 1)


def test_a_served_section_supports_the_policy_and_is_no_evidence(cite: Cite) -> None:
    calls = [POTASSIUM, SUMMARY, ("read_policy", {"document": SECTION})]
    score = cite("lab:3", SECTION, "note:DS-4#2", f"{SECTION}.p2", calls=calls)
    assert (score["supported"], score["citation_precision"]) == (1, 1)
    assert score["citations"] == {"cited": 4, "counted": 2, "resolvable": 2, "served": 2, "relevant": 2}
    assert score["policy_citations"] == [SECTION, f"{SECTION}.p2"]
    assert score["policy_support"] == 1
    assert score["policies"] == [
        {"id": "limit", "document": HOUSE, "weight": 3, "retrieved": True, "cited": True}
    ]


def test_a_section_that_was_read_and_not_cited_supports_nothing(cite: Cite) -> None:
    score = cite("lab:3", calls=[("search_policies", {"query": "potassium"})])
    assert score["policy_support"] == 0
    assert score["policies"][0]["retrieved"] is True
    assert score["policies"][0]["cited"] is False


def test_sections_take_their_places_among_the_twelve(cite: Cite) -> None:
    before = [f"lab:{number}" for number in range(100, 111)]
    score = cite(*before, SECTION, "lab:3", calls=[POTASSIUM, ("read_policy", {"document": HOUSE})])
    assert (score["citations"]["counted"], score["policy_support"]) == (11, 1)
    assert score["citations"]["relevant"] == 0


@pytest.mark.parametrize(
    ("wanted", "query", "kind", "covered"),
    [
        (" amiodarone ", "amiodarone", "discharge", True),
        (" amiodarone ", "amiod*", "discharge", True),
        (" amiodarone ", "amiodarone", "radiology", False),
        (" amiodarone ", "amiodarone.200", "discharge", False),
        (" amiodarone ", "digoxin", "discharge", False),
        (" atrial fibrillation ", '"atrial fibrillation"', "discharge", True),
        (" atrial fibrillation ", "fibrillation", "discharge", True),
    ],
)
def test_a_search_of_text_shows_what_it_did_not_find(
    cite: Cite, world: World, wanted: str, query: str, kind: str, covered: bool
) -> None:
    end = world.grant.as_of.isoformat()
    need = {
        "id": "unsaid",
        "kind": "absence",
        "search": [{"source": "note.discharge.text", "names": [wanted], "from": None, "to": end}],
    }
    searched = ("search_notes", {"query": query, "kind": kind})
    score = cite("search:1", calls=[searched], gold={"requirements": [need]})
    assert (score["supported"], score["citation_precision"]) == (covered, covered)


@pytest.mark.parametrize("part", ["potassium", text_term("p")])
def test_a_search_for_a_digest_shows_nothing_of_a_table(cite: Cite, world: World, part: str) -> None:
    wanted = {"source": "hosp.labevents", "items": [50971], "labels": ["potassium"]}
    window = {"from": None, "to": world.grant.as_of.isoformat()}
    need = {"id": "no_potassium", "kind": "absence", "search": [wanted | window]}
    score = cite("search:1", calls=[("get_labs", {"items": [part]})], gold={"requirements": [need]})
    covered = part == "potassium"
    assert (score["supported"], score["citation_precision"]) == (covered, covered)


def test_the_audit_of_a_text_search_verifies(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = serve(world, tmp_path, [("search_notes", {"query": '"brief hospital" lvef'}), SUMMARY])
    [found, read] = session.logged()
    assert found["coverage"]["source"] == "note.discharge.text"
    assert set(found["coverage"]["names"]) == {text_term(" brief hospital "), text_term(" lvef ")}
    assert (found["eids"], read["eids"]) == (["note:DS-4#2"], ["note:DS-4#2"])
    assert "lvef" not in session.audit.read_text().lower()
    assert mcp_mimic(["audit", "verify", str(session.audit), "--sealed", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 2


def test_an_id_written_into_an_audit_breaks_its_chain(world: World, everything: Served) -> None:
    forged = [line.replace('"lab:3"', '"lab:3","lab:77"') for line in everything.lines]
    with pytest.raises(UnsealedError, match="breaks the hash chain"):
        score_trial(world.gold, handed_in("## Answer: YES [lab:77]"), MISSING, forged)
