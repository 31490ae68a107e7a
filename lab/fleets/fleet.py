"""A generated fleet: what it is made of and what happened to it, from one plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.fleets.incidents import Episodes, make_episodes, rates
from lab.fleets.lives import Lives, make_lives
from lab.fleets.made_of import MadeOf, Random, make_hosts
from lab.fleets.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """What a fleet is made of and what happened to it, before any table is written."""

    plan: Plan
    made: MadeOf
    lives: Lives
    rate: NDArray[np.float64]  # episodes a second, before and after a host's change
    episodes: Episodes


def make_fleet(plan: Plan) -> Fleet:
    """A fleet by its plan; the segments' length has no influence on it."""
    made_random, lives_random, frailty_random, episode_random = randoms(plan.seed, 4)
    made = make_hosts(plan, made_random)
    lives = make_lives(plan, made, lives_random)
    rate = rates(plan, made, frailty_random)
    return Fleet(plan, made, lives, rate, make_episodes(plan, made, lives, rate, episode_random))


def randoms(seed: int, count: int) -> list[Random]:
    """Sources of chance that do not depend on each other."""
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]
