"""Where a system runs; apart from the systems, so that a command line that only names it starts without them."""

from typing import Literal

Place = Literal["direct", "docker"]
"""In this process, or in containers of a Docker engine."""

PLACES: dict[Place, str] = {"direct": "this process", "docker": "containers"}
"""Each in words."""
