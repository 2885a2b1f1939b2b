"""What may be run, and what is said when it may not."""

from pathlib import Path

import pytest

from harness.errors import UnknownSystemError
from harness.systems import choose_systems, load_systems

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

OWN = """
[[system]]
tag = "mine"
runner = "direct"
agent = "harness.agents.constant:AlwaysYes"
about = "answers YES"
"""


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
        (OWN.replace('"direct"', '"teleport"'), "runner"),
        (OWN.replace("[[system]]", "[[system"), "cannot be read"),
    ],
    ids=["unknown key", "contestant with gold", "taken tag", "unknown runner", "not TOML"],
)
def test_a_users_file_with_a_mistake_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(text)
    with pytest.raises(UnknownSystemError) as caught:
        load_systems(file)
    assert said in caught.value.message


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
