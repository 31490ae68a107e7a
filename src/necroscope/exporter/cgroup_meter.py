"""Memory cgroups: how many, how fast zombies grow, and whose they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from necroscope.exporter.families import MAX_OWNERS, Sample
from necroscope.signals.cgroup_counts import CgroupCounts, growth_of
from necroscope.signals.cgroup_leaks import groups_by_owner
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, MemoryCgroups
from necroscope.store.segment import Moment

OTHER, UNKNOWN = "other", "unknown"


@dataclass(slots=True)
class CgroupMeter:
    """The last counts, those of the last minutes, and the last ledger."""

    recent: CgroupCounts
    _counts: MemoryCgroups | None = None
    _ledger: CgroupLedger | None = None

    def observe(self, moment: Moment) -> None:
        """Take what a moment has of them. What could not be read is no longer now."""
        if MEMORY_CGROUPS.id in moment.readings:
            self.recent.feed(moment)
            self._counts = moment.value(MEMORY_CGROUPS)
        if CGROUP_LEDGER.id in moment.readings:
            self._ledger = moment.value(CGROUP_LEDGER)

    def samples(self) -> Iterator[Sample]:
        """What there is to say; nothing without a reading."""
        if self._counts:
            for tree in (self._counts.memory, *self._counts.others):
                yield Sample("necroscope_memory_cgroups", (tree.hierarchy, "in_use"), tree.in_use)
                yield Sample("necroscope_memory_cgroups", (tree.hierarchy, "zombie"), tree.dying)
                yield Sample("necroscope_memory_cgroups_tracked", (tree.hierarchy,), tree.tracked)
        if growth := growth_of(self.recent.recent):
            yield Sample("necroscope_memory_cgroup_zombie_growth_per_second", (), growth.slope.value)
        if self._ledger:
            for owner, zombies in zombies_by_owner(self._ledger).items():
                yield Sample("necroscope_memory_cgroup_zombies_by_owner", (owner,), zombies)


def zombies_by_owner(ledger: CgroupLedger) -> dict[str, int]:
    """The owners with most zombies; the others, and those of groups that the ledger does not list, as one."""
    owners: Counter[str] = Counter()
    for owner, groups in groups_by_owner(ledger).items():
        owners[owner or UNKNOWN] += sum(group.zombies for group in groups)
    largest = {owner: zombies for owner, zombies in owners.most_common(MAX_OWNERS) if zombies}
    # There also where it is 0: a sum over owners then is 0 as well, and not missing.
    rest = max(ledger.zombies - sum(largest.values()), 0)
    return {**largest, OTHER: largest.get(OTHER, 0) + rest}
