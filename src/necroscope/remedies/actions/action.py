"""What every kind of change can do: look, do, check, undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.sources.host import Host


@dataclass(frozen=True, slots=True)
class Action:
    """A kind of change. All of it may be called again after a crash in the middle, and does what is left.

    `do` and `undo` raise OSError or ChangeError with a sentence for people.
    """

    id: str
    look: Callable[[Host, Step], State]  # what it will change, as it is now: all that `undo` needs
    do: Callable[[Host, Step], str]  # make the change; what came of it, in words
    check: Callable[[Host, Step], str]  # empty once the change is there, else what is not as it should be
    undo: Callable[[Host, Step, State], None]
    check_undone: Callable[[Host, Step, State], str]  # empty once it is as it was, else what is not
    # Empty if a remedy of ours could have planned this step and this could have been before it, else why not.
    # Asked of every record before root acts on it; it reads and changes nothing.
    why_not_ours: Callable[[Host, Step, State], str]
