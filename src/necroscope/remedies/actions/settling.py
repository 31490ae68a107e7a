"""Zombies counted until their number holds still: the kernel frees them one after the other, later."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from necroscope.remedies.actions.counting import count_zombies
from necroscope.remedies.actions.purge_limits import limit, noise_floor
from necroscope.sources.host import Host

LOOK_EVERY_SECONDS = 0.2
STILL_FALLING_RATIO = 0.01  # in a second: more than comes and goes by itself


@dataclass(frozen=True, slots=True)
class Settled:
    """How many zombies there were, how many are left, and how long that took."""

    before: int
    left: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.before:,} -> {self.left:,} zombies in {self.seconds:.1f} s"


def purge_in_rounds(host: Host, let_go: Callable[[], None], is_empty: Callable[[], bool]) -> Settled:
    """Let go, wait until freeing has ended, and again while that helps and there is more to let go."""
    began = time.monotonic()
    before = left = count_zombies(host)
    for _ in range(int(limit("rounds"))):
        let_go()
        earlier, left = left, wait_until_settled(host)
        if left <= noise_floor(host) or left >= earlier * (1 - STILL_FALLING_RATIO) or is_empty():
            break
    return Settled(before, left, time.monotonic() - began)


def wait_until_settled(host: Host) -> int:
    """The number of zombies, once it has not fallen for a while; bounded by what freeing so many may take."""
    floor = noise_floor(host)
    least = count_zombies(host)
    began = fell = time.monotonic()
    longest = limit("least_wait") + least / limit("freed_each_second")
    while least > floor and (now := time.monotonic()) - fell < limit("quiet") and now - began < longest:
        time.sleep(LOOK_EVERY_SECONDS)
        if (count := count_zombies(host)) < least:
            least, fell = count, time.monotonic()
    return least


def still_falling(host: Host) -> str:
    """Empty once freeing has ended, else that it has not."""
    before = count_zombies(host)
    if before <= noise_floor(host):
        return ""
    time.sleep(1)
    after = count_zombies(host)
    if after >= before * (1 - STILL_FALLING_RATIO):
        return ""
    return f"the kernel still frees zombies: {before:,} -> {after:,} in a second"
