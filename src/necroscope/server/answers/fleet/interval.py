"""From where to where a number may lie."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """95 %. Null: nothing limits it on that side."""

    low: float | None
    high: float | None
