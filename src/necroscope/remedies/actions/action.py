"""What every kind of change can do: look, do, check, take back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.sources.host import Host


@dataclass(frozen=True, slots=True)
class Action:
    """A kind of change. All of it may be called again after a crash in the middle, and does what is left.

    `do` and `take_back` raise OSError or ChangeError with a sentence for people.
    """

    id: str
    look: Callable[[Host, Step], State]  # what it will change, as it is now: all that `take_back` needs
    do: Callable[[Host, Step], str]  # make the change; what came of it, in words
    amiss: Callable[[Host, Step], str]  # empty once the change is there, else what is not as it should be
    take_back: Callable[[Host, Step, State], None]
    not_back: Callable[[Host, Step, State], str]  # empty once it is as it was, else what is not
    # Empty if a remedy of ours could have planned this step and this could have been before it, else why not.
    # Asked of every record before root acts on it; it reads and changes nothing.
    why_not_ours: Callable[[Host, Step, State], str]


def nothing_to_look_at(_host: Host, _step: Step) -> State:
    """Of changes that need not be taken back."""
    return {}


def nothing_to_take_back(_host: Host, _step: Step, _before: State) -> None:
    """Of changes that need not be taken back."""


def always_back(_host: Host, _step: Step, _before: State) -> str:
    """Of changes that need not be taken back."""
    return ""
