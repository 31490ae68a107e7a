"""Owners whose memory cgroups are not freed, told while the recorder runs: at most once a minute each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from necroscope.model.event import Event
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, LedgerGroup, owner_of
from necroscope.store.segment import Moment

MINUTE_NS = 60 * 10**9
MOST_OWNERS = 1000  # remembered: more than one reading can name


@dataclass(slots=True)
class _Minute:
    """Since when an owner is looked at, and how many zombies it had then."""

    begin_ns: int
    zombies: int


class CgroupLeaks:
    """Remembers how many zombies every owner had."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._least = thresholds["memory-cgroup-leak.event_zombies"]
        self._minutes: dict[str, _Minute] = {}
        self._began_ns = 0

    def look(self, moment: Moment) -> Iterator[Event]:
        """Owners whose zombies have become clearly more within a minute."""
        reading = moment.readings.get(CGROUP_LEDGER.id)
        ledger: CgroupLedger | None = reading.value if reading else None
        if ledger is None:
            return
        if ledger.began_ns != self._began_ns or len(self._minutes) > MOST_OWNERS:
            self._minutes.clear()  # another ledger, whose counts begin at zero
            self._began_ns = ledger.began_ns
        owners = {
            owner: groups
            for owner, groups in groups_by_owner(ledger).items()
            if any(group.zombies for group in groups)
        }
        for owner in [*self._minutes]:
            if owner not in owners:  # all freed, or too few to be named
                del self._minutes[owner]
        for owner, groups in owners.items():
            yield from self._tell(moment.time_ns, owner, groups)

    def _tell(self, now_ns: int, owner: str, groups: list[LedgerGroup]) -> Iterator[Event]:
        zombies = sum(group.zombies for group in groups)
        # What an owner has when it is first seen it has leaked since the ledger began.
        minute = self._minutes.setdefault(owner, _Minute(now_ns - MINUTE_NS, 0))
        minute.zombies = min(minute.zombies, zombies)
        if now_ns - minute.begin_ns < MINUTE_NS:
            return
        rise = zombies - minute.zombies
        self._minutes[owner] = _Minute(now_ns, zombies)
        if rise >= self._least:
            group = max(groups, key=lambda group: group.zombies)
            yield Event(
                kind="cgroup-leak",
                time_ns=now_ns,
                rule="cgroup-ledger",
                text=f"{rise} memory cgroups of {owner or 'an unknown owner'} were removed and not freed;"
                f" {zombies} zombies of it in all",
                unit=unit_of_owner(owner, group),
                process=group.creator,
                reason=group.pattern,
            )


def groups_by_owner(ledger: CgroupLedger) -> dict[str, list[LedgerGroup]]:
    """Return the groups that each owner has to answer for; those of nobody known under an empty name."""
    owners: dict[str, list[LedgerGroup]] = defaultdict(list)
    for group in ledger.groups:
        owners[owner_of(group)].append(group)
    return owners


def unit_of_owner(owner: str, group: LedgerGroup) -> str:
    """The unit behind an owner; empty where the owner is a program."""
    return owner if owner.endswith((".service", ".scope")) else group.creator_unit
