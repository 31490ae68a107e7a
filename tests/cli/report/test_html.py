from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.cli.report.blocks import (
    Block,
    Bullets,
    Code,
    Figure,
    Heading,
    Paragraph,
    Report,
    Section,
    Table,
)
from necroscope.cli.report.html import to_html
from necroscope.profiles.export.svg import encode_svg
from necroscope.profiles.export.title import Title
from tests.cli.report.html_pages import Page
from tests.profiles.export.flames import ONE
from tests.profiles.export.other_tools import chromium_dom

HOSTILE = "</td><script>alert(1)</script>\" onload='x' &amp; ]]> \x1b[31m\u202e"


def page(*blocks: Block) -> str:
    section = Section("summary", "Summary", blocks)
    return to_html(Report("Incident on node", "node", "begin", "end", "it broke", (section,)))


def figure(number: int) -> Figure:
    prefix = f"flame-{number}-"
    return Figure("a graph", encode_svg(ONE, Title("a graph"), prefix=prefix).decode(), "text")


def test_every_block_is_there_and_closed() -> None:
    made = Page(
        page(
            Paragraph("it broke"),
            Heading("why"),
            Bullets(("one", "two")),
            Table(("name", "value"), (("a", "1"), ("b", "2"))),
            Code("line 1\n  line 2"),
        )
    )
    assert made.faults == [] and made.fetched == []
    assert made.tags["li"] == 2 and made.tags["td"] == 2 and made.tags["h3"] == 1
    assert "line 1\n  line 2" in made.text


@pytest.mark.parametrize(
    "block",
    [
        Paragraph(HOSTILE),
        Heading(HOSTILE),
        Bullets((HOSTILE,)),
        Table((HOSTILE, HOSTILE), ((HOSTILE, HOSTILE),)),
        Code(HOSTILE),
        Figure(HOSTILE, "<svg></svg>", HOSTILE),
    ],
    ids=lambda block: type(block).__name__,
)
def test_nothing_that_was_recorded_becomes_markup(block: Block) -> None:
    text = page(block)
    made = Page(text)
    assert made.faults == [] and made.tags["script"] == 0
    assert "\x1b" not in text and "\u202e" not in text
    assert any("<script>alert(1)</script>" in words for words in made.text)


def test_several_graphs_share_a_page_without_sharing_ids() -> None:
    made = Page(page(figure(1), figure(2)))
    assert made.faults == [] and made.fetched == []
    assert made.tags["svg"] == 2
    assert {"flame-1-frames", "flame-2-frames"} <= set(made.ids)


def test_each_graph_of_a_page_has_its_own_search_in_a_browser(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page(figure(1), figure(2)))
    dom = chromium_dom(file)
    assert dom.count('id="flame-1-search"') == dom.count('id="flame-2-search"') == 1
    assert dom.count('role="treeitem"') == 2 * len(ONE.parent)
