"""The reference pages are what the code makes of itself."""

from pathlib import Path

import pytest

from mcp_mimic.chart.querying import queryable
from mcp_mimic.reference import PAGES, tools_page, write_pages
from mcp_mimic.tools.catalogue import all_tools
from mcp_mimic.tools.sources import SOURCES

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_reference_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run `just docs`"


def test_pages_are_written_into_the_folder(tmp_path: Path) -> None:
    write_pages(tmp_path / "reference")
    assert sorted(path.name for path in (tmp_path / "reference").iterdir()) == sorted(PAGES)


def test_every_tool_argument_and_table_has_its_place() -> None:
    page = tools_page()
    for name, tool in all_tools().items():
        section = page.split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]
        assert "```python\n" in section
        for argument in tool.parameters["properties"]:
            assert f"| `{argument}` |" in section
    for table in SOURCES:
        assert f"| `{table}` |" in page


def test_the_tables_of_a_query_stand_behind_its_example() -> None:
    section = tools_page().split("\n## query_chart\n", 1)[1].split("\n## ", 1)[0]
    example, rest = section.split("```python\n", 1)[1].split("\n```\n", 1)
    assert example.startswith("query_chart(sql=")
    assert example.endswith('")')
    for table, columns in queryable().items():
        assert f"| `{table}` | {', '.join(f'`{name}`' for name in columns)} |" in rest
