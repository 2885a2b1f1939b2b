"""What a site asks of scripts in its robots.txt, read as RFC 9309 says: the longest rule that matches decides."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LONGEST = 500_000


@dataclass(frozen=True)
class Robots:
    """The rules for one script: patterns with whether they allow, and the seconds to leave between requests."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float = 0

    def allows(self, path: str) -> bool:
        """Whether a path, with its query, may be fetched."""
        best = max(
            ((len(pattern), allow) for pattern, allow in self.rules if _matches(pattern, path)),
            default=(0, True),
        )
        return best[1]


def read_robots(text: str, agent: str) -> Robots:
    """The rules of the groups that name the agent, else of those for all."""
    groups = list(_groups(text[:_LONGEST].splitlines()))
    own = [lines for names, lines in groups if agent.lower() in names]
    lines = [line for group in own or [rest for names, rest in groups if "*" in names] for line in group]
    rules = tuple((value, key == "allow") for key, value in lines if key in ("allow", "disallow") and value)
    delays = [
        float(value) for key, value in lines if key == "crawl-delay" and re.fullmatch(r"\d+(\.\d+)?", value)
    ]
    return Robots(rules, max(delays, default=0))


def _groups(lines: Iterable[str]) -> Iterable[tuple[set[str], list[tuple[str, str]]]]:
    """Agents' names with the lines that stand for them."""
    names: set[str] = set()
    rules: list[tuple[str, str]] = []
    for line in lines:
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower().lstrip("\ufeff"), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if rules:
                yield names, rules
                names, rules = set(), []
            names.add(value.partition("/")[0].strip().lower())
        elif key in ("allow", "disallow", "crawl-delay"):
            rules.append((key, value))
    yield names, rules


def _matches(pattern: str, path: str) -> bool:
    """`*` stands for anything, a `$` at the end for the end. Takes time in proportion to the path."""
    ends = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    if not others:
        return not ends or path == first
    place = len(first)
    last = others.pop() if ends else ""
    for piece in others:  # the first place that fits leaves most to the pieces after it
        found = path.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return path.endswith(last, place)
