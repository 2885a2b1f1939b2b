"""Identifiers that are unique in the hospital and say nothing about the patient's place in the plan.

In each space every patient owns a block, drawn without regard to the plan, and an affine permutation
scatters its numbers over the whole space, so that a number does not tell when it was given out. Adding
patients changes nobody's numbers.
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
    per_patient: int
    stride: int


_SPACES = {
    "subject": _Space(10_000_000, 10**7, 1, 6_180_339),
    "hadm": _Space(20_000_000, 10**7, 32, 7_320_509),
    "stay": _Space(30_000_000, 10**7, 32, 4_142_137),
    "transfer": _Space(30_000_000, 10**7, 128, 2_360_679),
    "specimen": _Space(0, 10**8, 4096, 64_575_131),
    "micro_specimen": _Space(0, 10**7, 256, 1_622_777),
    "pharmacy": _Space(10_000_000, 9 * 10**7, 4096, 44_948_977),
    "order": _Space(0, 10**7, 2048, 8_729_833),
    "lab_block": _Space(0, 15_000, 1, 9_277),
    "micro_block": _Space(0, 15_000, 1, 5_867),
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

    def next(self, name: str) -> int:
        """The patient's next number of a space: subject, hadm, stay, transfer, specimen, order."""
        space = _SPACES[name]
        count = self._used[name]
        if count >= space.per_patient:
            raise HarnessError(
                f"a patient has more than {space.per_patient} numbers of kind {name}",
                "plant fewer events, or shorter series",
            )
        self._used[name] += 1
        block = _blocks(self._seed, name)[self._index]
        return space.first + (block * space.per_patient + count) * space.stride % space.size


@cache
def _blocks(seed: int, name: str) -> list[int]:
    """The blocks of a space in the order in which patients get them."""
    space = _SPACES[name]
    return generator(seed, name).sample(range(space.size // space.per_patient), MOST_PATIENTS)
