"""Look at the units of a machine for some seconds, or at those of an image as they lie there."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass, replace

from necroscope.inventory.behaviour import AUDIT_SOURCES, JUDGED, see_behaviour
from necroscope.inventory.inventory import take_inventory
from necroscope.inventory.judge import judge
from necroscope.inventory.policy import Policy
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Finding
from necroscope.model.inventory import Inventory
from necroscope.model.judgement import Judgement
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.host import Host
from necroscope.sources.units import open_units
from necroscope.store.sampler import Progress, sample
from necroscope.store.segment import Segment

NO_SYSTEMD = "look where systemd runs; until then the unit files are judged as those of an image"


@dataclass(frozen=True, slots=True)
class Look:
    """The inventory, the crash loops that were seen, and whether Ctrl-C ended it early."""

    inventory: Inventory
    loops: tuple[Finding, ...] = ()
    interrupted: bool = False


def look_at_units(host: Host, seconds: float, thresholds: Thresholds, progress: Progress) -> Look:
    """The running system where there is one; else the files alone, and why there is no more to see."""
    if not host.is_live:
        return Look(take_inventory(host, None))
    answering = open_units(host)()
    if answering.value is None:
        return _files_only(host, answering.reason)
    segment = sample(host, seconds, progress, AUDIT_SOURCES)
    seen = see_behaviour(host, segment, thresholds)
    if seen.value is None:
        return _files_only(host, seen.reason)
    return Look(take_inventory(host, seen.value), seen.value.loops, segment.interrupted)


def judge_units(
    host: Host, segment: Segment, thresholds: Thresholds, names: Collection[str]
) -> Judgement | None:
    """What is to be said about some units at the end of a look; None where systemd does not answer."""
    seen = see_behaviour(host, segment, thresholds, names)
    if seen.value is None:
        return None
    inventory = take_inventory(host, seen.value, names)
    return judge(inventory, (), Policy(), datetime.date.min)


def _files_only(host: Host, reason: str) -> Look:
    # The /proc that is mounted in an image while it is built is that of the building machine.
    inventory = take_inventory(host.as_image(), None)
    row = NotChecked("units", reason, NO_SYSTEMD, JUDGED)
    return Look(replace(inventory, not_checked=(row, *inventory.not_checked)))
