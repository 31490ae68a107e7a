"""A reboot, which frees all zombies until they have leaked again."""

from __future__ import annotations

from necroscope.model import remedy_ids as ids
from necroscope.model.amounts import time_text
from necroscope.model.plan import ByHand
from necroscope.remedies.plan.kubernetes_node import (
    advise_reservation,
    drain_commands,
    node_name,
    return_commands,
)
from necroscope.remedies.plan.remedy import Part, Remedy
from necroscope.sources.host import Host
from necroscope.sources.memory_cgroups import open_memory_cgroups


def plan_reboot(host: Host, _subject: str) -> Part:
    """Reboot the machine: advised and never done. On a Kubernetes node with the commands that drain it, and
    those that reserve it instead, as long as the cause is not known: a reboot takes the evidence with it.

    It frees every zombie, whatever holds it, and does not stop the leak: how long it lasts is told by how
    many came since the last boot. `purge-zombies` frees most of them without it.
    """
    node = node_name(host)
    drain, back = (drain_commands(node), return_commands(node)) if node else ((), ())
    moved = "; the drain moves its pods, as far as others have room" if node else ""
    why = f"it frees all zombies. {_lasts(host)}"
    advice = ByHand((*drain, "systemctl reboot", *back), why, f"all programs of the machine end{moved}")
    return Part(by_hand=(advice, *advise_reservation(host)))


def _lasts(host: Host) -> str:
    """How long until there are as many again."""
    counts = open_memory_cgroups(host)().value if host.is_live else None
    uptime = host.word("/proc/uptime").split()
    if not counts or not uptime:
        return "How long that lasts is not known: they cannot be counted here"
    zombies, seconds = counts.memory.dying, float(uptime[0])
    return (
        f"{zombies:,} came within {time_text(seconds)} since the last boot: unless the leak is stopped,"
        " there are as many again after as long, or sooner if it began later"
    )


REBOOT = Remedy(ids.REBOOT, plan_reboot)
