"""Words that the commands print."""

from mcp_mimic.text.counts import agree


def counted(number: int, noun: str) -> str:
    """`1 task`, `2,000 tasks`."""
    return f"{number:,} {agree(number, noun, f'{noun}s')}"
