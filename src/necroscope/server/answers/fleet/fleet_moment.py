"""Whether the host's own recording of some seconds is here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Whereabouts = Literal["here", "brought", "not shipped", "unknown host"]


@dataclass(frozen=True, slots=True)
class FleetMoment:
    """Where the recording is, and how to ask the host for it."""

    whereabouts: Whereabouts
    segments: int  # that touch the range
    command: str  # has the host send it; empty: it is here
