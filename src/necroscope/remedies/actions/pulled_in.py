"""Units that a start has started along, and that were off."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from necroscope.sources.systemd.unit_activity import (
    NEEDS,
    find_stopped_along,
    list_activity,
    list_dependencies,
)

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus


def find_pulled_in(bus: SystemdBus, names: Collection[str], running: Collection[str]) -> set[str]:
    """What the start of `names` has started along, if only these were `running` before.

    Those whose stop would take along others are left out. After a crash in the middle of the start they count
    as having run before, and stay on.
    """
    units = list_activity(bus)
    reached = set(names)
    pending = reached
    while pending:
        pending = list_dependencies(bus, units, pending, NEEDS) - reached
        reached = reached | pending
    new = {name for name in reached.difference(names, running) if name in units and units[name].is_on}
    return {name for name in new if not set(find_stopped_along(bus, [name])) - new}
