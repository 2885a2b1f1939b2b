"""A review that counts, of which tests change what they are about."""

from datetime import date
from typing import Any

from harness.review.signoff import Review, Reviewer

MADE, READ = date(2026, 5, 1), date(2026, 5, 20)
ADA = Reviewer(name='Ada "A." Lovelace\\', role="intensivist", date=READ, agreed=7, settled=("90-a",))
GRACE = Reviewer(name="Grace Hopper", role="nephrologist", date=READ, agreed=8)
CLASSES = {"yes": 2, "no": 2, "lack_of_data": 2, "medical_ambiguity": 2}


def reviewed(**changes: Any) -> Review:
    said = {
        "packet": "sha256:" + "1" * 64,
        "made": MADE,
        "store": "sha256:" + "2" * 64,
        "classification": "synthetic",
        "cases": CLASSES,
        "reviewer": (ADA, GRACE),
    }
    return Review.model_validate(said | changes)
