"""The version that is installed."""

from functools import cache
from importlib.metadata import version


@cache
def harness_version() -> str:
    """The version that tasks, agents and records carry; read once, since reading it parses a file."""
    return version("clinicare")
