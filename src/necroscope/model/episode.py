"""One incident, seen through several events."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.event import Event


@dataclass(frozen=True, slots=True)
class Episode:
    """Events of one kind and place of which each follows the one before closely."""

    first: Event  # by its id the episode is named
    clearest: Event  # says most about what happened
    end_ns: int  # the newest event, on the clock of the first
    lines: int  # events of trouble: one that reports the end is not counted
    reason: str  # of a NIC reset: one of signals/reset_reason.py, the strongest that a line gives

    @property
    def begin_ns(self) -> int:
        """Return when the first event happened."""
        return self.first.time_ns
