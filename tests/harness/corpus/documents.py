"""Small documents that tests make: PDFs of set lines, web pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BODY = 10.0
SENTENCE = (
    "Potassium is measured again within two hours of treatment, and the tracing is repeated at the bedside."
)


IMAGE = b"q 400 0 0 600 72 72 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q"
DRAWING = b"72 72 m 100 200 l 300 90 l 500 700 l S"


@dataclass(frozen=True)
class Set:
    """A line as it is set: `up` is points above the page's foot."""

    text: str
    up: float
    size: float = BODY
    bold: bool = False
    left: float = 72


def page_of(*lines: tuple[str, float, bool], head: str = "", foot: str = "") -> list[Set]:
    """Lines of text, size and weight, set from the top of a page down, with room before headings."""
    up, found = 680.0, []
    for text, size, bold in lines:
        heading = bold or size > BODY
        up -= 30 if heading else 12
        found.append(Set(text, up, size, bold))
        up -= 14 if heading else 0
    margins = [Set(head, 770), Set(foot, 30)]
    return [*(line for line in margins if line.text), *found]


def pdf(pages: Sequence[Iterable[Set | bytes]], outline: Sequence[tuple[str, int]] = ()) -> bytes:
    """A PDF of letter pages in Helvetica; the outline has titles with their pages, from 1.

    What is bytes on a page is drawn as it stands: `IMAGE`, `DRAWING`.
    """
    objects: list[bytes] = [b"", b"", b"", b""]
    kids = []
    for page in pages:
        content = b"\n".join(line if isinstance(line, bytes) else _shown(line) for line in page)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>" % len(objects)
        )
        kids.append(len(objects))
    first = len(objects) + 2
    for place, (title, number) in enumerate(outline):
        after = b" /Next %d 0 R" % (first + place) if place + 1 < len(outline) else b""
        objects.append(
            b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit]%s >>"
            % (title.encode("latin-1"), first - 1 + len(outline), kids[number - 1], after)
        )
    if outline:
        start = len(objects) - len(outline) + 1
        objects.append(
            b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>"
            % (start, len(objects), len(outline))
        )
    root = b" /Outlines %d 0 R" % len(objects) if outline else b""
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R%s >>" % root
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(kids),
        b" ".join(b"%d 0 R" % kid for kid in kids),
    )
    objects[2] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects[3] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>"
    return _file(objects)


def _shown(line: Set) -> bytes:
    text = line.text.encode("latin-1").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    font = b"F2" if line.bold else b"F1"
    return b"BT /%s %g Tf %g %g Td (%s) Tj ET" % (font, line.size, line.left, line.up, text)


def _file(objects: Sequence[bytes]) -> bytes:
    data, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return data + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (size, table, size, len(data))
    )


def guideline_pdf(first: str = "1 Scope") -> bytes:
    """Two pages with two sections each, the second of which begins on the second page."""
    text = (SENTENCE, BODY, False)
    return pdf(
        [
            page_of(("A guideline", 20, True), text, (first, 14, True), text, text, text),
            page_of(
                text, ("2 Treatment", 14, True), text, ("Calcium gluconate is given first.", BODY, False)
            ),
        ]
    )


def web_page(body: str, title: str = "Hyperkalaemia") -> bytes:
    """A page whose main part is the body."""
    return (
        f"<!doctype html><html><head><meta charset=utf-8><title>{title}</title></head>"
        f"<body><nav>Home Search</nav><main>{body}</main><footer>Contact</footer></body></html>"
    ).encode()


LONG = f"<p>{SENTENCE * 5}</p>"
GUIDELINE_HTML = web_page(
    f"<h1>Hyperkalaemia</h1>{LONG}<h2>1 Scope</h2>{LONG}<h2>2 Treatment</h2><p>Calcium first.</p>"
)
LOGIN_HTML = web_page(
    "<h1>Welcome</h1><form><input name=user><input type=password name=word><button>Go</button></form>"
    f"<p>{SENTENCE * 3}</p>",
    "Members",
)
