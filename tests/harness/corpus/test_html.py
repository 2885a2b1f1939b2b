"""Web pages become Markdown: what shows of their main part."""

import cProfile

import pytest

from harness.corpus.html import read_page
from tests.harness.corpus.documents import GUIDELINE_HTML, LOGIN_HTML, LONG, SENTENCE, web_page


def text_of(body: str) -> str:
    return read_page(web_page(body + LONG)).markdown.removesuffix(SENTENCE * 5).strip()


def test_headings_become_sections_and_the_pages_frame_is_left_out() -> None:
    text = read_page(GUIDELINE_HTML).markdown
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "## Hyperkalaemia", "## 1 Scope", "## 2 Treatment",
    ]  # fmt: skip
    assert "Home" not in text
    assert "Contact" not in text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>150 &times; 10<sup>9</sup>/L of\n blood<br>and<!-- not --> CO<sub>2</sub></p>", "150 × 10^9/L of blood\nand CO2"),
        ("<div>loose <b>bold</b><p>own</p>tail</div>", "loose bold\n\nown\n\ntail"),
        ("<ul><li>one<ul><li>in</li></ul></li><li>two</li></ul>", "- one\n  - in\n- two"),
        ("<ol><li>a</li><li><p>b</p><p>c</p></li></ol>", "1. a\n2. b\n  c"),
        ("<table><caption>T</caption><tr><th>A</th><th>B</th></tr><tr><td>1</td><td><p>2</p><p>3</p></td></tr></table>", "T\n\n| A | B |\n| 1 | 2 3 |"),
        ("<a href=x><h3>Linked</h3></a>", "### Linked"),
        ("<p># 3 not</p><pre>```\n## nor</pre>", "\\# 3 not\n\n\\```\n\\## nor"),
        ("<img src=a.png alt='Figure 1: staging'>", "[image: Figure 1: staging]"),
    ],
    ids=["inline", "loose", "nested", "ordered", "table", "link", "escaped", "image"],
)  # fmt: skip
def test_blocks_keep_their_shape(body: str, text: str) -> None:
    assert text_of(body) == text


def test_what_does_not_show_is_not_text() -> None:
    hidden = (
        "<p hidden>x1</p>",
        "<p style='display:none'>x2</p>",
        "<script>x3</script>",
        "<p aria-hidden=true>x4</p>",
    )
    assert text_of("".join(hidden) + "<p>seen</p>") == "seen"


@pytest.mark.parametrize(
    "style",
    [
        "display:  none", "DISPLAY:NONE", "display\n:none", "color:red;display :\tnone !important", "display:none;",
        "display:/**/none", "dis\\70lay:none", "display:none;display:nothing", "visibility: Hidden",
        "visibility:collapse", "opacity:0", "opacity: 0.00", "opacity:.0", "opacity:0%", "font-size:0", "font-size: 0px",
    ],
)  # fmt: skip
def test_what_its_own_style_hides_is_not_text(style: str) -> None:
    assert text_of(f"<div style='{style}'><p>x</p></div><p>seen</p>") == "seen"


@pytest.mark.parametrize(
    "style",
    [
        "display:block", "display:inline-block", "visibility:visible", "opacity:0.5", "opacity:.05", "font-size:0.9em",
        "font-size:10px", "content:none", "background:none", "", ";;:",
    ],
)  # fmt: skip
def test_what_a_style_does_not_hide_is_text(style: str) -> None:
    assert text_of(f"<p style='{style}'>seen</p>") == "seen"


def test_what_only_the_look_of_a_page_hides_is_text_as_the_documentation_says() -> None:
    for body in (
        "<p style='color:white'>seen</p>",
        "<p style='position:absolute;left:-9999px'>seen</p>",
        "<style>.a{display:none}</style><p class=a>seen</p>",
        "<details>seen</details>",
    ):
        assert text_of(body) == "seen"


def test_hidden_elements_may_lie_in_one_another() -> None:
    body = "<div hidden><nav style='display:none'><p style='opacity:0'>x</p></nav></div><p>seen</p>"
    assert text_of(f"<div style='display:none'>{body}</div>{body}") == "seen"


@pytest.mark.parametrize(
    "root", ["<html hidden><body>", "<html style='opacity:0'><body>", "<html><body hidden>"]
)
def test_a_page_that_is_hidden_until_its_script_has_run_is_text(root: str) -> None:
    assert read_page(f"{root}<p>seen</p>".encode()).markdown == "seen"


def test_a_page_says_in_which_letters_it_is_written() -> None:
    page = f"<html><head><meta charset='iso-8859-1'></head><body><p>5 µmol</p>{LONG}</body></html>"
    assert "5 µmol" in read_page(page.encode("iso-8859-1")).markdown
    assert "5 µmol" in read_page(page.encode()).markdown
    assert "5 µmol" in read_page(page.encode("utf-16")).markdown


@pytest.mark.parametrize(
    "name", ["idna", "punycode", "undefined", "utf-7", "unicode_escape", "hex", "no.such"]
)
def test_letters_that_no_page_is_written_in_are_guessed(name: str) -> None:
    page = f"<html><head><meta charset='{name}'></head><body><p>5 µmol</p>{LONG}</body></html>"
    assert "5 µmol" in read_page(page.encode("cp1252")).markdown


def test_reading_takes_time_in_proportion_to_the_page() -> None:
    def calls(depth: int) -> int:
        counted = cProfile.Profile()
        counted.runcall(text_of, "<span>" * depth + "<p>seen</p>" + "</span>" * depth)
        return sum(entry.callcount for entry in counted.getstats())

    assert calls(200) < 2.5 * calls(100)


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (LOGIN_HTML, "asks for a login"),
        (web_page(LONG, "Access Denied"), "Access Denied"),
        (web_page(LONG, "Just a moment..."), "Just a moment"),
        (web_page("<p>Loading</p>"), "only 7 characters"),
        (GUIDELINE_HTML, None),
    ],
    ids=["login", "denied", "challenge", "empty", "guideline"],
)
def test_a_page_that_came_in_a_documents_place_is_known(page: bytes, why: str | None) -> None:
    found = read_page(page).obstacle
    assert found is None if why is None else why in (found or "")
