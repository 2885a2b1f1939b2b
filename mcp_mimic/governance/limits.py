"""What a session has used so far, beside what its grant lets it use."""

from dataclasses import dataclass

FLOOD_FACTOR = 10
"""Calls beyond this many times the granted ones are refused whatever they are, and only counted, so that a
flood fills no disk."""


@dataclass
class Usage:
    """Calls started, characters served, refusals too many to log, and whether the session is closed."""

    calls: int = 0
    chars: int = 0
    unlogged: int = 0
    sealed: bool = False
