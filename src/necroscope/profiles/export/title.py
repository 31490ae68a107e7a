"""What an exported flame graph says about itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Title:
    """Where the samples come from, and what a reader must know beside them."""

    text: str  # "web-1, 5 s until 2026-04-15T10:02:11Z, core 37"
    unit: str = "samples"
    period_ns: int | None = None  # CPU time that one sample stands for, if known
    notes: tuple[str, ...] = ()  # idle, unknown and lost counts, the direction of a difference
