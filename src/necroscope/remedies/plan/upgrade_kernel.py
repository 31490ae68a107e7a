"""Which newer kernel would help against zombies, and with what."""

from __future__ import annotations

import enum
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from necroscope.errors import CannotLookError
from necroscope.model import remedy_ids as ids
from necroscope.model.plan import ByHand
from necroscope.remedies.plan.remedy import Part, Remedy
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


class Presence(enum.Enum):
    """Whether a kernel has a change, by its release alone."""

    HAS = "has it"
    LACKS = "lacks it"
    NOT_ESTABLISHED = "not established"  # between the last release without and the first with it


@dataclass(frozen=True, slots=True)
class KernelChange:
    """One change, and how it is known."""

    id: str
    since: str
    absent: str
    changes: str
    known: str
    measure: str

    def presence(self, release: str) -> Presence:
        """Whether the kernel of that release has it; its vendor may have added it."""
        running = parse_release(release)
        if running >= parse_release(self.since):
            return Presence.HAS
        return Presence.LACKS if running <= parse_release(self.absent) else Presence.NOT_ESTABLISHED


def parse_release(text: str) -> tuple[int, int]:
    """Series of a release: (5, 4) of 5.4.0-1103-aws. Raises ValueError."""
    match = re.match(r"(\d+)\.(\d+)", text)
    if not match:
        raise ValueError(f"no kernel release: {text}")
    return int(match[1]), int(match[2])


@cache
def kernel_changes() -> tuple[KernelChange, ...]:
    """All that are known, from rules/kernels.toml."""
    rows = tomllib.loads(files("necroscope.remedies").joinpath("rules/kernels.toml").read_text())
    return tuple(KernelChange(id=id, **row) for id, row in rows.items())
