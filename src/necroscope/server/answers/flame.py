"""A tree of stacks, of one range or of one against another."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.damaged import Damaged


@dataclass(frozen=True, slots=True)
class FlameLabel:
    """What a frame is called, and what it is of."""

    name: str
    kind: str
    module: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the selection is compared with."""

    text: str
    seconds: float
    samples: int
    ranges: list[tuple[int, int]]  # microseconds, begin and end


@dataclass(frozen=True, slots=True)
class Flame:
    """A node has a place in each array (u32 in base64); a parent stands before its children."""

    title: str
    notes: list[str]
    samples: int
    idle: int
    unknown: int
    lost: int | None
    seconds: float
    nodes: int
    parent: str
    label: str
    total: str
    own: str
    baseline_total: str | None
    baseline_own: str | None
    labels: list[FlameLabel]
    baseline: Baseline | None
    damaged: list[Damaged]
