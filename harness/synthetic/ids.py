"""Identifiers that are unique in the hospital and say nothing about the patient's place in the plan.

Every patient owns a block of numbers in each space; a fixed affine permutation scatters the numbers over
the whole space. So adding patients changes nobody's numbers, and neighbours in the plan are far apart.
"""

from collections import Counter
from dataclasses import dataclass

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
        shift = generator(self._seed, name).randrange(space.size)
        return space.first + ((self._index * space.per_patient + count) * space.stride + shift) % space.size
