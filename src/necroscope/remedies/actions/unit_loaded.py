"""Whether systemd has taken notice of a drop-in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from necroscope.remedies.actions.systemd import ask
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_activity import list_activity
from necroscope.sources.systemd.unit_tree import is_searched

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus


def why_not_loaded(host: Host, name: str) -> str:
    """Why a drop-in is not in force, in words; empty where it is, or where nobody has loaded its unit."""
    if not host.is_live or not is_searched(name):
        return ""
    unit = name.split("/")[-2].removesuffix(".d")

    def look(bus: SystemdBus) -> str:
        loaded = list_activity(bus).get(unit)
        if loaded is None or loaded.load_state in ("masked", "not-found"):
            return ""
        keys = ("DropInPaths", "NeedDaemonReload")
        drop_ins, is_old = bus.properties([(loaded.path, "Unit", key) for key in keys])
        if name not in (drop_ins or ()):
            return f"systemd does not apply {name} to {unit}"
        return f"the files of {unit} have changed again, and systemd has not loaded them" if is_old else ""

    return ask(host, look)
