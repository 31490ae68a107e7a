"""A report as Markdown (CommonMark, and the tables of GitHub)."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

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
from necroscope.cli.screen import Screen
from necroscope.model.visible_text import visible_text

# What Markdown or HTML inside it would take for an order. An underscore inside a word is none.
SPECIAL = re.compile(r"([\\`*\[\]<>|~#]|&(?=#?\w+;)|\b_|_\b|:(?=//)|(?<=\bwww)\.)", re.IGNORECASE)
MENTION = re.compile(r"(?<!\w)@(?=\w)")  # GitHub looks for them in what is shown: an escape is not enough
NO_WIDTH = "&#8203;"
FENCE = "```"
SAYS_NOTHING = ("", "value", "what", "why")  # columns whose cells speak for themselves


def to_markdown(report: Report, screen: Screen) -> str:
    """The report, no wider than the screen but for commands, which stay as they are."""
    blocks = [_wrap(escape(report.title), screen, "# ", "  ")]
    for section in report.sections:
        blocks += _section(section, screen)
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line and without control characters."""
    escaped = SPECIAL.sub(r"\\\1", visible_text(" ".join(text.split())))
    return MENTION.sub(f"@{NO_WIDTH}", escaped)


def _section(section: Section, screen: Screen) -> Iterator[str]:
    yield f"## {escape(section.title)}"
    for block in section.blocks:
        yield from _block(block, screen)


def _block(block: Block, screen: Screen) -> Iterator[str]:
    match block:
        case Heading(text):
            yield _wrap(escape(text), screen, "### ", "    ")
        case Paragraph(text):
            yield _wrap(escape(text), screen)
        case Bullets(items):
            yield "\n".join(_bullet(screen, escape(item)) for item in items)
        case Table(columns, rows):
            yield _table(columns, rows, screen)
        case Code(text):
            yield _fenced(text.splitlines())
        case Figure(caption, _, text):
            yield _wrap(escape(caption), screen)
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
    return _wrap(text, screen, "- ", "  ")


def _wrap(text: str, screen: Screen, first: str = "", following: str = "") -> str:
    """Wrap escaped text. Words stay whole: half of an escape would not be one."""
    lines = textwrap.wrap(
        text,
        width=max(screen.width, len(following) + 10),
        initial_indent=first,
        subsequent_indent=following,
        break_on_hyphens=False,
        break_long_words=False,
    )
    indents = [first, *[following] * len(lines)]
    return "\n".join(
        indent + _unlike_markup(line[len(indent) :]) for indent, line in zip(indents, lines, strict=False)
    )


def _unlike_markup(line: str) -> str:
    """Escape how a line begins if a list, a table, a heading or the line below one begins like it."""
    return re.sub(r"^(\d+)([.)])(?=\s|$)|^([-+=:])", lambda m: f"{m[1] or ''}\\{m[2] or m[3]}", line)
