"""Reports in the form that the instruction asks for."""

from collections.abc import Iterable

from mcp_mimic.contract import VERDICT_LABELS


def heading(verdict: str) -> str:
    """The answer's heading for one of the four verdicts."""
    return f"## Answer: {VERDICT_LABELS[verdict]}"


def cited(sentence: str, eids: Iterable[str]) -> str:
    """The sentence with its citations, or bare if there are none."""
    ids = ", ".join(eids)
    return f"{sentence} [{ids}]." if ids else f"{sentence}."


def report(verdict: str, sentences: Iterable[str]) -> str:
    """A whole report: the answer, then its grounds."""
    return "\n\n".join([heading(verdict), *sentences]) + "\n"
