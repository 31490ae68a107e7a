"""Which newer kernel would help against zombies, and with what."""

from __future__ import annotations

from necroscope.errors import CannotLookError
from necroscope.model import remedy_ids as ids
from necroscope.model.plan import ByHand
from necroscope.remedies.plan.kernel_changes import KernelChange, Presence, kernel_changes, parse_release
from necroscope.remedies.remedy import Part, Remedy
from necroscope.sources.host import Host

COST = "a reboot, and a kernel that everything on the node has to be tested with"


def plan_upgrade_kernel(host: Host, _subject: str) -> Part:
    """What newer kernels change about zombie memory cgroups, compared with the one that runs. Advice only.

    Linux 7.2 no longer leaves zombies (7.0 does; 7.1 was not looked at). 5.8 reads statistics without
    walking them. The rest is in the list. It goes by release, which does not say what a vendor has added:
    each entry says how to measure it on the machine.
    """
    release = host.word("/proc/sys/kernel/osrelease")
    try:
        parse_release(release)
    except ValueError as error:
        hint = "an image has none: run it on the machine" if not host.is_live else ""
        raise CannotLookError("the release of the running kernel is not known", hint=hint) from error
    changes = [(change, change.presence(release)) for change in kernel_changes()]
    missing = [(change, presence) for change, presence in changes if presence is not Presence.HAS]
    has = ", ".join(change.id for change, presence in changes if presence is Presence.HAS)
    return Part(
        by_hand=tuple(_advice(release, change, presence) for change, presence in missing),
        seen=(f"Linux {release} has, by its release: {has or 'none of what is known to help'}",),
    )


def _advice(release: str, change: KernelChange, presence: Presence) -> ByHand:
    lacks = "lacks" if presence is Presence.LACKS else "may lack"
    return ByHand(
        commands=(f"# upgrade to Linux {change.since} or newer", f"# measure first: {change.measure}"),
        why=f"{change.id}: {change.changes}. Linux {release} {lacks} it by its release; its vendor may have"
        f" added it. Known: {change.known}",
        cost=COST,
    )


UPGRADE_KERNEL = Remedy(ids.UPGRADE_KERNEL, plan_upgrade_kernel)
