"""Memory cgroups: how many, how fast zombies grow, and whose they are."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from necroscope.exporter.families import Sample
from necroscope.sources.cgroup_ledger import CgroupLedger, owner_of
from necroscope.sources.memory_cgroups import MemoryCgroups
from necroscope.statistics.theil_sen import FEWEST_POINTS, theil_sen

MOST_OWNERS = 20  # with a series of their own
GROWTH_NS = 600 * 10**9  # how far back the growth goes
POINT_EVERY_NS = 10 * 10**9  # 61 points: their 1,830 slopes take 1 ms
OTHER, UNKNOWN = "other", "unknown"


@dataclass(slots=True)
class CgroupMeter:
    """The last counts, a point of them every ten seconds, and the last ledger."""

    _counts: MemoryCgroups | None = None
    _ledger: CgroupLedger | None = None
    _points: deque[tuple[int, int]] = field(default_factory=deque)  # time, zombies

    def observe_counts(self, time_ns: int, counts: MemoryCgroups | None) -> None:
        """Take the counts of a moment; None: they could not be read, and what was before is no longer now."""
        self._counts = counts
        if counts is None:
            self._points.clear()
            return
        if not self._points or time_ns - self._points[-1][0] >= POINT_EVERY_NS - 10**9 // 2:
            self._points.append((time_ns, counts.memory.dying))
        while time_ns - self._points[0][0] > GROWTH_NS:
            self._points.popleft()

    def observe_ledger(self, ledger: CgroupLedger | None) -> None:
        """Take the ledger of a moment; None: it could not be read."""
        self._ledger = ledger

    def samples(self) -> Iterator[Sample]:
        """What there is to say; nothing without a reading."""
        if self._counts:
            for tree in (self._counts.memory, *self._counts.others):
                yield Sample("necroscope_memory_cgroups", (tree.hierarchy, "in_use"), tree.in_use)
                yield Sample("necroscope_memory_cgroups", (tree.hierarchy, "zombie"), tree.dying)
                yield Sample("necroscope_memory_cgroups_tracked", (tree.hierarchy,), tree.tracked)
        growth = self._growth_per_second()
        if growth is not None:
            yield Sample("necroscope_memory_cgroup_zombie_growth_per_second", (), growth)
        if self._ledger:
            for owner, zombies in zombies_by_owner(self._ledger).items():
                yield Sample("necroscope_memory_cgroup_zombies_by_owner", (owner,), zombies)

    def _growth_per_second(self) -> float | None:
        if len(self._points) < FEWEST_POINTS:
            return None
        slope = theil_sen([(time_ns / 1e9, zombies) for time_ns, zombies in self._points])
        return slope.value if slope else None


def zombies_by_owner(ledger: CgroupLedger) -> dict[str, int]:
    """The owners with most zombies; the others, and those of groups that the ledger does not list, as one."""
    owners: Counter[str] = Counter()
    for group in ledger.groups:
        owners[owner_of(group) or UNKNOWN] += group.zombies
    largest = {owner: zombies for owner, zombies in owners.most_common(MOST_OWNERS) if zombies}
    # There also where it is 0: a sum over owners then is 0 as well, and not missing.
    rest = max(ledger.zombies - sum(largest.values()), 0)
    return {**largest, OTHER: largest.get(OTHER, 0) + rest}
