"""Searches, conditions and item lists of a scenario in words, for people who read no SQL."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from harness.scenario import Evidence, Search
from harness.synthetic.dictionaries import chart_items, lab_items

SOURCES = {
    "ecg.machine_measurements": "ECG measurements",
    "ed.pyxis": "dispensing cabinet of the emergency department",
    "hosp.admissions": "admissions",
    "hosp.diagnoses_icd": "coded diagnoses",
    "hosp.emar": "administration record (eMAR)",
    "hosp.labevents": "laboratory results",
    "hosp.microbiologyevents": "microbiology",
    "hosp.omr": "clinic measurements",
    "hosp.poe": "providers' orders",
    "hosp.prescriptions": "prescriptions",
    "hosp.transfers": "transfers",
    "icu.chartevents": "ICU chart",
    "icu.datetimeevents": "dates in the ICU chart",
    "icu.icustays": "ICU stays",
    "icu.inputevents": "ICU inputs",
    "icu.outputevents": "ICU outputs",
    "icu.procedureevents": "ICU procedures",
    "note.discharge": "discharge summaries",
    "note.discharge.text": "text of discharge summaries",
    "note.radiology": "radiology reports",
    "note.radiology.text": "text of radiology reports",
}
"""The sources that scenarios search, as the pages call them; any other goes by its own name."""

_LONG = 100
"""Lists of more characters that a page needs more than once stand once, under a letter."""

_RULES = re.compile(r"rule (=|<>|in|not in) \(?('\w+'(?:, '\w+')*)\)?")
_EXCEPT = re.compile(r"\^\(\?!\.\*\(([^()]+)\)\)\.\*(.+)")
_PLAIN = re.compile(r"[\w ()/%,…'-]+")


def say_condition(expression: str) -> str:
    """When a requirement applies: by the rule that decided, or by the expression as it stands."""
    match = _RULES.fullmatch(expression)
    if match is None:
        return f"where `{expression}`"
    rules = [f"`{name}`" for name in re.findall(r"'(\w+)'", match[2])]
    return f"{'if' if match[1] in ('=', 'in') else 'unless'} decided by the rule {_either(rules)}"


def say_names(pattern: str) -> str:
    """A regular expression of names as the parts that a name may have; what has no plain words stays as it is.

    `^blood culture` → `blood culture at the beginning`; `^(?!.*(oral|gel)).*(cef|penem)` → `cef, penem (but not
    oral, gel)`.
    """
    return ", ".join(_say_name(part) for part in _split(pattern))


def _say_name(part: str) -> str:
    if match := _EXCEPT.fullmatch(part):
        inner = match[2][1:-1] if match[2].startswith("(") and match[2].endswith(")") else match[2]
        return f"{say_names(inner)} (but not {say_names(match[1])})"
    plain = part.removeprefix("^").replace(r"\b", "").replace(".*", " … ")
    plain = re.sub(r"\(([\w |]+)\)", lambda group: _either(group[1].split("|")), plain).strip()
    if not _PLAIN.fullmatch(plain):
        return f"`{part}`"
    return f"{plain} at the beginning" if part.startswith("^") else plain


def _split(pattern: str) -> list[str]:
    """The alternatives of a pattern that lie outside all parentheses."""
    parts, depth = [""], 0
    for character in pattern:
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _either(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def say_items(items: Iterable[int]) -> str:
    """Items with their labels in MIMIC-IV's dictionaries; those that the synthetic hospital lacks last, without."""
    found: dict[str, list[str]] = {}
    for item in items:
        found.setdefault(_labels().get(item, ""), []).append(str(item))
    bare = found.pop("", [])
    said = [f"{label} ({', '.join(numbers)})" for label, numbers in found.items()]
    return ", ".join([*said, *([f"item{'s' * (len(bare) > 1)} {', '.join(bare)}"] if bare else [])])


@cache
def _labels() -> Mapping[int, str]:
    laboratory = {item.itemid: item.label.strip() for item in lab_items().values()}
    return laboratory | {item.itemid: item.label.strip() for item in chart_items().values()}


class Wording:
    """How one page says the searches of its requirements; long lists that occur again get letters."""

    def __init__(self, evidence: Sequence[Evidence]) -> None:
        searches = [search for item in evidence for search in item.search]
        counts = Counter(text for search in searches for text in _lists(search))
        again = [text for text, count in counts.items() if count > 1 and len(text) > _LONG]
        self._letters = {text: chr(ord("A") + place) for place, text in enumerate(again)}

    @property
    def lists(self) -> list[tuple[str, str]]:
        """The letters, and what each stands for."""
        return [(letter, text) for text, letter in self._letters.items()]

    def searches(self, evidence: Evidence) -> str:
        """Where to look: sources, each with what of it; entries of one source joined where that changes nothing."""
        apart = evidence.any or evidence.kind == "series"
        said: list[tuple[str, str]] = []
        for search in evidence.search:
            source = SOURCES.get(search.source, f"`{search.source}`")
            what = ", ".join(self._short(text) for text in _lists(search))
            if (source, what) in said or (evidence.kind == "rows" and (source, "") in said):
                continue
            if not apart and what and said and said[-1][0] == source and said[-1][1]:
                said[-1] = source, f"{said[-1][1]}, {what}"
            else:
                said.append((source, what))
        return "; ".join(f"{source}: {what}" if what else source for source, what in said)

    def _short(self, text: str) -> str:
        return f"list {self._letters[text]}" if text in self._letters else text


def _lists(search: Search) -> list[str]:
    """What narrows a search, in words."""
    said = [] if search.items is None else [say_items(search.items)]
    said += [] if search.names is None else [f"named {say_names(search.names)}"]
    return said if search.terms is None else [*said, f"the words {', '.join(search.terms)}"]
