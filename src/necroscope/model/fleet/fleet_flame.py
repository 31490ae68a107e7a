"""The flame graph of the seconds before all events of a kind: the answer of `fleet flame`."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.model.fleet.common_culprit import NotCompared


@dataclass(frozen=True, slots=True)
class FleetFlame:
    """What a graph was made of; the graph itself is beside it."""

    kinds: tuple[str, ...]
    begin_us: int
    end_us: int
    events: int  # in the range
    merged: int  # events whose samples are in the graph
    hosts: int  # of those
    seconds: float  # that were looked at, summed over events
    samples: int
    idle: int
    unknown: int
    not_merged: tuple[NotCompared, ...]  # the first of many
    note: str
