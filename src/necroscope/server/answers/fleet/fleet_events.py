"""The events of some hosts in some time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FleetEvent:
    """An event of a host of the fleet."""

    id: str
    host: str
    kind: str
    time_us: int
    text: str
    device: str
    core: int | None
    is_shipped: bool  # its whole segment is in the place


@dataclass(frozen=True, slots=True)
class FleetEvents:
    """The first of each episode, the newest first."""

    events: list[FleetEvent]
    left_out: int
