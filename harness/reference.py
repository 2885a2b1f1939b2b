"""The reference page of the harness's commands, made from the code: `python -m harness.reference docs/reference`."""

import sys
from pathlib import Path

from harness.cli import app
from mcp_mimic.operations import describe_commands

PAGE = "harness.md"


def harness_page() -> str:
    """Every command of `harness` with its arguments and options."""
    return describe_commands("Commands of the harness", "harness", app)


def write_page(folder: Path) -> None:
    """Write the page into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_text(harness_page(), encoding="utf-8")


if __name__ == "__main__":
    write_page(Path(sys.argv[1]))
