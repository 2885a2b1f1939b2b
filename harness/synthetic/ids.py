"""Identifiers that are unique in the hospital and say nothing about the patient's place in the plan.

A space is cut into as many strips as a patient may have numbers. A patient owns one place in every strip,
drawn without regard to the plan, and takes the strips in an order of its own, so that a number tells
neither whose it is nor when it was given out. Adding patients changes nobody's numbers.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cache

from harness.errors import HarnessError
from harness.synthetic.draws import generator


@dataclass(frozen=True)
class _Space:
    first: int
    size: int
    per_patient: int  # a power of two


_SPACES = {
    "subject": _Space(10_000_000, 10**7, 1),
    "hadm": _Space(20_000_000, 10**7, 32),
    "stay": _Space(30_000_000, 10**7, 32),
    "transfer": _Space(30_000_000, 10**7, 128),
    "study": _Space(40_000_000, 10**7, 128),
    "specimen": _Space(0, 10**8, 4096),
    "micro_specimen": _Space(0, 10**7, 256),
    "pharmacy": _Space(10_000_000, 9 * 10**7, 4096),
    "order": _Space(0, 10**7, 2048),
    "lab_block": _Space(0, 15_000, 1),
    "micro_block": _Space(0, 15_000, 1),
}
LAB_BLOCK = 10_000
MICRO_BLOCK = 1_000
MOST_PATIENTS = 4_800


class Ids:
    """The numbers of one patient."""

    def __init__(self, seed: int, index: int) -> None:
        if index >= MOST_PATIENTS:
            raise HarnessError(
                f"a synthetic hospital has at most {MOST_PATIENTS} patients", "ask for fewer patients"
            )
        self._seed = seed
        self._index = index
        self._used: Counter[str] = Counter()
        self._walks: dict[str, tuple[int, int]] = {}

    def next(self, name: str) -> int:
        """The patient's next number of a space: subject, hadm, stay, transfer, study, specimen, order."""
        space = _SPACES[name]
        count = self._used[name]
        if count >= space.per_patient:
            raise HarnessError(
                f"a patient has more than {space.per_patient} numbers of kind {name}",
                "plant fewer events, or shorter series",
            )
        self._used[name] += 1
        place = _places(self._seed, name)[self._index]
        step, shift = self._walk(name)
        strip = (count * step + shift) % space.per_patient
        return space.first + strip * (space.size // space.per_patient) + place

    def _walk(self, name: str) -> tuple[int, int]:
        if name not in self._walks:
            rng = generator(self._seed, name, self._index)
            self._walks[name] = (2 * rng.randrange(2**20) + 1, rng.randrange(2**20))
        return self._walks[name]


@cache
def _places(seed: int, name: str) -> list[int]:
    """The places within a strip in the order in which patients get them."""
    space = _SPACES[name]
    return generator(seed, name).sample(range(space.size // space.per_patient), MOST_PATIENTS)
