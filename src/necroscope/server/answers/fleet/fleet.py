"""What there is of a fleet: its place, its time, its labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FleetLabel:
    """A fact by which hosts can be grouped."""

    name: str  # section/name, as in drift
    values: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """What a host has sent that is none of ours, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """What can be asked about."""

    place: str  # its address, without secrets; hidden if it is a folder
    begin_us: int  # of the first hour of the tables
    end_us: int  # of the newest second
    made_us: int  # when the tables were made
    hosts: int
    kinds: dict[str, int]  # events of each kind
    labels: list[FleetLabel]
    rejected: list[Rejected]  # the first of many
    rejected_parts: int
    has_jobs: bool
    trouble: str  # why what is shown may be old; empty: it is not
    now_us: int
