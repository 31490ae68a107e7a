"""What came of playing a scenario once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.running.expectation import Check


@dataclass(frozen=True, slots=True)
class Outcome:
    """As expected only if all holds, nothing failed, and the machine is as it was."""

    scenario: str
    folder: Path  # with what it left to look at
    seconds: float
    checks: tuple[Check, ...] = ()
    not_run: tuple[tuple[str, str], ...] = ()  # part, why
    stand_ins: tuple[str, ...] = ()
    left_behind: tuple[str, ...] = ()  # how the machine differs from before
    also_changed: tuple[str, ...] = ()  # on the machine, perhaps by others
    failure: str = ""  # that ended it early
    is_interrupted: bool = False
    unfit: tuple[str, ...] = ()  # why it was not played at all

    @property
    def is_as_expected(self) -> bool:
        """Whether it was played, and all is well."""
        was_played = not self.unfit and not self.failure and bool(self.checks)
        return was_played and not self.left_behind and all(check.holds for check in self.checks)
