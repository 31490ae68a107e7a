"""When in each second of a range there were samples."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.damaged import Damaged


@dataclass(frozen=True, slots=True)
class Named:
    """A core, a process or a thread, and its samples."""

    name: str
    samples: int


@dataclass(frozen=True, slots=True)
class Scope:
    """A subsecond-offset heatmap: counts are u16 in base64, column by column, the earliest row first."""

    begin_us: int
    columns: int  # seconds
    rows: int  # parts of a second
    counts: str  # at most 65,535 a cell
    matched: str | None  # samples that match the search; None without one
    most: int  # in the fullest cell
    samples: int
    idle: int
    unknown: int
    lost: int | None
    recorded_us: list[tuple[int, int]]  # from when to when samples were taken, whichever were asked for
    cpus: list[Named]
    processes: list[Named]
    threads: list[Named]
    damaged: list[Damaged]
