"""A report as Markdown (CommonMark, and the tables of GitHub)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from necroscope.cli.reports.blocks import (
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
from necroscope.cli.screen import Screen
from necroscope.model.visible_text import visible_text

# What Markdown or HTML inside it would take for an order. An underscore inside a word is none.
SPECIAL = re.compile(r"([\\`*\[\]<>|~#]|&(?=#?\w+;)|\b_|_\b)")
FENCE = "```"
SAYS_NOTHING = ("", "value", "what", "why")  # columns whose cells speak for themselves


def to_markdown(report: Report, screen: Screen) -> str:
    """The report, no wider than the screen but for commands, which stay as they are."""
    blocks = [screen.wrap(f"# {escape(report.title)}", hanging=2)]
    for section in report.sections:
        blocks += _section(section, screen)
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line and without control characters."""
    return SPECIAL.sub(r"\\\1", visible_text(" ".join(text.split())))


def _section(section: Section, screen: Screen) -> Iterator[str]:
    yield f"## {escape(section.title)}"
    for block in section.blocks:
        yield from _block(block, screen)


def _block(block: Block, screen: Screen) -> Iterator[str]:
    match block:
        case Heading(text):
            yield screen.wrap(f"### {escape(text)}", hanging=4)
        case Paragraph(text):
            yield screen.wrap(_unlike_markup(escape(text)))
        case Bullets(items):
            yield "\n".join(_bullet(screen, escape(item)) for item in items)
        case Table(columns, rows):
            yield _table(columns, rows, screen)
        case Code(text):
            yield _fenced(text.splitlines())
        case Figure(caption, _, text):
            yield screen.wrap(escape(caption))
            yield _fenced([screen.line(line) for line in text.splitlines()])


def _fenced(lines: Sequence[str]) -> str:
    fence = FENCE
    while any(fence in line for line in lines):
        fence += "`"
    return "\n".join([f"{fence}text", *map(visible_text, lines), fence])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], screen: Screen) -> str:
    """A table where it fits; else a list of its rows, each with the names of its columns."""
    cells = [[escape(cell) for cell in row] for row in rows]
    if any(columns):
        head = [" | ".join(map(escape, columns)), " | ".join("---" for _ in columns)]
        lines = [f"| {line} |" for line in (*head, *(" | ".join(row) for row in cells))]
        if all(len(line) <= screen.width for line in lines):
            return "\n".join(lines)
    return "\n".join(_bullet(screen, _row(columns, row)) for row in cells)


def _row(columns: Sequence[str], row: Sequence[str]) -> str:
    first, *cells = row
    named = zip(
        ("" if name in SAYS_NOTHING else f"{escape(name)} " for name in columns[1:]), cells, strict=True
    )
    return f"**{first}**: {'; '.join(f'{name}{cell}' for name, cell in named if cell)}"


def _bullet(screen: Screen, text: str) -> str:
    return screen.wrap(f"- {text}", 0, 2)


def _unlike_markup(text: str) -> str:
    """A paragraph must not begin like a list or a heading."""
    return re.sub(r"^(\d+)([.)])(?=\s|$)|^([-+=])", lambda m: f"{m[1] or ''}\\{m[2] or m[3]}", text)
