"""What a running recorder has written since it was last asked."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.cores import Cores
from necroscope.server.answers.events import RecordedEvent
from necroscope.server.answers.zombies import Zombies


@dataclass(frozen=True, slots=True)
class Live:
    """The newest seconds, at most five minutes of them."""

    now_us: int
    last_us: int  # the newest recorded second
    is_live: bool
    why: str  # why it is not live
    cores: Cores | None
    events: list[RecordedEvent]
    zombies: Zombies | None
