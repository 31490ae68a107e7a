"""Who and what ran more than usual in a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["process", "function", "pair"]
Way = Literal["", "self", "inclusive"]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A process, a kernel function, or a process in a kernel function, in a window and in quiet seconds."""

    kind: Kind
    process: str  # empty for a function
    function: str  # empty for a process
    way: Way  # of a function: in it alone, or in it and what it calls
    share: float  # of the cores' time in the window
    quiet_share: float
    lift: float | None  # share / quiet share; None: never seen in a quiet second
    seconds_above: int  # seconds of the window above every quiet second
    probability: float  # that chance alone does this to any of all that was compared
    is_significant: bool
    windows: int = 1  # in how many windows it stood out, where there are several


@dataclass(frozen=True, slots=True)
class Ranking:
    """The suspects, the most suspicious first, and what they were compared with."""

    cores: tuple[int, ...]  # empty: all
    window_seconds: int
    quiet_seconds: int
    windows: int
    compared: int  # how many were compared
    suspects: tuple[Suspect, ...]
    culprit: Suspect | None  # the pair that explains the window; None: nothing stands out
    note: str = ""  # why nothing could be said, or how far it can be trusted
