"""The block scanner against a full CommonMark parser, and against reports made to be slow."""

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from harness.scoring.blocks import MAX_DEPTH, scan_blocks

PIECES = [
    "## Answer: YES", "# x #", "text", "*", "- ", "-", "+ a", "1. ", "2) b", "> ", ">", "    ", "  ", " ", "\t",
    "```", "````", "~~~", "``` py", "<!--", "-->", "<div>", "</div>", "<pre>", "</pre>", "<b>", "===", "---",
    "***", "| a | b |", "|---|---|", "`", "<?", "?>", "[lab:1]", "#", "####### x", "\\",
]  # fmt: skip

LINES = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
DOCUMENTS = st.lists(LINES, max_size=9).map("\n".join)


def _reference(text: str) -> list[tuple[str, bool]]:
    """ATX headings outside code and HTML, with whether a quotation holds them, as markdown-it finds them."""
    found, depth = [], 0
    tokens = MarkdownIt("commonmark").parse(text)
    for token, following in itertools.zip_longest(tokens, tokens[1:]):
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "heading_open" and token.markup.startswith("#"):
            assert following is not None
            found.append((" ".join(following.content.split()), depth > 0))
    return found


few = settings(max_examples=100, deadline=None, derandomize=True)
many = settings(max_examples=400, deadline=None, derandomize=True)


def assert_headings_agree(text: str) -> None:
    ours = [
        (" ".join(block.text.split()), block.quoted) for block in scan_blocks(text) if block.kind == "heading"
    ]
    assert ours == _reference(text)


def assert_citations_agree(text: str) -> None:
    ours = sum(
        block.text.count("[lab:1]") for block in scan_blocks(text) if block.kind in ("prose", "heading")
    )
    tokens = MarkdownIt("commonmark").parse(text)
    assert ours == sum(token.content.count("[lab:1]") for token in tokens if token.type == "inline")


@few
@given(DOCUMENTS)
def test_headings_are_those_that_a_commonmark_parser_finds(text: str) -> None:
    assert_headings_agree(text)


@few
@given(DOCUMENTS)
def test_citations_in_running_text_are_those_that_a_commonmark_parser_finds(text: str) -> None:
    assert_citations_agree(text)


@pytest.mark.slow
@many
@given(DOCUMENTS)
def test_headings_and_citations_are_those_of_a_commonmark_parser_at_length(text: str) -> None:
    assert_headings_agree(text)
    assert_citations_agree(text)


def test_no_report_of_the_allowed_size_takes_long() -> None:
    size = 64 * 1024
    shapes = [
        ">" * size, "- " * (size // 2), "- " * (size // 4) + "\n" * (size // 2), "> " * 20000 + "\n>" * 10000,
        "`" * size, "` `` ``` " * (size // 9), "<!--" * (size // 4), "[" * size, "[a" * (size // 2),
        "#" * size, "# " + "#" * size, "# " + " #" * (size // 2), "<a " * (size // 3), "<code>" * (size // 6),
        "* " * (size // 2), "```\n" * (size // 4), "\n" * size, "-" * size, "a\n" * (size // 2), "\t" * 16000,
        "<div>\n" * (size // 6), "\\" * size + "`", "1. " * (size // 3), "> a\n" * (size // 4),
    ]  # fmt: skip
    started = time.process_time()
    for shape in shapes:
        scan_blocks(shape)
    assert time.process_time() - started < 5


def test_nesting_beyond_the_limit_is_text() -> None:
    assert [block.kind for block in scan_blocks("> " * MAX_DEPTH + "# x")] == ["heading"]
    assert [block.kind for block in scan_blocks("> " * MAX_DEPTH + "> # x")] == ["prose"]
