"""The events of a generated fleet: episodes by each host's rate, each of them a burst of events.

Hosts differ (gamma frailty), so that most episodes come from a few hosts; what was planted
multiplies the rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.fleets.lives import Lives, Seconds
from lab.fleets.made_of import MadeOf, Random
from lab.fleets.plan import Plan

Part = tuple[NDArray[np.int_], Seconds, NDArray[np.int_], NDArray[np.int_]]  # host, time, kind, phase

WEEK = 7 * 86400.0
MORE_EVENTS = 1.5  # of a burst, on average, beyond the first
BURST_GAP_SECONDS = 10.0
# Other kinds, of which nothing was planted: episodes a week.
OTHER_KINDS = {"soft-lockup": 0.01, "oom-kill": 0.05, "unit-restart": 0.2}


@dataclass(frozen=True, slots=True, eq=False)
class Episodes:
    """Episodes in no order."""

    host: NDArray[np.int_]
    at: Seconds
    is_after: NDArray[np.bool_]  # the host's change


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Events in the order of time."""

    host: NDArray[np.int_]
    at: Seconds
    kind: tuple[str, ...]
    kinds: NDArray[np.int_]  # places in `kind`
    phase: NDArray[np.int_]  # 0 the first of a burst, 1 one in between, 2 the last


def rates(plan: Plan, made: MadeOf, random: Random) -> NDArray[np.float64]:
    """Episodes a second of every host, before and after its change; 2 x hosts."""
    rate = np.full((2, plan.hosts), plan.episodes_a_week / WEEK)
    if plan.frailty:
        rate *= random.gamma(plan.frailty, 1 / plan.frailty, plan.hosts)
    for plant in plan.plants:
        rate *= np.where(made.facts[plant.fact].is_value(plant.value), plant.ratio, 1.0)
    if plan.rollout:
        codes = made.facts[plan.rollout.fact].codes
        rate[1] *= np.where(codes[0] != codes[1], plan.rollout.ratio, 1.0)
    return rate


def make_episodes(
    plan: Plan, made: MadeOf, lives: Lives, rate: NDArray[np.float64], random: Random
) -> Episodes:
    """When each host has an episode; none while it does not record."""
    begins = np.stack([np.zeros(plan.hosts), np.minimum(made.changes_at, plan.seconds)])
    ends = np.stack([begins[1], np.full(plan.hosts, plan.seconds)])
    begins, ends = np.maximum(begins, lives.begin), np.minimum(ends, lives.end)
    counts = random.poisson(rate * np.maximum(ends - begins, 0.0))
    place = np.repeat(np.arange(counts.size), counts.ravel())
    begin, end = begins.ravel()[place], ends.ravel()[place]
    at = begin + random.random(len(place)) * (end - begin)
    host = place % plan.hosts
    kept = lives.is_recorded(host, at)
    return Episodes(host[kept], at[kept], (place >= plan.hosts)[kept])


def make_events(plan: Plan, lives: Lives, episodes: Episodes, random: Random) -> Events:
    """The bursts, with events of other kinds among them."""
    kinds = ("nic-reset", *OTHER_KINDS)
    parts = [_burst(lives, episodes, random)]
    for number, weekly in enumerate(OTHER_KINDS.values(), 1):
        count = int(random.poisson(weekly * plan.hosts * plan.seconds / WEEK))
        host, at = random.integers(0, plan.hosts, count), random.random(count) * plan.seconds
        kept = lives.is_recorded(host, at)
        parts.append((host[kept], at[kept], np.full(int(kept.sum()), number), np.zeros(int(kept.sum()), int)))
    host, at, kind, phase = (np.concatenate(some) for some in zip(*parts, strict=True))
    order = np.lexsort((host, at))
    return Events(host[order], at[order], kinds, kind[order], phase[order])


def _burst(lives: Lives, episodes: Episodes, random: Random) -> Part:
    more = random.poisson(MORE_EVENTS, len(episodes.host))
    source = np.repeat(np.arange(len(more)), more + 1)
    number = np.arange(len(source)) - np.repeat(np.cumsum(more + 1) - more - 1, more + 1)
    late = np.cumsum(random.random(len(source)) * BURST_GAP_SECONDS)
    first = late[np.cumsum(more + 1) - more - 1] if len(more) else late
    at = episodes.at[source] + late - np.repeat(first, more + 1)
    host = episodes.host[source]
    phase = np.where(number == 0, 0, np.where(number == more[source], 2, 1))
    kept = lives.is_recorded(host, at)
    return host[kept], at[kept], np.zeros(int(kept.sum()), dtype=np.int64), phase[kept]
