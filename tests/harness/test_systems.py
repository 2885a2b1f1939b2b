"""What may be run, and what is said when it may not."""

import sys
from pathlib import Path

import pytest

from harness.errors import UnknownSystemError
from harness.place import Place
from harness.systems import HarborAgent, System, choose_systems, load_systems

BUILT_IN = (
    "oracle",
    "always-yes",
    "always-defer",
    "right-without-evidence",
    "invented-citations",
    "unread-citations",
    "two-answers",
    "chart-dump",
    "blanket-search",
)

CLASSES = """
class Answers:
    async def answer(self, task, client): ...

class WantsAKey(Answers):
    def __init__(self, key): ...

class Raises(Answers):
    def __init__(self):
        raise ValueError("no key")

class Leaves(Answers):
    def __init__(self):
        raise SystemExit("no key")

class NotAsync:
    def answer(self, task, client): ...
"""
OWN = """
[[system]]
tag = "mine"
agent = "harness.agents.constant:AlwaysYes"
about = "answers YES"
"""


@pytest.fixture(autouse=True)
def _own_module_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a systems file adds to the places of modules lasts for one test."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_the_built_in_systems_are_all_instruments_and_can_all_be_created() -> None:
    systems = load_systems()
    assert tuple(systems) == BUILT_IN
    for system in systems.values():
        assert system.instrument
        assert system.create() is not None


def test_systems_come_in_the_order_that_they_are_named_and_once_each() -> None:
    chosen = choose_systems(["always-yes", "oracle", "always-yes"])
    assert [system.tag for system in chosen] == ["always-yes", "oracle"]


def test_an_unknown_tag_names_what_was_probably_meant_and_what_there_is() -> None:
    with pytest.raises(UnknownSystemError) as caught:
        choose_systems(["oracel"])
    assert caught.value.message == "unknown system 'oracel'"
    assert caught.value.remedy.startswith("did you mean oracle?")
    assert "chart-dump" in caught.value.remedy


def test_naming_no_system_is_an_error_that_lists_them() -> None:
    with pytest.raises(UnknownSystemError) as caught:
        choose_systems([])
    assert "oracle" in caught.value.remedy


def test_a_users_file_adds_systems_that_are_contestants_unless_it_says_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(OWN)
    mine = choose_systems(["oracle", "mine"], file)[1]
    assert not mine.instrument
    assert not mine.sees_gold


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OWN + 'colour = "red"\n', "colour"),
        (OWN + "sees_gold = true\n", "only an instrument may see the gold"),
        (OWN.replace('"mine"', '"oracle"'), "exists already"),
        (OWN + 'runner = "direct"\n', "system 1: unknown key runner"),
        (
            OWN.replace('agent = "harness.agents.constant:AlwaysYes"\n', ""),
            "mine: name an agent (module:class)",
        ),
        (OWN + 'harbor = "oracle"\n', "system 1: harbor = 'oracle', but harbor is a table"),
        (OWN + "harbor = { agent = 'oracle', colour = 1 }\n", "system 1: unknown key colour"),
        (OWN + "harbor = { agent = 'oracle', compose = ['a.yaml'] }\n", "there is no compose file"),
        (
            OWN + "harbor = { agent = 'oracle', compose = 'a.yaml' }\n",
            "harbor.compose = 'a.yaml', but compose is a list",
        ),
        (
            OWN + "harbor = { agent = 'oracle', environment = { A_KEY = 4711 } }\n",
            "system 1: harbor.environment.A_KEY is no text, but environment is a table of text",
        ),
        (OWN + "harbor = { agent = 'a b' }\n", "harbor.agent = 'a b', but an agent is Harbor's name of one"),
        (OWN.replace('"mine"', '"My Agent"'), "system 1: tag = 'My Agent', but a tag is lower-case letters"),
        (OWN + OWN.replace(":AlwaysYes", ""), "system 2: agent = 'harness.agents.constant', but an agent is"),
        (OWN.replace("about", "abuot"), "system 1: unknown key abuot"),
        (OWN.replace('tag = "mine"', ""), "system 1: tag is missing"),
        (OWN.replace("[[system]]", "[[systems]]"), "unknown key systems"),
        (OWN.replace("[[system]]", "[system]"), "it has no [[system]] tables"),
        ("", "it has no [[system]] tables"),
        (OWN.replace("[[system]]", "[[system"), "cannot be read"),
        ("system = [1]\n", "system 1: 1 is not a table"),
    ],
    ids=[
        "unknown key",
        "contestant with gold",
        "taken tag",
        "old key",
        "nowhere to run",
        "harbor is no table",
        "unknown key of harbor",
        "no such compose file",
        "compose is no list",
        "environment holds a number",
        "agent of harbor",
        "bad tag",
        "agent without a class",
        "misspelt key",
        "no tag",
        "misspelt table",
        "one table",
        "empty",
        "not TOML",
        "no table",
    ],
)
def test_a_users_file_with_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(text)
    with pytest.raises(UnknownSystemError) as caught:
        load_systems(file)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (OWN.replace("agent =", "agnet ="), "did you mean agent? each [[system]] has"),
        (OWN.replace("about", "abuot"), "did you mean about? each [[system]] has"),
        (OWN.replace("[[system]]", "[[systms]]"), "did you mean system? "),
        (OWN + "harbour = { agent = 'oracle' }\n", "did you mean harbor? "),
        (OWN + "harbor = { agent = 'oracle', compsoe = ['a'] }\n", "did you mean compose? harbor is a table"),
        (OWN + "netwroks = 1\n", "each [[system]] has"),
    ],
)
def test_a_misspelt_key_is_told_with_the_one_that_was_probably_meant(
    tmp_path: Path, text: str, meant: str
) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(text)
    with pytest.raises(UnknownSystemError, match="unknown key") as caught:
        load_systems(file)
    assert caught.value.remedy.startswith(meant)


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("harness.agents.nowhere:Agent", "cannot be loaded"),
        ("harness.agents.constant:Nobody", "cannot be loaded"),
        ("harness.agents.oracle:Oracle", "has no method answer"),
    ],
    ids=["no module", "no class", "an instrument without the gold"],
)
def test_an_agent_that_cannot_run_is_named_before_a_trial_starts(
    tmp_path: Path, agent: str, said: str
) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(OWN.replace("harness.agents.constant:AlwaysYes", agent))
    with pytest.raises(UnknownSystemError) as caught:
        load_systems(file)["mine"].create()
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        (
            "WantsAKey",
            "cannot be made (TypeError: ",
            "made without arguments; read settings from the environment",
        ),
        ("Raises", "cannot be made (ValueError: no key", "made without arguments"),
        ("Leaves", "cannot be made (SystemExit: no key)", "made without arguments"),
        ("NotAsync", "the method answer of fit_agents:NotAsync is no coroutine function", "async def answer"),
    ],
)
def test_a_class_that_is_not_fit_is_refused_with_the_remedy(
    tmp_path: Path, name: str, said: str, hint: str
) -> None:
    with pytest.raises(UnknownSystemError) as caught:
        _beside(tmp_path, "fit_agents", CLASSES, name).create()
    assert said in caught.value.message
    assert hint in caught.value.remedy


@pytest.mark.parametrize(
    ("module", "text", "said", "hint"),
    [
        (
            "raises_at_import",
            "raise RuntimeError('no licence')",
            "(RuntimeError: no licence)",
            "mend it; python",
        ),
        ("leaves_at_import", "raise SystemExit(3)", "(SystemExit: 3)", "fails while it is imported"),
        ("is_no_python", "class", "(SyntaxError: ", "fails while it is imported"),
        (
            "lacks_a_module",
            "import missing_name",
            "(ModuleNotFoundError: No module named 'missing_name')",
            "lacks_a_module was found, but not missing_name, which it imports: install that",
        ),
        ("lacks_a_name", "from json import no_such", "(ImportError: ", "one of its own imports fails"),
        (
            "lacks_its_class",
            "class Agnet: ...",
            "(AttributeError: ",
            "did you mean Agnet? name a class of lacks",
        ),
        (
            "lacks_any_class",
            "from json import JSONDecoder",
            "(AttributeError: ",
            "it has no class of its own",
        ),
    ],
)
def test_whatever_an_import_raises_is_said_in_words(
    tmp_path: Path, module: str, text: str, said: str, hint: str
) -> None:
    with pytest.raises(UnknownSystemError) as caught:
        _beside(tmp_path, module, text, "Agent").create()
    assert f"{module}:Agent cannot be loaded {said}" in caught.value.message
    assert hint in caught.value.remedy
    assert "importable" not in caught.value.remedy


@pytest.mark.parametrize("agent", ["nowhere:Agent", "nowhere.at_all:Agent", "harness.agents.nowhere:Agent"])
def test_a_module_that_is_not_there_is_told_apart_from_one_that_fails(tmp_path: Path, agent: str) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(OWN.replace("harness.agents.constant:AlwaysYes", agent))
    with pytest.raises(UnknownSystemError) as caught:
        load_systems(file)["mine"].create()
    assert caught.value.remedy.startswith("name an importable module:class")


def _beside(folder: Path, module: str, text: str, name: str) -> System:
    """A system whose agent is in a module beside its systems file."""
    (folder / f"{module}.py").write_text(text)
    file = folder / "systems.toml"
    file.write_text(OWN.replace("harness.agents.constant:AlwaysYes", f"{module}:{name}"))
    return load_systems(file)["mine"]


def test_a_missing_compose_file_is_told_with_where_it_is_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(OWN + "harbor = { agent = 'oracle', compose = ['a.yaml'] }\n")
    with pytest.raises(UnknownSystemError) as caught:
        load_systems(file)
    assert caught.value.remedy == "put it beside the systems file, or name it by its path from there"


def _container_system(**more: object) -> System:
    return System(tag="mine", about="mine", harbor=HarborAgent(agent="claude-code"), **more)


@pytest.mark.parametrize(
    ("system", "asked", "place"),
    [
        (System(tag="a", about="a", agent="m:A"), None, "direct"),
        (_container_system(), None, "docker"),
        (_container_system(agent="m:A"), "direct", "direct"),
        (_container_system(agent="m:A"), None, "direct"),
        (_container_system(agent="m:A"), "docker", "docker"),
    ],
)
def test_a_system_runs_where_it_was_asked_to_or_where_it_can(
    system: System, asked: Place | None, place: Place
) -> None:
    assert system.place(asked) == place


@pytest.mark.parametrize(
    ("system", "asked", "said"),
    [
        (System(tag="a", about="a", agent="m:A"), "docker", "system a cannot run in containers"),
        (_container_system(), "direct", "system mine cannot run in this process"),
    ],
)
def test_a_system_does_not_run_elsewhere_than_it_was_asked_to(
    system: System, asked: Place, said: str
) -> None:
    with pytest.raises(UnknownSystemError, match=said):
        system.place(asked)


def test_systems_that_cannot_run_where_they_were_asked_to_are_told_with_those_that_can() -> None:
    with pytest.raises(UnknownSystemError) as caught:
        choose_systems(["oracle", "always-yes", "two-answers"], environment="docker")
    assert caught.value.message == "always-yes, two-answers cannot run in containers"
    assert caught.value.remedy == "these can: oracle; without --env each system runs where it can"
    assert [system.tag for system in choose_systems(["oracle"], environment="docker")] == ["oracle"]


def test_compose_files_are_found_beside_the_systems_file_and_are_told_from_code(tmp_path: Path) -> None:
    file, overlay = tmp_path / "systems.toml", tmp_path / "model.yaml"
    file.write_text(OWN + 'harbor = { agent = "claude-code", compose = ["model.yaml"] }\n')
    overlay.write_text("services: {}\n")
    mine = load_systems(file)["mine"]
    assert mine.harbor is not None
    assert mine.harbor.compose == (overlay,)
    before = mine.services_digest("docker")
    overlay.write_text("services: {model: {}}\n")
    assert mine.services_digest("docker") != before
    assert mine.services_digest("direct") == mine.code_digest("docker") == ""
    assert mine.code_digest("direct").startswith("sha256:")


def test_the_code_of_an_agent_of_ones_own_in_containers_counts_and_is_not_imported(tmp_path: Path) -> None:
    module = tmp_path / "boxed_agent_code.py"
    file = tmp_path / "systems.toml"
    file.write_text(OWN + 'harbor = { agent = "boxed_agent_code:Agent" }\n')
    mine = load_systems(file)["mine"]
    module.write_text("raise RuntimeError")
    before = mine.code_digest("docker")
    module.write_text("raise ValueError")
    assert "" != mine.code_digest("docker") != before
    nowhere = mine.model_copy(update={"harbor": HarborAgent(agent="no_such_module.at_all:Agent")})
    assert nowhere.code_digest("docker") == ""
