"""What a machine is free of only by chance."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.finding import Evidence


@dataclass(frozen=True, slots=True)
class Accident:
    """A unit that is enabled and does not run, because something else failed."""

    unit: str
    because: str  # such as: node-setup.service failed (exit 1)
    tie: str  # what ties the two, such as: a failed step names the file it waits for
    is_only_reason: bool  # it starts when that is mended
    evidence: tuple[Evidence, ...]
