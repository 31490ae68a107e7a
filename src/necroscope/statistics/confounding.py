"""Which of several that go with a symptom only follows another, and which two cannot be told apart.

What is a cause goes with the symptom also among hosts that are alike in everything else. So each is looked at
among hosts alike in the other: who keeps its excess stands by itself; who loses it follows the other; where
too few hosts have one without the other, nobody can tell.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from necroscope.statistics.mantel_haenszel import Excess

MOST_ALIKE_IN = 4  # hosts alike in more than so many are too few


class Left(enum.Enum):
    """What is left of an excess among hosts that are alike in something."""

    KEEPS = "keeps"
    WEAK = "weak"  # it is there, but weaker
    LOSES = "loses"  # it would have shown, and does not
    UNKNOWN = "unknown"  # too little is left to compare


class Verdict(enum.Enum):
    """How one stands to another."""

    FOLLOWS = "follows"
    LEADS = "leads"
    ALIKE = "alike"  # cannot be told apart
    APART = "apart"  # each stands by itself


class Limits(NamedTuple):
    """From where on an excess is kept or lost."""

    keeps_p: float
    loses_p: float
    would_show: float  # how clearly the whole effect would have shown, in standard deviations


class Suspect(Protocol):
    """One that goes with a symptom."""

    follows: list[Any]  # what it follows
    alike: list[Self]  # cannot be told apart from these


S = TypeVar("S", bound=Suspect)


def what_is_left(within: Excess, effect: float, limits: Limits) -> Left:
    """Judge the excess within strata of what has some effect over all hosts."""
    is_same_way = within.excess * effect > 0
    if within.p <= limits.keeps_p:
        # The other way round it is not the excess that was found.
        return Left.KEEPS if is_same_way else Left.LOSES
    if within.p <= limits.loses_p and is_same_way:
        return Left.WEAK
    would_show = abs(effect) * math.sqrt(within.variance) >= limits.would_show
    return Left.LOSES if would_show else Left.UNKNOWN


def verdict_of(own: Left, its: Left, is_separable: Callable[[], bool]) -> Verdict:
    """Return how one stands to another, by what is left of each among hosts that are alike in the other.

    `is_separable` is asked if one lost something: whether enough hosts have one of them without the other.
    """
    is_lost, other_is_lost = (left in (Left.LOSES, Left.UNKNOWN) for left in (own, its))
    if not is_lost and not other_is_lost:
        return Verdict.APART
    if not is_separable():
        return Verdict.ALIKE
    if Left.KEEPS in (own, its):
        return Verdict.FOLLOWS if is_lost else Verdict.LEADS
    if (own is Left.LOSES) == (its is Left.LOSES):
        return Verdict.ALIKE
    return Verdict.FOLLOWS if own is Left.LOSES else Verdict.LEADS


def find_leads(
    suspects: Sequence[S], verdict: Callable[[S, S], Verdict], known_as: Callable[[S], object]
) -> list[S]:
    """Return those that stand by themselves; the others note whom they follow or are alike.

    The suspects come in order, the likeliest first. `known_as` is what a follower notes of its lead.
    """
    leads: list[S] = []
    left = list(suspects)
    while left:
        for one in left:
            _compare_with_leads(one, leads, verdict, known_as)
        # One that was only alike to a lead which turned out to follow another is looked at once more.
        left = [one for one in left if one not in leads and not one.follows and not one.alike]
    return leads


def _compare_with_leads(
    one: S, leads: list[S], verdict: Callable[[S, S], Verdict], known_as: Callable[[S], object]
) -> None:
    for lead in list(leads):
        match verdict(one, lead):
            case Verdict.FOLLOWS:
                note_follows(one, known_as(lead))
                return
            case Verdict.LEADS:
                note_follows(lead, known_as(one))
                leads.remove(lead)
            case Verdict.ALIKE:
                note_alike(one, lead)
    if not one.alike:
        leads.append(one)


def note_alike(one: S, other: S) -> None:
    """Note at both that nobody can tell them apart."""
    one.alike.append(other)
    other.alike.append(one)


def note_follows(one: Suspect, lead: object) -> None:
    """Note what one follows: it says nothing beyond that, and is alike to nobody."""
    one.follows.append(lead)
    for other in one.alike:
        other.alike.remove(one)
    one.alike.clear()
