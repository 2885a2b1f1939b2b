"""The files of an example, as the documentation shows them."""

import re
from pathlib import Path

_PAGE = Path(__file__).parents[1] / "docs" / "containers.md"
_FILE = re.compile(r"`([\w-]+\.\w+)`[^`\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def write_boxed_example(folder: Path) -> None:
    """Write the system with an agent and a model of its own into a folder."""
    files = dict(_FILE.findall(_PAGE.read_text(encoding="utf-8")))
    assert set(files) == {"my-systems.toml", "boxed_agent.py", "model.yaml", "model.py"}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
