"""Evidence as a person would write it."""

from __future__ import annotations

from necroscope.model.amounts import bytes_text
from necroscope.model.finding import Evidence


def value_text(evidence: Evidence) -> str:
    """A value with its unit as a person would write it."""
    value, unit = evidence.value, evidence.unit
    if isinstance(value, str):
        return f"{value} {unit}".strip() if unit not in ("line", "UTC") else value
    if unit == "ratio":
        return f"{value:.0%}"
    if unit == "bytes":
        return bytes_text(value)
    return f"{value:,} {unit.removesuffix('s') if value == 1 else unit}".strip()
