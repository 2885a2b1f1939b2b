"""HTML that cannot be broken out of: text is escaped unless an element made it."""

import html
from collections.abc import Iterable

_VOID = {"meta", "br", "hr"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str) -> Markup:
    """An element; plain text among the children is escaped, and so is every attribute (`class_` is class)."""
    written = "".join(f' {key.rstrip("_")}="{html.escape(value)}"' for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[str]) -> Markup:
    """The children one after another, plain text escaped."""
    return Markup("".join(child if isinstance(child, Markup) else html.escape(child) for child in children))
