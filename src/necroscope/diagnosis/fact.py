"""One observation that a cause, a conclusion or a rival explanation depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from necroscope.model.finding import Evidence


@dataclass(frozen=True, slots=True)
class Fact:
    """Whether something holds, and what was seen. None: it could not be told, and `unknown` says why."""

    holds: bool | None
    evidence: tuple[Evidence, ...] = ()
    unknown: str = ""


Facts = Mapping[str, Fact]
Words = Mapping[str, str]  # what is put into the sentences of causes.toml


def bare(name: str) -> str:
    """The name of a fact without what asks for its opposite, or allows that it is unknown."""
    return name.lstrip("!?")


def holds(facts: Facts, name: str) -> bool | None:
    """Whether a fact holds. `!name` asks for the opposite; `?name` is content if it is not known."""
    known = facts[bare(name)].holds
    if known is None:
        return True if name.startswith("?") else None
    return not known if name.startswith("!") else known


def all_hold(facts: Facts, names: Iterable[str]) -> bool | None:
    """Whether all of some facts hold: one that does not decides, else one that is unknown."""
    values = [holds(facts, name) for name in names]
    return False if False in values else None if None in values else True


def evidence_of(facts: Facts, names: Iterable[str]) -> tuple[Evidence, ...]:
    """What was seen of some facts, each piece once."""
    seen = (one for name in names for one in facts[bare(name)].evidence)
    return tuple(dict.fromkeys(seen))
