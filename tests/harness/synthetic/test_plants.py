from datetime import timedelta
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.synthetic.events import parse_offset
from harness.synthetic.plants import read_plants
from tests.harness.synthetic.toy_plants import PLANTS, write_plants

ORDER = '{ source = "hosp.poe", at = "+1h", order_type = "General Care" }'


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("-20h", timedelta(hours=-20)),
        ("+4h40m", timedelta(hours=4, minutes=40)),
        ("+12m", timedelta(minutes=12)),
        ("-6d", timedelta(days=-6)),
        ("+1d2h3m4s", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("+0h", timedelta(0)),
    ],
)
def test_an_offset_is_a_sign_and_units(text: str, offset: timedelta) -> None:
    assert parse_offset(text) == offset


@pytest.mark.parametrize("text", ["20h", "+", "+4h40", "- 20h", "+1w", "+40m4h", "", 3, None])
def test_anything_else_is_not_an_offset(text: object) -> None:
    with pytest.raises(ValueError, match="is not an offset"):
        parse_offset(text)


def test_a_file_of_plants_is_read(tmp_path: Path) -> None:
    plants = read_plants(write_plants(tmp_path))
    assert [plant.id for plant in plants] == ["granite", "basalt", "feldspar", "gneiss"]
    assert [*plants[0].event[2].offsets()] == [timedelta(hours=hour) for hour in range(1, 6)]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('at = "-20h"', 'at = "20h"', "plant 'granite', event, entry 1, at: '20h' is not an offset"),
        (
            'unit = "mg/dL" }',
            'route = "IV" }',
            "plant 'granite', event, entry 1: hosp.labevents has no route",
        ),
        (
            'item = 50912, at = "-20h"',
            'at = "-20h"',
            "plant 'granite', event, entry 1: hosp.labevents needs item",
        ),
        ('at = "-20h", value = 0.9', 'at = "-20h"', "either a value or null_value"),
        ('every = "1h", ', "", "every and until go together"),
        ('every = "1h"', 'every = "-1h"', "is not a positive period"),
        (
            'source = "icu.outputevents"',
            'source = "icu.outputs"',
            "plant 'granite', event, entry 3, source: 'icu.outputs' is not allowed",
        ),
        ('verdict = "no"', 'verdict = "never"', "plant 'basalt', verdict"),
        ('anchor = "icu"', 'anchor = "icu"\ncolour = "grey"', "plant 'granite', colour: unknown key"),
        ('id = "basalt"', 'id = "granite"', "has more than one plant granite"),
        ("emar = false, ward_only = true", 'icu_from = "+1h", ward_only = true', "exclude each other"),
        ('discharged = "+2h30m"', 'discharged = "+2h30m", died = "+3h"', "exclude each other"),
        ("icu_hours = 40", "icu_hours = 0", "plant 'granite', stay, icu_hours: 0 is out of range"),
        ('verdict = "yes"', "verdict = yes", "is not TOML"),
        ("emar = false,", 'emar = false, emar_from = "+1h",', "a chart without eMAR has no emar_from"),
        ('discharged = "+2h30m"', 'icu_until = "+2h"', "knows icu_until only together with icu_from"),
        ('discharged = "+2h30m"', 'icu_from = "+1h", icu_until = "+1h"', "follow each other"),
        ("stay = {", 'presence = { icu_until = "-1h" }\nstay = {', "ends after T"),
        (
            'discharged = "+2h30m"',
            'discharged = "-2h"',
            "presence: discharged must lie a minute or more after T",
        ),
        ('discharged = "+2h30m"', 'died = "-2h"', "presence: died must lie a minute or more after T"),
        (
            'discharged = "+2h30m"',
            'icu_from = "-30d"',
            "presence: icu_from must lie a minute or more after T",
        ),
        (
            'discharged = "+2h30m"',
            'discharged = "+0h"',
            "presence: discharged must lie a minute or more after T",
        ),
        (ORDER, ORDER.replace(" }", ', field_name = "Code status" }'), "go together"),
        (ORDER, ORDER.replace(" }", ', transaction = "Stop" }'), "event, entry 1, transaction"),
        (ORDER, ORDER.replace(" }", ', transaction = "D/C", field_name = "x" }'), "has no detail"),
    ],
)
def test_a_slip_is_named_with_file_plant_and_key(tmp_path: Path, old: str, new: str, said: str) -> None:
    plants = PLANTS.replace('{ source = "hosp.emar"', f'{ORDER}, {{ source = "hosp.emar"', 1)
    assert old in plants
    path = write_plants(tmp_path, plants.replace(old, new, 1))
    with pytest.raises(ScenarioError) as error:
        read_plants(path)
    assert said in error.value.message
    assert str(path) in error.value.message


@pytest.mark.parametrize(
    ("old", "new", "remedy"),
    [
        ('anchor = "icu"', 'anchr = "icu"', "did you mean anchor?"),
        ('anchor = "icu"', 'anchor = "war"', "did you mean ward?"),
        ("icu_hours = 40", "icu_hour = 40", "did you mean icu_hours?"),
        ('every = "1h"', 'evry = "1h"', "did you mean every?"),
        ('anchor = "icu"', 'anchor = "icu"\nshare = 0', "give at least 1;"),
    ],
)
def test_a_slip_says_what_is_meant_or_allowed(tmp_path: Path, old: str, new: str, remedy: str) -> None:
    with pytest.raises(ScenarioError) as error:
        read_plants(write_plants(tmp_path, PLANTS.replace(old, new, 1)))
    assert error.value.remedy == f"{remedy} docs/adding-a-scenario.md states every key"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[plant]\nid = "one"', "plant is one table"),
        ("plant = [3]", "plant is no list of tables"),
        (PLANTS.replace("+2h30m", "+9999999999999d"), "plant 'feldspar': a time is too far from T"),
    ],
)
def test_what_is_no_plant_at_all_is_told(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        read_plants(write_plants(tmp_path, text))


def test_a_regular_expression_that_does_not_compile_is_named(tmp_path: Path) -> None:
    rule = '{ source = "hosp.emar", names = "calcium(", from = "-1h", to = "+1h" }'
    text = f'[[plant]]\nid = "one"\nverdict = "yes"\nanchor = "icu"\nsuppress = [{rule}]\n'
    with pytest.raises(ScenarioError, match=r"suppress, entry 1, names: 'calcium\(' is not a regular"):
        read_plants(write_plants(tmp_path, text))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be read"):
        read_plants(tmp_path / "plants.toml")


def test_a_suppression_needs_source_window_item_and_name_to_fit(tmp_path: Path) -> None:
    text = (
        '[[plant]]\nid = "one"\nverdict = "yes"\nanchor = "icu"\nsuppress = [\n'
        '{ source = "hosp.labevents", items = [50912], from = "-1h", to = "+1h" },\n'
        '{ source = "hosp.emar", names = "CALCIUM", from = "-1h", to = "+1h" },\n]\n'
    )
    plant = read_plants(write_plants(tmp_path, text))[0]
    hour = timedelta(hours=1)
    assert plant.drops("hosp.labevents", hour, 50912)
    assert not plant.drops("hosp.labevents", hour * 1.01, 50912)
    assert not plant.drops("hosp.labevents", hour, 50971)
    assert not plant.drops("icu.chartevents", hour, 50912)
    assert plant.drops("hosp.emar", -hour, None, "Calcium Gluconate")
    assert not plant.drops("hosp.emar", -hour, None, "Heparin")
