"""What a rule of availability can say about a table and about a column of it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class WithRow:
    """Served as soon as the row is. `own` marks an id that begins with the subject's number."""

    own: bool = False


@dataclass(frozen=True)
class Until:
    """Null until `moment` has passed: SQL over `r` (and `Availability.lookup`); null means never."""

    moment: str
    own: bool = False


@dataclass(frozen=True)
class InAdmission:
    """The number of an admission: null until that admission has begun."""


@dataclass(frozen=True)
class Never:
    """Not served at all."""


type Rule = WithRow | Until | InAdmission | Never


@dataclass(frozen=True)
class Availability:
    """When a table's rows and columns can be known.

    `row` is SQL over `r`, a row of the table as it is imported, and over the aliases that `joins` brings
    in from `needs`, tables imported before; it gives the TIMESTAMP when the row could first be known,
    null where that is never. `joins` never multiplies rows. `lookup` is a join that serving needs, with
    `{store}` for the store's catalogue and `{task}` for the relation of tasks. `sealed` is SQL over `r`
    and `lookup` for the admission that the row sums up or codes; such rows stay hidden while that
    admission is sealed.
    """

    row: str
    columns: Mapping[str, Rule]
    joins: str = ""
    needs: tuple[str, ...] = ()
    lookup: str = ""
    sealed: str | None = None

    @property
    def served(self) -> bool:
        """Whether any column of the table is ever served."""
        return any(not isinstance(rule, Never) for rule in self.columns.values())


def columns(served: str, **rules: Rule) -> dict[str, Rule]:
    """Rules for the columns in `served` (with the row), those in `rules`, and the subject (never)."""
    return {"subject_id": Never()} | dict.fromkeys(served.split(), WithRow()) | rules
