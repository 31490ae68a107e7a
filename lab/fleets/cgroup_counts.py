"""Memory cgroups of a generated fleet: leaks that end at a boot or a purge, noise, and counts that wander."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lab.fleets.lives import Lives, Seconds
from lab.fleets.made_of import MEMORY_GIB, MadeOf, Random
from lab.fleets.plan import Plan

PURGES_A_WEEK = 0.5
MOST_PURGES = 4
WANDERING = 0.1  # share of hosts whose number of pods is a random walk
ZOMBIE_BYTES = 300 * 1024
WALL_RATIO = 0.05  # of memory


class CgroupCounts:
    """Counts of every host as time goes on; asked for times that only grow."""

    def __init__(self, plan: Plan, made: MadeOf, lives: Lives, random: Random) -> None:
        hosts = plan.hosts
        leak = plan.leak
        leaks = random.random(hosts) < (leak.share if leak else 0.0)
        self.leak_per_hour = np.where(
            leaks, (leak.per_hour if leak else 0.0) * random.lognormal(0.0, 0.5, hosts), 0.0
        )
        self.in_use = random.integers(150, 400, hosts)
        kind = made.facts["labels/instance_type"]
        gib = np.array([MEMORY_GIB.get(value, 256) for value in kind.values])[kind.codes[0]]
        self.wall_level = (self.in_use + gib * 2**30 * WALL_RATIO / ZOMBIE_BYTES).astype(np.int64)
        # At the first moment a host may have leaked for weeks, but not so much that it hurts already.
        self._at_begin = random.random(hosts) * np.minimum(
            self.leak_per_hour * 24 * 14, 0.8 * self.wall_level
        ) + random.integers(10, 60, hosts)
        self._resets = np.sort(np.concatenate([lives.boots, _purges(plan, random)], axis=1), axis=1)
        self._wanders = random.random(hosts) < WANDERING
        self._walk = np.zeros(hosts)
        self._random = random

    def at(self, times: Seconds) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Zombies, tracked and in use at some times; times x hosts."""
        hosts = len(self.in_use)
        steps = self._random.normal(0.0, 3.0, (len(times), hosts)) * self._wanders
        walks = self._walk + np.cumsum(steps, axis=0)
        self._walk = walks[-1]
        since = np.zeros((len(times), hosts))
        begun = np.broadcast_to(self._at_begin, since.shape).copy()
        for reset in self._resets.T:
            past = reset[None, :] <= times[:, None]
            since = np.where(past, reset, since)
            begun = np.where(past, 20.0, begun)
        grown = begun + self.leak_per_hour * (times[:, None] - since) / 3600
        zombies = np.maximum(grown + self._random.normal(0.0, 4.0, grown.shape), 0).astype(np.int64)
        in_use = np.maximum(self.in_use + walks + self._random.normal(0.0, 3.0, grown.shape), 20)
        in_use = in_use.astype(np.int64)
        return zombies, zombies + in_use, in_use


def _purges(plan: Plan, random: Random) -> Seconds:
    times = random.random((plan.hosts, MOST_PURGES)) * plan.seconds
    counts = random.poisson(PURGES_A_WEEK * plan.days / 7, plan.hosts)
    times[np.arange(MOST_PURGES) >= counts[:, None]] = np.inf
    return times
