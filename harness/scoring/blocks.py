"""The block structure of a Markdown report, as far as reading verdicts and citations needs it.

Follows CommonMark's block rules (containers, then leaves; indentation by columns; lazy continuation), so
that what a renderer shows as a heading is what is read as one. Code is left out altogether; headings, running
text and raw HTML come out as blocks. A table needs no rule of its own: its rows never begin a heading.
"""

import re
from dataclasses import dataclass, field

MAX_DEPTH = 32
"""Quotes and list items nested deeper than this are read as text, so that no report costs more than linear time."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_QUOTE = re.compile(r" {0,3}> ?")
_HEADING = re.compile(r" {0,3}#{1,6}(?= |$)(.*)", re.DOTALL)
_FENCE = re.compile(r"( {0,3})(?:(`{3,})[^`]*|(~{3,}).*)$", re.DOTALL)
_SETEXT = re.compile(r" {0,3}(?:=+|-+) *$")
_BREAK = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:_ *){3,}|(?:- *){3,})$")
_ITEM = re.compile(r"( {0,3})([*+-]|(\d{1,9})[.)])(?= |$)( *)")

_RAW = re.compile(r" {0,3}<(?:pre|script|style|textarea)(?:[\s>]|$)", re.IGNORECASE)
_RAW_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_SPANNING_HTML = (
    (re.compile(r" {0,3}<!--"), re.compile(r"-->")),
    (re.compile(r" {0,3}<\?"), re.compile(r"\?>")),
    (re.compile(r" {0,3}<![A-Za-z]"), re.compile(r">")),
    (re.compile(r" {0,3}<!\[CDATA\["), re.compile(r"\]\]>")),
)
_HTML_BLOCK = re.compile(
    r" {0,3}</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    r"dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|"
    r"iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|"
    r"table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|/?>|$)",
    re.IGNORECASE,
)
_LONE_TAG = re.compile(r" {0,3}</?[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?> *$")


@dataclass(frozen=True)
class Block:
    """One block outside code: `kind` is heading (ATX only), prose or html; `quoted` if inside a quotation."""

    kind: str
    text: str
    quoted: bool


@dataclass
class _Leaf:
    """The open block that lines are added to; code is one whose lines are dropped."""

    kind: str
    quoted: bool
    lines: list[str] = field(default_factory=list)
    fence: str = ""
    end: re.Pattern[str] | None = None


def scan_blocks(text: str) -> list[Block]:
    """The report's blocks in order, without its code."""
    scanner = _Scanner()
    for line in _LINE_END.split(text.replace("\0", "\ufffd")):
        scanner.take(line.expandtabs(4))
    scanner.close(0)
    return scanner.blocks


class _Scanner:
    """One pass over the lines. A container is None for a quotation, else a list item's content offset."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._containers: list[int | None] = []
        self._leaf: _Leaf | None = None

    def take(self, line: str) -> None:
        """Read one line, its tabs already blanks."""
        rest, matched = self._match(line)
        inside = matched == len(self._containers)
        if inside and self._continues(rest):
            return
        if self._leaf is not None and self._leaf.kind != "prose":
            self.close(matched)
        while (opened := self._open_container(rest, matched)) is not None:
            rest, matched = opened, len(self._containers)
        if not self._open_leaf(rest, matched):
            self._add_text(rest, matched)

    def close(self, depth: int) -> None:
        """End the open leaf and every container below `depth`."""
        leaf, self._leaf = self._leaf, None
        del self._containers[depth:]
        if leaf is not None and leaf.kind != "code":
            self.blocks.append(Block(leaf.kind, "\n".join(leaf.lines), leaf.quoted))

    def _match(self, line: str) -> tuple[str, int]:
        """What is left of the line within the containers that it continues, and how many these are."""
        for number, offset in enumerate(self._containers):
            if offset is None:
                quote = _QUOTE.match(line)
                if quote is None:
                    return line, number
                line = line[quote.end() :]
            elif line.strip(" ") and _indent(line) < offset:
                return line, number
            else:
                line = line[offset:]
        return line, len(self._containers)

    def _continues(self, rest: str) -> bool:
        """Whether the line belongs to an open fence, indented code or HTML block; if so it is taken."""
        leaf = self._leaf
        if leaf is None or leaf.kind == "prose":
            return False
        if leaf.fence:
            if _closes(leaf.fence, rest):
                self._leaf = None
            return True
        if leaf.end is not None:
            leaf.lines.append(rest)
            if leaf.end.search(rest):
                self.close(len(self._containers))
            return True
        if leaf.kind == "html":
            leaf.lines.append(rest)
            return bool(rest.strip(" "))
        return _indent(rest) >= 4 or not rest.strip(" ")

    def _in_paragraph(self, matched: int) -> bool:
        return self._leaf is not None and matched == len(self._containers)

    def _open_container(self, rest: str, matched: int) -> str | None:
        """Open a quotation or list item that begins here; what is left of the line, or None if none does."""
        if matched >= MAX_DEPTH:
            return None
        if quote := _QUOTE.match(rest):
            self.close(matched)
            self._containers.append(None)
            return rest[quote.end() :]
        item = _ITEM.match(rest)
        if item is None or _BREAK.match(rest):
            return None
        empty = item.end() == len(rest)
        if self._in_paragraph(matched) and (empty or item[3] not in (None, "1")):
            return None
        marker = len(item[1]) + len(item[2])
        gap = 1 if empty or len(item[4]) > 4 else len(item[4])
        self.close(matched)
        self._containers.append(marker + gap)
        return rest[marker + gap :]

    def _open_leaf(self, rest: str, matched: int) -> bool:
        """Take the line as a heading, fence, break, HTML or indented code if it is one."""
        in_paragraph = self._in_paragraph(matched)
        if heading := _HEADING.match(rest):
            self._start(matched, _Leaf("heading", False, [_without_closing_hashes(heading[1])]))
            self.close(matched)
        elif fence := _FENCE.match(rest):
            self._start(matched, _Leaf("code", False, fence=fence[2] or fence[3]))
        elif html := _html_leaf(rest, interrupting=self._leaf is not None):
            self._start(matched, html)
            if html.end is not None and html.end.search(rest):
                self.close(matched)
        elif (in_paragraph and _SETEXT.match(rest)) or _BREAK.match(rest):
            self.close(matched)
        elif self._leaf is None and _indent(rest) >= 4 and rest.strip(" "):
            self._start(matched, _Leaf("code", False))
        else:
            return False
        return True

    def _add_text(self, rest: str, matched: int) -> None:
        if not rest.strip(" "):
            self.close(matched)
        elif self._leaf is not None:
            self._leaf.lines.append(rest)
        else:
            self._start(matched, _Leaf("prose", False, [rest]))

    def _start(self, matched: int, leaf: _Leaf) -> None:
        self.close(matched)
        leaf.quoted = None in self._containers
        self._leaf = leaf


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _closes(fence: str, line: str) -> bool:
    mark = line.strip(" ")
    return _indent(line) < 4 and len(mark) >= len(fence) and not mark.strip(fence[0])


def _without_closing_hashes(text: str) -> str:
    text = text.strip(" ")
    bare = text.rstrip("#")
    return bare.rstrip(" ") if bare == "" or bare.endswith(" ") else text


def _html_leaf(line: str, *, interrupting: bool) -> _Leaf | None:
    """The HTML block that begins on this line; `<pre>`, `<script>` and the like hold code."""
    if _RAW.match(line):
        return _Leaf("code", False, [line], end=_RAW_END)
    for start, end in _SPANNING_HTML:
        if start.match(line):
            return _Leaf("html", False, [line], end=end)
    if _HTML_BLOCK.match(line) or (not interrupting and _LONE_TAG.match(line)):
        return _Leaf("html", False, [line])
    return None
