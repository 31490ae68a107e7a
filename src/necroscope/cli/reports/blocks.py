"""What a report is made of: sections of paragraphs, lists, tables, code and flame graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


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
