"""What a need is checked against, and what comes out of one look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

MOST_NAMED = 4  # of the places where something may be, for a person to read


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the needs of a unit are checked against, apart from files."""

    environment: Mapping[str, str]  # Environment= and what its EnvironmentFiles say
    units: Mapping[str, str]  # name -> active, failed, inactive, ...; in an image enabled, disabled, ...
    calls: tuple[str, ...] | None  # whom the unit is connected to; None: not known
    commands: tuple[str, ...] = ()  # its ExecStart=, for the files that they name


class Outcome(NamedTuple):
    """Whether it is there, and what was seen where, or why it cannot be told."""

    met: bool | None
    seen: str


def either(words: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`; of many, the first ones."""
    if len(words) > MOST_NAMED:
        words = [*words[: MOST_NAMED - 1], f"{len(words) - MOST_NAMED + 1} others"]
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
