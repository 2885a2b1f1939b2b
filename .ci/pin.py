"""Writes the exact versions of uv.lock into pyproject.toml's `[tool.uv] constraint-dependencies`.

uv.lock itself stays out of git, since it names the package registry's host. A package that the lock
resolves to several versions (one a platform) is left to the ranges of those who ask for it.
Run through `just pin`.
"""

import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

BEGIN, END = "# pinned versions, refreshed by `just pin`", "# end of pinned versions"


def pinned(lock: str) -> list[str]:
    """`name==version` for each package that the lock gives one version, but for the project itself."""
    versions: dict[str, set[str]] = defaultdict(set)
    for package in tomllib.loads(lock)["package"]:
        if "virtual" not in package["source"] and "editable" not in package["source"]:
            versions[package["name"]].add(package["version"])
    return [f"{name}=={next(iter(found))}" for name, found in sorted(versions.items()) if len(found) == 1]


def main() -> int:
    """Rewrite the block between the two marks, or append it."""
    project = Path("pyproject.toml")
    lines = "".join(f'  "{pin}",\n' for pin in pinned(Path("uv.lock").read_text()))
    block = f"{BEGIN}\n[tool.uv]\nconstraint-dependencies = [\n{lines}]\n{END}\n"
    text = project.read_text()
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END) + "\n", re.DOTALL)
    project.write_text(pattern.sub(lambda _: block, text) if pattern.search(text) else f"{text}\n{block}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
