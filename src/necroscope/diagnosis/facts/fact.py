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


def holds(facts: Facts, name: str) -> bool | None:
    """Whether a fact holds; `!name` asks for the opposite, and what is unknown stays so."""
    known = facts[name.removeprefix("!")].holds
    return known if known is None or not name.startswith("!") else not known


def all_hold(facts: Facts, names: Iterable[str]) -> bool | None:
    """Whether all of some facts hold: one that does not decides, else one that is unknown."""
    values = [holds(facts, name) for name in names]
    return False if False in values else None if None in values else True


def evidence_of(facts: Facts, names: Iterable[str]) -> tuple[Evidence, ...]:
    """What was seen of some facts, each piece once."""
    seen = (one for name in names for one in facts[name.removeprefix("!")].evidence)
    return tuple(dict.fromkeys(seen))
