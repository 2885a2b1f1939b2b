"""What an item is called: said once, for the tools that search by label and for what is asked of such a search.

Expressions over `d`, a row of the item's dictionary.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Naming:
    """The dictionary of a table's items, the label that is shown, and the text that a part of a label is sought in."""

    dictionary: str
    label: str
    terms: str


# "Glucose" is an item of blood and one of urine: a specimen other than blood is part of the name.
_LAB_LABEL = (
    "case when d.fluid = 'Blood' or contains(lower(d.label), lower(d.fluid)) then d.label "
    "else concat_ws(', ', d.label, d.fluid) end"
)
_LAB = Naming("hosp.d_labitems", _LAB_LABEL, _LAB_LABEL)
_ICU = Naming("icu.d_items", "d.label", "concat_ws(' ', d.label, d.abbreviation)")


def naming_of(table: str) -> Naming:
    """How the items of a table with itemids are named."""
    return _LAB if table == "hosp.labevents" else _ICU
