"""How every core spent every column of a range."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.server.answers.damaged import Damaged


@dataclass(frozen=True, slots=True)
class Cores:
    """For each mode cores x columns bytes, row by row, in base64.

    A byte is the percent of the fullest second in the column; 255 where nothing is recorded.
    """

    begin_us: int
    step_us: int  # a multiple of a second
    columns: int
    cores: list[int]
    user: str
    system: str  # with interrupts, without softirqs
    softirq: str
    steal: str
    wait: str  # for disks
    damaged: list[Damaged]
