"""The arguments that the read tools share, with their bounds and their only descriptions."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints

_NUMBERS = re.compile(r"\s*[0-9]{1,10}(?:\s*,\s*[0-9]{1,10})+\s*")


def _listed(value: Any) -> Any:
    """A list, also where a client sends one item bare or the list as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    return [value] if isinstance(value, str | int) else value


def _numbers_apart(value: Any) -> Any:
    """Itemids sent as one text, such as "50971,50822", each by itself; true is not the itemid 1."""
    value = _listed(value)
    if not isinstance(value, list):
        return value
    if any(isinstance(item, bool) for item in value):
        raise ValueError("true and false are not itemids")
    return [
        part
        for item in value
        for part in (item.split(",") if isinstance(item, str) and _NUMBERS.fullmatch(item) else [item])
    ]


AsList = BeforeValidator(_listed)
AsItems = BeforeValidator(_numbers_apart)

Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=2, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$"),
]
ItemId = Annotated[int, Field(ge=0, le=2_147_483_647)]
Moment = Annotated[str, StringConstraints(strip_whitespace=True, min_length=4, max_length=40)]

Start = Annotated[
    Moment | None,
    Field(description="First moment of the window, included; local time, e.g. 2150-03-04T14:00. Omit: open."),
]
End = Annotated[
    Moment | None,
    Field(
        description="Last moment of the window, included; a bare date means its end. Omit: the as-of time."
    ),
]
Order = Annotated[Literal["newest", "oldest"], Field(description="Which end of the window comes first.")]
Limit = Annotated[
    int, Field(ge=1, le=1000, description="Most rows a page; the session's own limit may be lower.")
]
Cursor = Annotated[
    Annotated[str, StringConstraints(max_length=400)] | None,
    Field(description="next_cursor of the page before, with all other arguments the same."),
]
Items = Annotated[
    Annotated[list[ItemId | Text], Field(max_length=200)] | None,
    AsItems,
    Field(description="itemids, or parts of labels (any case). Omit: every item."),
]
Names = Annotated[
    Annotated[list[Text], Field(max_length=200)] | None,
    AsList,
    Field(description="Parts of names (any case, at least two characters); any of them matches. Omit: all."),
]
