"""What a page's author keeps from showing, as far as the page's own markup says it, element by element."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

_NEVER = (
    "script", "style", "noscript", "template", "nav", "footer", "aside", "svg", "iframe", "object", "canvas", "video",
    "audio", "button", "select", "datalist", "input", "textarea", "label", "dialog", "[hidden]",
    '[aria-hidden="true" i]', '[role="navigation" i]', '[role="banner" i]', '[role="contentinfo" i]',
    '[role="search" i]', '[role="dialog" i]',
)  # fmt: skip
_COMMENT = re.compile(r"/\*.*?(\*/|$)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|([^\n]))", re.IGNORECASE)
_NOTHING = r"[+-]?0*\.?0+(e[+-]?\d+)?(%|[a-z]+)?"
_HIDING = {
    "display": re.compile("none"),
    "visibility": re.compile("hidden|collapse"),
    "opacity": re.compile(_NOTHING),
    "font-size": re.compile(_NOTHING),
}


def drop_hidden(tree: LexborHTMLParser) -> None:
    """Take out of a page what is no part of its text, and what its elements' own styles hide.

    The last first: an element goes before the one that it lies in, with which it would be freed.
    """
    for selector in _NEVER:
        for node in reversed(tree.css(selector)):
            _drop(node)
    for node in reversed(tree.css("[style]")):
        if hides(node.attributes.get("style") or ""):
            _drop(node)


def _drop(node: LexborNode) -> None:
    if node.tag not in ("html", "body"):  # hidden until a script shows the page: then all of it shows
        node.decompose()


def hides(style: str) -> bool:
    """Whether an inline style has a declaration that hides, even if a later one takes it back."""
    for declaration in _ESCAPE.sub(_unescaped, _COMMENT.sub(" ", style)).lower().split(";"):
        name, _, value = declaration.partition(":")
        wanted = _HIDING.get(name.strip())
        if wanted is not None and wanted.fullmatch(value.partition("!")[0].strip()):
            return True
    return False


def _unescaped(found: re.Match[str]) -> str:
    if not found[1]:
        return found[2]
    number = int(found[1], 16)
    return chr(number) if number <= 0x10FFFF else ""
