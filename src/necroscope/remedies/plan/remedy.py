"""What every remedy can do: say what it would change on a host."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from necroscope.model.fix import State
from necroscope.model.plan import Assumption, ByHand, Step
from necroscope.sources.host import Host


@dataclass(frozen=True, slots=True)
class Part:
    """What one remedy adds to a plan. Without steps and advice: there is nothing to do."""

    steps: tuple[Step, ...] = ()
    by_hand: tuple[ByHand, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[str, ...] = ()
    vital: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()  # what the choice rests on, in sentences; differs from look to look
    subject: str = ""  # what it chose itself to be for: planned for that, it is the same in a minute


# Of a host, a subject, a step and the state before it: empty if the remedy could have planned this step for
# the subject and met this state, else why not. What holds for all steps of a kind is in Action.why_not_ours.
WhyNotPlanned = Callable[[Host, str, Step, State], str]


def only_for(target: Callable[[str], str]) -> WhyNotPlanned:
    """Return the check of steps that have one possible target, which follows from the subject."""

    def why_not(_host: Host, subject: str, step: Step, _before: State) -> str:
        return "" if step.target == target(subject) else f"{step.target} is not {target(subject)}"

    return why_not


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy: its id, and the function that plans it for a subject. It changes nothing.

    Planning twice without a change gives the same steps and assumptions: that is how a plan is checked
    before it is carried out. It raises UsageError for a subject that does not exist, CannotLookError where
    the host does not show what it needs.
    """

    id: str
    plan: Callable[[Host, str], Part]
    steps: Mapping[str, WhyNotPlanned] = field(default_factory=dict)  # by action; it has no others

    @property
    def doc(self) -> str:
        """The manual page."""
        return inspect.getdoc(self.plan) or ""
