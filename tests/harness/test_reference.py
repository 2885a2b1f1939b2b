"""The reference page of the harness's commands is what the code makes of itself."""

from pathlib import Path

from harness.reference import PAGE, harness_page, write_page

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def test_the_page_of_the_commands_is_up_to_date() -> None:
    assert (FOLDER / PAGE).read_text(encoding="utf-8") == harness_page(), "run `just docs`"


def test_the_page_is_written_into_the_folder(tmp_path: Path) -> None:
    write_page(tmp_path / "reference")
    assert (tmp_path / "reference" / PAGE).read_text(encoding="utf-8") == harness_page()


def test_commands_within_commands_all_their_examples_and_what_may_be_left_out_are_shown() -> None:
    sections = dict(part.split("\n", 1) for part in harness_page().split("\n## ")[1:])
    assert {"harness synthetic", "harness scenario check", "harness scenario show"} <= sections.keys()
    assert sections["harness cohort"].count("harness cohort --store") == 2
    assert "Example:" not in sections["harness cohort"]
    assert "Required." not in sections["harness scenario check"]
    assert (
        "| `SCENARIO` | Id, number, slug or folder of the scenario. Required. |"
        in sections["harness scenario show"]
    )
