"""A report without secrets: all of its text goes through the door that snapshots go through."""

from __future__ import annotations

from dataclasses import replace

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
from necroscope.inventory.redaction.redact import redact_symbol, redact_text, redact_value
from necroscope.profiles.flame import Flame


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
