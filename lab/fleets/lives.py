"""When each host of a generated fleet is there, boots, and does not record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.fleets.made_of import MadeOf, Random
from lab.fleets.plan import Plan

Seconds = NDArray[np.float64]

BORN, GONE = 0.15, 0.15  # shares of hosts that come, and that go, while the fleet runs
SPOT_TIMES = 2.0  # so much more often where the machine is lent only
BOOTS_A_WEEK = 0.15
MOST_BOOTS = 4
SILENT = 0.05  # share of hosts that do not record for some hours


@dataclass(frozen=True, slots=True, eq=False)
class Lives:
    """Seconds from the begin of the fleet, by host."""

    begin: Seconds
    end: Seconds
    boots: Seconds  # hosts x MOST_BOOTS, sorted; infinite: not so many
    silent_begin: Seconds  # infinite: never
    silent_end: Seconds

    def recorded_between(self, begin: Seconds, end: Seconds) -> Seconds:
        """How many seconds of a stretch each host records."""
        return _overlap(self.begin, self.end, begin, end) - _overlap(
            np.maximum(self.silent_begin, self.begin), np.minimum(self.silent_end, self.end), begin, end
        )

    def is_recorded(self, host: NDArray[np.int_], at: Seconds) -> NDArray[np.bool_]:
        """Whether a host records at a time."""
        alive = (at >= self.begin[host]) & (at < self.end[host])
        silent = (at >= self.silent_begin[host]) & (at < self.silent_end[host])
        found: NDArray[np.bool_] = alive & ~silent
        return found

    def boot_number(self, host: NDArray[np.int_], at: Seconds) -> NDArray[np.int_]:
        """Which boot of a host it is at a time."""
        number: NDArray[np.int_] = (self.boots[host] <= at[:, None]).sum(axis=1)
        return number


def make_lives(plan: Plan, made: MadeOf, random: Random) -> Lives:
    """Hosts that come and go: those of spot capacity more often."""
    hosts, seconds = plan.hosts, plan.seconds
    capacity = made.facts["labels/kubernetes/capacity"]
    times = np.where(capacity.is_value("spot")[0], SPOT_TIMES, 1.0)
    begin = np.where(random.random(hosts) < BORN * times, random.random(hosts) * seconds, 0.0)
    end = np.where(
        random.random(hosts) < GONE * times, begin + random.random(hosts) * (seconds - begin), seconds
    )
    begin, end = np.floor(begin / 60) * 60, np.ceil(end / 60) * 60
    silent = np.where(random.random(hosts) < SILENT, random.random(hosts) * seconds, np.inf)
    silent_end = np.where(np.isfinite(silent), silent + random.random(hosts) * 6 * 3600, np.inf)
    return Lives(begin, end, _boots(plan, made, begin, end, random), silent, silent_end)


def _boots(plan: Plan, made: MadeOf, begin: Seconds, end: Seconds, random: Random) -> Seconds:
    """Boots by chance, and where a host got another kernel."""
    times = random.random((plan.hosts, MOST_BOOTS)) * (end - begin)[:, None] + begin[:, None]
    counts = random.poisson(BOOTS_A_WEEK * (end - begin) / (7 * 86400.0))
    times[np.arange(MOST_BOOTS) >= counts[:, None]] = np.inf
    kernel = made.facts["labels/kernel"].codes
    upgraded = kernel[0] != kernel[1]
    times[upgraded, -1] = made.changes_at[upgraded]
    return np.sort(times, axis=1)


def _overlap(begin: Seconds, end: Seconds, other_begin: Seconds, other_end: Seconds) -> Seconds:
    longest = np.minimum(end, other_end) - np.maximum(begin, other_begin)
    return np.where(np.isfinite(longest), np.maximum(longest, 0.0), 0.0)
