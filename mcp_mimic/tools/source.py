"""What the tools need to know of an official table: times, items, names, and what a line shows.

All expressions are SQL over the alias `r` of the table's rows in a slice, and over the aliases that
`joins` brings in. They are constants: nothing that a client sends becomes SQL text.
"""

from dataclasses import dataclass, field
from functools import cached_property

LAST_SECOND = "interval '86399 seconds'"


@dataclass(frozen=True)
class Detail:
    """A table whose rows share the evidence id of another's and are shown with it.

    `order` sorts the rows of one id, `hidden` columns repeat it. `pairs`: a row is a name and a value.
    """

    table: str
    order: str
    hidden: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    pairs: bool = False


@dataclass(frozen=True)
class Source:
    """One official table as the tools read it.

    `time` is the event time; `latest` the last moment that a row dated only to a day can mean. `item` is
    the itemid column, if the table has one, `name` the text that names are matched against, `label` the
    text shown for the row's item or name. `quiet` columns are left out of the text table but not of the
    structured rows; `hidden` ones of both, because the evidence id already says them; `unread` ones are not
    even fetched. `units` maps a value column to its unit column, `known_units` to the unit that the
    database's documentation gives. `free` columns hold what somebody wrote by hand. `day_at_midnight`: a
    time at midnight stands for the day. `then_by` ends an ORDER BY, where several rows have one evidence id.
    """

    table: str
    tool: str
    what: str
    time: str
    latest: str = ""
    item: str | None = None
    name: str | None = None
    label: str | None = None
    joins: str = ""
    category: str | None = None
    unit: str | None = None
    units: dict[str, str] = field(default_factory=dict)
    known_units: dict[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ("hadm_id", "stay_id")
    unread: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    detail: Detail | None = None
    day_at_midnight: bool = False
    then_by: str = ""

    @property
    def schema(self) -> str:
        """The module that the table belongs to."""
        return self.table.partition(".")[0]

    @property
    def last_moment(self) -> str:
        """The latest moment that a row can mean; its event time unless only the day is known."""
        return self.latest or self.time

    @cached_property
    def label_column(self) -> str:
        """The column that the label is, if it is one."""
        return _own_column(self.label or "")

    @cached_property
    def not_cells(self) -> frozenset[str]:
        """The columns that a line shows in another place, or not at all."""
        ahead = ("eid", "label", "detail", "itemid", _own_column(self.time), self.label_column)
        return frozenset((*ahead, *self.quiet, *self.units.values()))


def _own_column(expression: str) -> str:
    return expression.removeprefix("r.").removesuffix("::timestamp")
