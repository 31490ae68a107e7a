"""What only a person may do about zombies that no purge frees, with the commands.

Only what is sure is removed or ended, and only for a good part of the zombies. For what is not, there are
commands to look at it. For programs and libraries nobody has to be ended: reclaim takes their pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os.path import commonpath

from necroscope.model.amounts import bytes_text
from necroscope.model.plan import ByHand
from necroscope.model.shell_command import shell_command, shell_comment
from necroscope.model.zombie_holder import HolderKind, HoldingProcess, ZombieHolder
from necroscope.remedies.actions.counting import limit, noise_floor
from necroscope.remedies.actions.holding import HolderGroup, Holding, grouped, is_below
from necroscope.remedies.actions.vital import vital_reason, vital_reasons
from necroscope.sources.host import Host
from necroscope.sources.page_owners import PAGE_BYTES

MOST_COMMANDS = 20
DROP = "sync; echo 1 >/proc/sys/vm/drop_caches"
# What is there belongs to what runs.
FOLDERS_OF_SYSTEMD = ("/run/systemd/", "/run/udev/", "/run/log/journal/")
# How the names of its programs begin, also of those of a user or a container.
PROGRAMS_OF_SYSTEMD = ("systemd", "(sd-")
ENDS_NOBODY = (
    "nobody is to be ended for it, since many use it or the node needs who does: wait for their restart"
)

COSTS = {
    HolderKind.TMPFS_FILE: "what is in the file is lost; ask who uses it first: fuser -v FILE",
    HolderKind.OPEN_FILE: "the process is interrupted",
    HolderKind.SEGMENT: "what is in the segment is lost; ask who uses it first: ipcs -m -p",
    HolderKind.MAPPED_FILE: "the process is interrupted; the caches of the node are cold afterwards",
    HolderKind.PROCESS: "the process is interrupted",
}


def advise(host: Host, holding: Holding, reached: Sequence[str], zombies: int) -> tuple[ByHand, ...]:
    """How each holder is let go that reclaim of the cgroups in `reached` does not."""
    left = [one for one in holding.named() if not one.is_program and not _is_reclaimed(one, reached)]
    least = max(noise_floor(host), limit("parent_share") * zombies)
    groups = [group for group in _with_small_ones_together(grouped(left), least) if group.pages >= least]
    shown = groups[: int(limit("most_advice"))]
    return (*(_advice(host, group) for group in shown), *_unattached(holding))


def programs_hold(holding: Holding, reached: Sequence[str]) -> str:
    """What is said of programs and libraries, which nobody has to end; empty where none hold anything."""
    programs = [one for one in holding.named() if one.is_program]
    if not programs:
        return ""
    pages = sum(one.held_bytes for one in programs) // PAGE_BYTES
    most = f"{len(programs)} programs and libraries in use hold at most {pages:,} zombies"
    if all(_is_reclaimed(one, reached) for one in programs):
        return f"{most}: a step unmaps their pages"
    return f"{most}: what no step unmaps goes when these programs are next restarted; none has to be ended"


def _is_reclaimed(holder: ZombieHolder, reached: Sequence[str]) -> bool:
    """Pages of mapped files go with the reclaim of a cgroup, though not by dropping caches."""
    is_file = holder.kind is HolderKind.MAPPED_FILE
    return is_file and any(is_below(holder.cgroup, cgroup) for cgroup in reached)


def _with_small_ones_together(groups: Iterable[HolderGroup], least: float) -> Iterator[HolderGroup]:
    """A file in each of a thousand folders is as much as a thousand in one."""
    scattered: dict[tuple[bool, bool], list[ZombieHolder]] = {}
    for group in groups:
        if group.pages < least and group.kind is HolderKind.TMPFS_FILE:
            scattered.setdefault((group.is_sure, _is_of_systemd(group)), []).extend(group.holders)
        else:
            yield group
    for holders in scattered.values():
        folder = commonpath([holder.name.rpartition("/")[0] for holder in holders])
        yield HolderGroup(HolderKind.TMPFS_FILE, f"{folder.rstrip('/')}/", tuple(holders))


def _is_of_systemd(group: HolderGroup) -> bool:
    return any(holder.name.startswith(FOLDERS_OF_SYSTEMD) for holder in group.holders)


def _advice(host: Host, group: HolderGroup) -> ByHand:
    parents = ", ".join(sorted({holder.cgroup for holder in group.holders}))
    are = "are" if group.is_sure else "may be"
    why = f"removed children of {parents} {are} held by {group.described}: at most {group.pages:,} zombies"
    processes = dict.fromkeys(process for holder in group.holders for process in holder.users)
    is_known = not any(holder.has_more_users for holder in group.holders)
    if not group.is_sure or _is_of_systemd(group):
        return ByHand(tuple(_looks(group)), f"{why}; look at it before anything is done", "")
    if not is_known or not all(_is_killable(host, process) for process in processes):
        return ByHand(tuple(_looks(group)), f"{why}; {ENDS_NOBODY}", "")
    return ByHand(_commands(group, processes), why, COSTS[group.kind])


def _is_killable(host: Host, process: HoldingProcess) -> bool:
    """Return whether the node can do without it: neither process 1 nor systemd's own, and not vital."""
    if process.pid == 1 or process.comm.startswith(PROGRAMS_OF_SYSTEMD):
        return False
    if vital_reason((process.unit,), (process.comm,) if process.comm else ()):
        return False
    return not process.unit or not vital_reasons(host, (process.unit,))


def _looks(group: HolderGroup) -> Iterator[str]:
    """Commands that change nothing."""
    first = group.holders[0]
    if group.kind in (HolderKind.TMPFS_FILE, HolderKind.MAPPED_FILE):
        yield shell_command(["fuser", "-v", first.name])  # a path from the root on
    elif group.kind is HolderKind.SEGMENT:
        yield shell_command(["ipcs", "-m", "-i", first.name])
    for process in first.users[:1] if group.kind in (HolderKind.OPEN_FILE, HolderKind.PROCESS) else ():
        yield shell_command(["ps", "-o", "pid,comm,unit,lstart", "-p", str(process.pid)])
    if len(group.holders) > 1:
        yield shell_comment(f"and so for {len(group.holders) - 1:,} more: {group.name}")


def _commands(group: HolderGroup, processes: Iterable[HoldingProcess]) -> tuple[str, ...]:
    removals = [line for holder in group.holders if (line := _remove(holder))]
    shown = removals[:MOST_COMMANDS]
    if len(removals) > MOST_COMMANDS:
        shown.append(shell_comment(f"and {len(removals) - MOST_COMMANDS:,} more like these: {group.name}"))
    # A file or a segment that was removed stays until the last process that uses it has let it go.
    ends = dict.fromkeys(line for process in processes for line in _end(process))
    return (*shown, *ends, *([DROP] if group.kind is HolderKind.MAPPED_FILE else []))


def _remove(holder: ZombieHolder) -> str:
    if holder.kind is HolderKind.TMPFS_FILE:
        return shell_command(["rm"], [holder.name])
    return shell_command(["ipcrm", "-m", holder.name]) if holder.kind is HolderKind.SEGMENT else ""


def _end(process: HoldingProcess) -> tuple[str, str]:
    """Return who a process is, on a line of its own, and the command that ends it."""
    if process.unit.endswith(".service"):
        who = f"{process.comm}, pid {process.pid}"
        return shell_comment(who), shell_command(["systemctl", "restart"], [process.unit])
    inside = f" in {process.unit}" if process.unit else ""
    who = f"{process.comm}{inside}: restart it as it was started"
    return shell_comment(who), shell_command(["kill", str(process.pid)])


def _unattached(holding: Holding) -> Iterator[ByHand]:
    segments = holding.holders.segments if holding.holders else ()
    if segments:
        size = bytes_text(sum(segment.resident_bytes for segment in segments))
        why = f"{len(segments)} SysV segments ({size}) have nobody attached and may be what holds zombies"
        yield ByHand(
            ("ipcs -m -t -p",), f"{why}; ipcrm -m ID frees one, once it is sure that nobody needs it", ""
        )
