"""The pages say what the code does: every number is explained, every command exists, every link leads somewhere."""

import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from pydantic import BaseModel

import harness.cli
import mcp_mimic.commands.app
from harness.cohort_file import COLUMNS
from harness.corpus.lock import Format
from harness.corpus.status import STATES
from harness.grade import JobScores
from harness.probes import AXES
from harness.reference import harness_page
from harness.report.folder import trials_csv
from harness.report.sheets import terminal_sheets
from harness.rubric import PolicyItem, RubricItem
from harness.scenario import Evidence, Reading, Reference, ScenarioFile, Search
from harness.scoring.score import REWARD_MODES
from harness.stats.record import TrialScore
from harness.synthetic.events import Event, Suppression
from harness.synthetic.plant_parts import (
    Diagnosis,
    Earlier,
    Presence,
    Profile,
    Radiology,
    StayBounds,
    Summary,
)
from harness.synthetic.plants import Plant
from harness.systems import load_systems
from mcp_mimic.contract import VERDICTS
from tests.harness.scoring.casebook import gold, requirement, score, searched
from tests.harness.stats.trials import constant, trial

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PLACES = ("docs", "corpus", "docker", "harness", "judges", "mcp_mimic", "scenarios", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(page for place in PLACES for page in (ROOT / place).rglob("*.md"))])
APPS = {"harness": harness.cli.app, "mcp-mimic": mcp_mimic.commands.app.app}

_FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_CALL = re.compile(r"(?<![\w/.-])(harness|mcp-mimic) ([a-z]+)\b([^|#]*)")
_OPTION = re.compile(r"(?<!\S)(-[a-z]|--[a-z][a-z-]*)\b")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE_FILE = re.compile(
    r"\b(?:harness|mcp_mimic|tests/(?:harness|mcp_mimic|scenarios))/[\w/-]+\.(?:py|toml)\b"
)
_NAMED_BY_DATA = ("systems", "scenarios", "causes")
"""Keys of scores.json below which tags, ids and causes are the keys."""


def _page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def _keys(value: Any, *, named: bool = True) -> Iterator[str]:
    """Every key of a JSON value that is not a name from the data."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if named:
                yield key
            is_data = key in _NAMED_BY_DATA and isinstance(inner, Mapping)
            yield from _keys(inner, named=not is_data)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _keys(inner)


@pytest.fixture(scope="module")
def summary() -> Mapping[str, Any]:
    trials: list[TrialScore] = [
        *constant("a-model", "yes"),
        *constant("b-model", None),
        *constant("oracle", "gold"),
        trial("x", "a-model", dead="boom"),
        trial("z", "a-model", status="agent_error", cause="ToolError: no"),
    ]
    job = JobScores(
        job="first",
        classification="synthetic",
        release="3.1",
        gold_digest="sha256:0",
        gold_changed=0,
        trials=tuple(trials),
        missing=(("y", "a-model"),),
        systems={"oracle": {"instrument": True, "about": "all of it"}},
    )
    return job.summary


_PLACE = re.compile(
    r"(?:--(?:audit|cohort|from|grants?|import|jobs-dir|key-file|mcp-config|out|plants|report|store|tasks|without)"
    r"|mcp-mimic import|mkdir(?: -m \d+)?|harness grade|--corpus(?= corpus-)) ([a-z.][\w./-]*)"
)
"""What a command writes to, or reads of patients, named relative to the working folder."""


def test_nothing_that_the_documents_commands_write_is_ever_committed() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    pages = [page for page in PAGES if page.parent in (ROOT, DOCS, DOCS / "reference")]
    places = {place for page in pages for place in _PLACE.findall(page.read_text(encoding="utf-8"))}
    assert {"hospital", "mine-report", "planted.json", "grants", "review/packet"} <= places
    files = {
        place if re.search(r"\.[a-z]+$", place) else f"{place.rstrip('/')}/file": place for place in places
    }
    given = "\n".join([*files, "tasks.py", "README.md", "corpus/manifest.toml", "mcp_mimic/cli.py"])
    command = ["git", "-C", str(ROOT), "check-ignore", "--no-index", "--stdin"]
    ignored = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout.split()
    assert set(ignored) == set(files)


def test_the_page_of_commands_has_the_variables_and_the_defaults_of_the_help() -> None:
    page = harness_page()
    assert "made. Required, or `CLINICARE_STORE` of the environment. |" in page
    assert "made. Or `CLINICARE_STORE` of the environment. By default store. |" in page
    assert "Or `CLINICARE_CORPUS` of the environment. By default the house policies. |" in page


def test_no_command_of_the_readme_writes_where_another_one_did() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    calls = [line.split(" #")[0] for line in text.splitlines() if re.match(r"(\$ )?uv run ", line)]
    written = [place for call in calls for place in re.findall(r"--out (\S+)", call)]
    written += [place for call in calls for place in re.findall(r"mcp-mimic import .*--store (\S+)", call)]
    written += [
        f"jobs/{name}" for call in calls for name in re.findall(r"harness run .*--job-name (\S+)", call)
    ]
    assert len(written) > 8
    assert sorted(set(written)) == sorted(written)
    assert not [one for one in written for other in written if Path(other) in Path(one).parents]


def test_every_key_of_the_scores_is_explained(summary: Mapping[str, Any]) -> None:
    explained = set(_SPAN.findall(_page("reading-the-scores.md")))
    assert set(_keys(summary)) - explained == set()


def test_every_key_of_a_trials_score_is_explained() -> None:
    page = _page("reading-the-scores.md")
    explained = set(_SPAN.findall(page[page.index("## score.json of a trial") : page.index("## trials.csv")]))
    item = {"id": "timing", "document": "house", "weight": 2}
    given = gold("yes", requirement("index", "rows", [["lab:1"]]), policies=[item])
    found = score(given, "## Answer: YES\n[lab:1]", searched("hosp.labevents", "lab:1"))
    assert found["requirements"]
    assert found["policies"]
    assert set(_keys(found)) - explained == set()
    assert set(REWARD_MODES) - explained == set()


def test_every_column_of_a_cohort_file_is_explained() -> None:
    assert set(COLUMNS) - set(_SPAN.findall(_page("reviewing.md"))) == set()


def test_every_column_of_the_trials_file_is_explained() -> None:
    explained = set(_SPAN.findall(_page("reading-the-scores.md")))
    assert set(trials_csv([]).strip().split(",")) - explained == set()


def test_every_table_and_column_of_the_terminal_is_explained(summary: Mapping[str, Any]) -> None:
    page = _page("reading-the-scores.md")
    named = set(re.findall(r"^\| ([^|`]+?)(?: \(\w+\))? \|", page, re.MULTILINE))
    named |= set(re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", page))
    sheets = terminal_sheets(summary)
    assert {sheet.title for sheet in sheets if sheet.title not in page} == set()
    assert {column for sheet in sheets for column in sheet.columns} - named == set()
    assert set(AXES) - named == set()


@pytest.mark.parametrize(
    "model",
    [
        ScenarioFile,
        Evidence,
        Search,
        Reading,
        Reference,
        RubricItem,
        PolicyItem,
        Plant,
        Profile,
        StayBounds,
        Presence,
        Suppression,
        Event,
        Diagnosis,
        Earlier,
        Summary,
        Radiology,
    ],
    ids=lambda model: model.__name__,
)
def test_every_key_of_a_scenarios_files_is_in_the_page_on_scenarios(model: type[BaseModel]) -> None:
    words = set(re.findall(r"\w+", _page("adding-a-scenario.md")))
    keys = {field.alias or name for name, field in model.model_fields.items()}
    assert keys - words == set()


def test_the_agent_and_the_systems_file_of_the_page_are_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = dict(re.findall(r"^```(python|toml)\n(.*?)^```$", _page("own-systems.md"), re.M | re.S))
    [declared] = tomllib.loads(blocks["toml"])["system"]
    (tmp_path / "systems.toml").write_text(blocks["toml"], encoding="utf-8")
    (tmp_path / f"{declared['agent'].split(':')[0]}.py").write_text(blocks["python"], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    system = load_systems(tmp_path / "systems.toml")[declared["tag"]]
    assert not system.instrument
    system.create()


def _code_lines(page: Path) -> Iterator[str]:
    """Lines of fenced blocks, continuations joined, and code spans."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCED.findall(text):
        yield from block.replace("\\\n", " ").splitlines()
    yield from _SPAN.findall(_FENCED.sub("", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_and_option_that_a_page_names_exists(page: Path) -> None:
    unknown = []
    for line in _code_lines(page):
        for call in _CALL.finditer(line):
            program, name, rest = call.groups()
            command = typer.main.get_command(APPS[program]).commands.get(name)  # type: ignore[attr-defined]
            if command is None:
                unknown.append(call[0])
                continue
            inner = getattr(command, "commands", {})
            command = next((inner[word] for word in rest.split()[:1] if word in inner), command)
            # behind another program, such as an inspector, options may be that program's
            own = line[: call.start()].strip() in ("", "$", "uv run", "$ uv run")
            own = own and not command.context_settings.get("ignore_unknown_options")
            known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
            known.add("--help")
            unknown += [
                f"{program} {name} {option}"
                for option in _OPTION.findall(rest)
                if own and option not in known
            ]
    assert unknown == []


@pytest.mark.parametrize("name", ["policy-corpus.md", "reviewing.md"])
def test_the_commands_of_a_page_are_written_as_a_checkout_runs_them(name: str) -> None:
    calls = [
        line for block in _FENCED.findall(_page(name)) for line in block.splitlines() if _CALL.search(line)
    ]
    assert calls
    assert [line for line in calls if not line.startswith("uv run ")] == []


def test_the_words_for_verdicts_stand_where_a_cohort_of_somebody_else_is_explained() -> None:
    assert set(VERDICTS) <= set(_SPAN.findall(_page("reviewing.md")))


def test_every_state_and_format_of_documents_is_in_the_page_on_them() -> None:
    page = _page("policy-corpus.md")
    assert set(STATES) == set(re.findall(r"^\| ([a-z ]+) \|", page, re.MULTILINE)) - {"state"}
    assert set(get_args(Format)) <= set(_SPAN.findall(page))


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    text = _SPAN.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))
    broken = []
    for link in _LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_every_file_of_the_code_that_a_page_names_exists(page: Path) -> None:
    named = set(_CODE_FILE.findall(page.read_text(encoding="utf-8")))
    assert {name for name in named if not (ROOT / name).exists()} == set()
