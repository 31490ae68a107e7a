"""How a source is declared."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host

T = TypeVar("T")

Read = Callable[[], Reading[T]]


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """One thing read from a machine: its public name, how to open it, and what helps when it is absent.

    `open` does what has to be done once and returns the function that reads. A source is read every
    `pace_seconds`, and always at the beginning and the end of a look; one with an infinite pace once.
    """

    id: str
    open: Callable[[Host], Read[T]]
    pace_seconds: float = 1.0
    is_since_last: bool = False  # what it says is about the time since the reading before, not a total
    to_permit: str = "run as root"
    to_support: str = ""

    @property
    def doc(self) -> str:
        """The head of the source's file: what it reads, needs and costs."""
        return (sys.modules[self.open.__module__].__doc__ or "").strip()

    def hint(self, absence: Absence) -> str:
        """What would make the value appear."""
        if absence is Absence.NOT_PERMITTED:
            return self.to_permit
        if absence is Absence.BROKEN:
            return "the reason names what was read; if that is not damaged, please report it"
        return self.to_support
