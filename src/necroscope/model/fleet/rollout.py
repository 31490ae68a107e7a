"""Did a roll-out help, against hosts that did not get it: the answer of `fleet fixed`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Period:
    """What happened to a group of hosts before or after."""

    hosts: int
    episodes: int
    host_hours: float


@dataclass(frozen=True, slots=True)
class Rollout:
    """Changed hosts and control hosts, before and after; the ratio of the ratios and how sure it is."""

    what: str  # what was rolled out, in words
    kinds: tuple[str, ...]
    begin_us: int
    at_us: int  # the first host changed; of a staggered roll-out each host counts by its own time
    end_us: int
    changed_before: Period
    changed_after: Period
    control_before: Period
    control_after: Period
    ratio: float | None  # of the changed hosts alone, after / before
    control_ratio: float | None
    ratio_of_ratios: float | None
    interval: tuple[float, float]  # 95 %
    p_better: float
    p_halved: float
    verdict: str  # better, unchanged, worse, inconclusive
    days_needed: float | None  # without an event, for a sure verdict; None: it is sure
    note: str
