"""Attack: a name from the machine becomes a heading, a list, a link or a mention in a Markdown report."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from necroscope.cli.report.blocks import Block, Bullets, Figure, Heading, Paragraph, Report, Section, Table
from necroscope.cli.report.markdown import to_markdown
from necroscope.cli.screen import Screen

WIDTH = 60


def markdown(block: Block) -> list[str]:
    report = Report("Title", "node", "b", "e", "v", (Section("s", "Section", (block,)),))
    return to_markdown(report, Screen(width=WIDTH)).splitlines()[4:]


@pytest.mark.parametrize(
    "word", ["=" * 110, "-" * 110, "- x", "+ x", "1. x", "1) x", ":-:", "=" * WIDTH, "--- -"]
)
@pytest.mark.parametrize(
    "block",
    [
        Paragraph,
        Heading,
        lambda text: Bullets((text,)),
        lambda text: Figure(text, "", ""),
        lambda text: Table(("a", "b"), (("x", text),)),
    ],
)
def test_no_line_of_a_text_begins_like_markup(word: str, block: Callable[[str], Block]) -> None:
    """Also not one that only wrapping makes."""
    for before in range(WIDTH):
        for line in markdown(block("y" * before + " " + word)):
            text = line.removeprefix("- ").removeprefix("### ").strip()
            assert not text.startswith(("=", "-", "+", "1. ", "1) ", ":")), line


@pytest.mark.parametrize("width", [20, 21])
def test_no_escape_is_broken_by_wrapping(width: int) -> None:
    report = Report("Title", "node", "b", "e", "v", (Section("s", "S", (Paragraph("x " + "*" * 200),)),))
    for line in to_markdown(report, Screen(width=width)).splitlines():
        assert "*" not in line.replace("\\*", "") and not line.replace("\\*", "").endswith("\\")


@pytest.mark.parametrize(
    "text", ["@everyone", "(@all)", "http://evil.example", "https://e", "WWW.evil.example"]
)
def test_a_text_is_neither_a_link_nor_a_mention(text: str) -> None:
    shown = " ".join(markdown(Paragraph(text))).replace("\\:", "").replace("\\.", "")
    assert not any(one in shown for one in ("://", "@e", "@a", "WWW."))
