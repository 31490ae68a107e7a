"""What happened in a range."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.damaged import Damaged


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event, and the line that it was read from where there is one."""

    id: str
    time_us: int
    kind: str
    text: str
    core: int | None
    device: str | None
    queue: int | None
    line: str


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a range, the oldest first. Of too many, those of frequent kinds are left out."""

    events: list[RecordedEvent]
    left_out: int
    kinds: dict[str, int]  # how many there are of each kind, those left out included
    damaged: list[Damaged]
