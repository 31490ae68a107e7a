"""What the numbers of a guest say: who starved its NIC, and whether reading statistics is a walk.

A load is said to starve the NIC if three things came together: a datagram came back only after 200 ms and
five times as late as any on the idle core; the core's softirq thread stood ready and did not run for a tenth
of the time; and no other thread got the core for 200 ms on end. A core that is merely shared makes datagrams
late as well.

All of it is compared with the idle core. Where that one is late already, the host is too busy, and nothing is
said either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

LATE_MILLISECONDS = 200.0  # far beyond what emulation and a busy host add
LATE_TIMES = 5.0
# The longest round trip of an idle core was 31 to 42 ms on a quiet host, and 97 and 381 ms on a busy one.
QUIET_MILLISECONDS = 60.0
WAITED_RATIO = 0.1
HELD_MILLISECONDS = 200.0
NO_STATISTICS = "this kernel has no memory controller of cgroup v1: there are no such statistics to be read"
WALK_TIMES = 20.0  # as long as a read takes without zombies


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen while one load ran on the core of the NIC."""

    load: str
    zombies: int
    seconds: float
    sent: int
    lost: int
    mean_milliseconds: float  # of round trips
    median_milliseconds: float
    longest_milliseconds: float
    thread_waited_milliseconds: float  # ksoftirqd of that core, ready and not running
    thread_runs: int
    squeezes: int  # of softnet_stat
    longest_gap_milliseconds: float  # of a task there that sleeps a millisecond at a time
    calls: int
    median_call_milliseconds: float


def is_quiet(idle: Seen) -> bool:
    """Whether the host left the guest alone, so that what is late was made so by a load."""
    return idle.longest_milliseconds <= QUIET_MILLISECONDS


def is_late(seen: Seen, idle: Seen) -> bool:
    """Whether what came in through the NIC had to wait."""
    least = max(LATE_MILLISECONDS, LATE_TIMES * idle.longest_milliseconds)
    return seen.longest_milliseconds >= least


def is_starved(seen: Seen, idle: Seen) -> bool:
    """Whether it had to wait because the load held the core, and its softirq thread could not run."""
    has_waited = seen.thread_waited_milliseconds >= WAITED_RATIO * seen.seconds * 1e3
    return is_late(seen, idle) and has_waited and seen.longest_gap_milliseconds >= HELD_MILLISECONDS


def is_walk(with_zombies: Seen, without: Seen) -> bool:
    """Whether a read takes time for every zombie."""
    return with_zombies.median_call_milliseconds >= WALK_TIMES * without.median_call_milliseconds


def conclude(seen: Sequence[Seen]) -> dict[str, Any]:
    """The results of a guest: the idle core comes first, readers are before, with and after zombies."""
    idle, readers = seen[0], [one for one in seen if one.load == "reader"]
    others = [one for one in seen[1:] if one.load != "reader"]
    results: dict[str, Any] = {
        "is_quiet": is_quiet(idle),
        "is_starved_by": {one.load: is_starved(one, idle) for one in others},
        "is_late_by": {one.load: is_late(one, idle) for one in others},
        "seen": [asdict(one) for one in seen],
        "lines": [in_words(one) for one in seen],
        "conclusion": NO_STATISTICS,
    }
    if readers:
        before, during, after = readers
        results |= {
            "is_walked": is_walk(during, before),
            "is_starved": is_starved(during, idle),
            "is_starved_after_purge": is_starved(after, idle),
        }
        results["conclusion"] = _of_reader(idle, before, during)
    return results


def in_words(seen: Seen) -> str:
    """One line for a person."""
    zombies = f" with {seen.zombies:,} zombies" if seen.zombies else ""
    return (
        f"{seen.load}{zombies}: round trips of {seen.mean_milliseconds:.1f} ms,"
        f" at most {seen.longest_milliseconds:.0f} ms, {seen.lost} of {seen.sent} lost;"
        f" ksoftirqd waited {seen.thread_waited_milliseconds:.0f} ms in {seen.seconds:g} s;"
        f" a call took {seen.median_call_milliseconds:.2f} ms"
    )


def _of_reader(idle: Seen, before: Seen, during: Seen) -> str:
    reads = (
        f"a read takes {during.median_call_milliseconds:.2f} ms with {during.zombies:,} zombies and"
        f" {before.median_call_milliseconds:.2f} ms without"
    )
    trips = (
        f"the longest round trip is {during.longest_milliseconds:.0f} ms"
        f" ({idle.longest_milliseconds:.0f} ms on the idle core)"
    )
    if not is_walk(during, before):
        return f"this kernel's statistics read does not walk the zombies: {reads}; {trips}"
    if is_starved(during, idle):
        return f"reading statistics starves the NIC: {reads}; {trips}"
    return f"reading statistics walks the zombies, and the NIC is served all the same: {reads}; {trips}"
