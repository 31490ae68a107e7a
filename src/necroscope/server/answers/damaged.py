"""A part of the recording that could not be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Damaged:
    """What could not be read, and what to do about it."""

    what: str
    hint: str
