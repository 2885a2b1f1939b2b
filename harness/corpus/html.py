"""A web page as Markdown: its main part, with headings, lists and tables; what its markup hides is left out.

Whatever the page's own levels, the document's title is the only heading of the first level.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from harness.corpus.hidden import drop_hidden
from harness.corpus.plain import as_line, escape_line

_BLOCKS = frozenset(
    [
        "address",
        "article",
        "blockquote",
        "body",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "form",
        "header",
        "hr",
        "html",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "ul",
    ]
)
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_LETTERS = re.compile(
    r"utf-8|iso8859-\d+|cp125\d|cp866|koi8-[ru]|mac-roman|gb2312|gbk|gb18030|big5|euc_jp|euc_kr|shift_jis|iso2022_jp"
)
_GUESS = "cp1252"
_REFUSALS = re.compile(
    r"\b(log ?in|sign ?in|access denied|forbidden|just a moment|attention required|captcha|are you a robot|"
    r"security check|verify you are|not found|page unavailable|error 40[134]|40[134] error)\b",
    re.IGNORECASE,
)
_SHORT, _LEAST = 3000, 300


@dataclass(frozen=True)
class Page:
    """A web page that was parsed."""

    tree: LexborHTMLParser

    @cached_property
    def title(self) -> str:
        """What the page calls itself."""
        found = self.tree.css_first("title")
        return "" if found is None else as_line(found.text())

    @cached_property
    def obstacle(self) -> str | None:
        """Why the page is not a document, if it is a login page, a refusal or all but empty."""
        length = len(self.markdown)
        if length < _SHORT and self._asks_for_password:
            return "it asks for a login"
        if length < _SHORT and _REFUSALS.search(self.title):
            return f"its title is {self.title[:80]!r}"
        return f"it has only {length} characters of text" if length < _LEAST else None

    @cached_property
    def _asks_for_password(self) -> bool:
        return self.tree.css_first('input[type="password"]') is not None

    @cached_property
    def markdown(self) -> str:
        """The main part's text."""
        _ = self._asks_for_password  # before fields are taken out
        drop_hidden(self.tree)
        root = self._main()
        if root is None:
            return ""
        return "\n\n".join(_blocks(root, _around_blocks(root)))

    def _main(self) -> LexborNode | None:
        """The part that holds the most text among those that say they are the main one, else the body."""
        for selector in ('main, [role="main"]', "article"):
            found = [(len(node.text()), -place, node) for place, node in enumerate(self.tree.css(selector))]
            if found and (best := max(found, key=lambda each: each[:2]))[0] >= _LEAST:
                return best[2]
        return self.tree.body


@dataclass(frozen=True)
class PageText:
    """What is kept of a page: its Markdown, its own title, and why it is no document, if it is none."""

    markdown: str
    title: str
    obstacle: str | None


def read_page_text(data: bytes) -> PageText:
    """Read a page to its end."""
    page = read_page(data)
    return PageText(page.markdown, page.title, page.obstacle)


def read_page(data: bytes) -> Page:
    """Parse the bytes of a page."""
    return Page(LexborHTMLParser(_decode(data)))


def _decode(data: bytes) -> str:
    """As UTF-8 if it is that, else as the page says, else as browsers guess."""
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(name, errors="replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    said = _CHARSET.search(data[:4096])
    return data.decode(_codec(said[1].decode("ascii")) if said else _GUESS, errors="replace")


def _codec(said: str) -> str:
    """The codec of letters that the page names; a guess if it is none, as Python also has codecs of other things."""
    try:
        name = codecs.lookup(said).name
    except LookupError:
        return _GUESS
    return name if _LETTERS.fullmatch(name) else _GUESS


def _around_blocks(root: LexborNode) -> set[int]:
    """The nodes that have a block below them, such as a link around a heading, by where they lie in memory."""
    found: set[int] = set()
    for node in root.traverse():
        if not _is_block((node.tag or "").lower()):
            continue
        above = node.parent
        while above is not None and above.mem_id not in found:
            found.add(above.mem_id)
            above = above.parent
    return found


def _blocks(node: LexborNode, around: set[int]) -> Iterator[str]:
    """The blocks below a node, in order; text that stands between blocks is one of its own."""
    loose: list[str] = []
    for child in node.iter(include_text=True):
        tag = (child.tag or "").lower()
        if _is_block(tag) or child.mem_id in around:
            yield from _paragraph(loose)
            loose = []
            yield from _block(child, tag, around)
        else:
            loose.append(_inline(child))
    yield from _paragraph(loose)


def _is_block(tag: str) -> bool:
    return tag in _BLOCKS or tag == "table" or re.fullmatch(r"h[1-6]", tag) is not None


def _block(node: LexborNode, tag: str, around: set[int]) -> Iterator[str]:
    if re.fullmatch(r"h[1-6]", tag):
        title = as_line(_inline(node))
        if title:
            yield f"{'#' * max(2, int(tag[1]))} {title}"
    elif tag == "table":
        yield from _table(node)
    elif tag in ("ul", "ol"):
        yield from _list(node, around, ordered=tag == "ol")
    elif tag == "pre":
        lines = [escape_line(line.rstrip()) for line in node.text().splitlines()]
        if any(lines):
            yield "\n".join(lines).strip("\n")
    else:
        yield from _blocks(node, around)


def _list(node: LexborNode, around: set[int], *, ordered: bool) -> Iterator[str]:
    """One block for the whole list, unless an item holds a heading."""
    lines: list[str] = []
    number = 0
    for item in node.iter():
        if (item.tag or "").lower() != "li":
            continue
        number += 1
        mark = f"{number}. " if ordered else "- "
        for place, block in enumerate(_blocks(item, around)):
            if block.startswith("#"):
                if lines:
                    yield "\n".join(lines)
                lines = []
                yield block
                continue
            first, *others = block.split("\n")
            lines += [f"{mark if place == 0 else '  '}{first}", *(f"  {line}" for line in others)]
    if lines:
        yield "\n".join(lines)


def _table(node: LexborNode) -> Iterator[str]:
    """Caption, then a line for each row, its cells apart by bars."""
    rows = []
    for row in node.css("caption, tr"):
        if (row.tag or "").lower() == "caption":
            yield from _paragraph([_inline(row)])
            continue
        cells = [as_line(_inline(cell)) for cell in row.iter() if (cell.tag or "").lower() in ("td", "th")]
        if any(cells):
            rows.append(f"| {' | '.join(cells)} |")
    if rows:
        yield "\n".join(rows)


def _paragraph(pieces: list[str]) -> Iterator[str]:
    lines = [escape_line(as_line(line)) for line in "".join(pieces).split("\v")]
    text = "\n".join(line for line in lines if line)
    if text:
        yield text


def _inline(node: LexborNode) -> str:
    """Text on one line; a line break is a vertical tab, a raised piece begins with a caret."""
    tag = (node.tag or "").lower()
    if tag == "-text":
        return re.sub(r"\s+", " ", node.text_content or "")
    if tag == "br":
        return "\v"
    if tag == "img":
        alt = as_line(node.attributes.get("alt") or "")
        return f"[image: {alt}]" if alt else ""
    if tag.startswith(("-", "!")):
        return ""
    inner = "".join(_inline(child) for child in node.iter(include_text=True))
    if tag == "sup" and inner.strip():
        return f"^{inner.strip()}"
    return f" {inner} " if _is_block(tag) or tag in ("td", "th") else inner
