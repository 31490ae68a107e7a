"""Which hosts there are recordings of."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.damaged import Damaged


@dataclass(frozen=True, slots=True)
class RecordedHost:
    """A host and the time that its recordings cover, holes included."""

    name: str
    begin_us: int
    end_us: int
    is_live: bool  # a recorder wrote in the last seconds
    cores: int
    kernel: str
    labels: dict[str, str]
    segments: int


@dataclass(frozen=True, slots=True)
class Hosts:
    """All hosts, the one with the newest second first."""

    hosts: list[RecordedHost]
    damaged: list[Damaged]
    now_us: int
    version: str
    has_fleet: bool = False  # a fleet can be asked about, too
