"""A report as one HTML file: no other file is fetched, and it can be printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape as escape_html
from importlib.resources import files

from necroscope import __version__
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
from necroscope.model.visible_text import LINES, visible_text


def to_html(report: Report) -> str:
    """The whole file."""
    return "\n".join(_page(report)) + "\n"


def escape(text: str) -> str:
    """Text as HTML, with characters written out that are not allowed or would disguise others."""
    return escape_html(visible_text(text, LINES))


def _page(report: Report) -> Iterator[str]:
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(report.title)}</title>\n<style>\n{_style()}</style>\n</head>\n<body>"
    yield f"<header>\n<h1>{escape(report.title)}</h1>"
    yield f'<p class="when">{escape(report.begin)} to {escape(report.end)}</p>'
    links = "".join(f'<a href="#{one.id}">{escape(one.title)}</a>' for one in report.sections)
    yield f'<nav aria-label="sections">{links}</nav>\n</header>\n<main>'
    for section in report.sections:
        yield from _section(section)
    yield f"</main>\n<footer>necroscope {escape(__version__)}</footer>\n</body>\n</html>"


def _section(section: Section) -> Iterator[str]:
    yield f'<section id="{section.id}">\n<h2>{escape(section.title)}</h2>'
    for place, block in enumerate(section.blocks):
        is_verdict = section.id == "summary" and place == 0
        yield _block(block) if not is_verdict else _block(block).replace("<p>", '<p class="verdict">', 1)
    yield "</section>"


def _block(block: Block) -> str:
    match block:
        case Heading(text):
            return f"<h3>{escape(text)}</h3>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"
        case Table(columns, rows):
            return _table(columns, rows)
        case Code(text):
            return f"<pre>{escape(text)}</pre>"
        case Figure(caption, svg, _):
            return f"<figure>\n{_inline(svg)}<figcaption>{escape(caption)}</figcaption>\n</figure>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    head = f"<thead><tr>{names}</tr></thead>" if any(columns) else ""
    body = "".join(_row(*row) for row in rows)
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'


def _row(name: str, *cells: str) -> str:
    rest = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{escape(name)}</th>{rest}</tr>'


def _inline(svg: str) -> str:
    """The graph as a part of the page, where its name is read out and its namespace goes without saying."""
    return re.sub(r'<svg xmlns="[^"]*"', '<svg role="group"', svg, count=1)


@cache
def _style() -> str:
    return files("necroscope.cli.report").joinpath("report.css").read_text()
