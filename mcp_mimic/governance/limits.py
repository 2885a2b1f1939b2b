"""What a session has used so far, beside what its grant lets it use."""

from dataclasses import dataclass

UNLOGGED_MARGIN = 1_000
"""Refusals beyond the granted calls that are still audited one by one; later ones are only counted."""


@dataclass
class Usage:
    """Calls started, characters served, refusals too many to log, and whether the session is closed."""

    calls: int = 0
    chars: int = 0
    unlogged: int = 0
    sealed: bool = False
