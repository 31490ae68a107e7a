"""What a report is made of: sections of paragraphs, lists, tables, code and flame graphs; and it redacted.

All of its text goes through the door that snapshots go through.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from necroscope.inventory.redaction.redact import redact_symbol, redact_text, redact_value
from necroscope.profiles.flame import Flame


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences that stand beside each other."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of the same columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines whose blanks and ends matter."""

    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A flame graph as an SVG element, and the same in lines for who cannot see it."""

    caption: str
    svg: str
    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows inside a section."""

    text: str


Block: TypeAlias = Paragraph | Bullets | Table | Code | Figure | Heading


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report; `id` is where links lead to."""

    id: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report. `verdict` is its first sentence."""

    title: str
    host: str
    begin: str  # UTC
    end: str
    verdict: str
    sections: tuple[Section, ...]


def redacted(report: Report) -> Report:
    """The same report, without secrets in any of its words. Graphs are made of redacted names."""
    return replace(
        report,
        title=redact_text(report.title),
        host=redact_text(report.host),
        verdict=redact_text(report.verdict),
        sections=tuple(_section(section) for section in report.sections),
    )


def redacted_flame(flame: Flame) -> Flame:
    """The same graph. Names of functions keep the hashes that compilers put into them."""
    labels = tuple(
        replace(label, name=redact_symbol(label.name), module=redact_text(label.module))
        for label in flame.labels
    )
    return replace(flame, labels=labels)


def _section(section: Section) -> Section:
    return replace(section, blocks=tuple(map(_block, section.blocks)))


def _block(block: Block) -> Block:
    if isinstance(block, Paragraph | Code | Heading):
        return replace(block, text=redact_text(block.text))
    if isinstance(block, Bullets):
        return Bullets(tuple(map(redact_text, block.items)))
    if isinstance(block, Table):
        return replace(block, rows=tuple(_row(row) for row in block.rows))
    assert isinstance(block, Figure)
    return replace(block, caption=redact_text(block.caption))


def _row(row: tuple[str, ...]) -> tuple[str, ...]:
    """A name may tell that what stands beside it is secret."""
    name, *values = row
    return (redact_text(name), *(redact_value(name, value) for value in values))
