"""What holds zombies on a host, as far as it can be known: kinds of memory by parent, and names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from necroscope.model.amounts import bytes_text
from necroscope.model.zombie_holder import HolderKind, ZombieHolder
from necroscope.sources.host import Host
from necroscope.sources.page_owners import PAGE_BYTES
from necroscope.sources.zombie_holders import ZombieHolders, memory_kind, read_zombie_holders
from necroscope.sources.zombie_parents import KINDS, ZombieParent, read_zombie_parents
from necroscope.sources.zombie_pins import ZombiePins, read_zombie_pins

SHARED = KINDS[1]
MOST_NAMED = 5  # in a sentence
FEWEST_IN_FOLDER = 4  # files that are named as one folder
SEVERAL = {
    HolderKind.TMPFS_FILE: "tmpfs files in",
    HolderKind.OPEN_FILE: "deleted files open in",
    HolderKind.SEGMENT: "SysV segments of",
    HolderKind.MAPPED_FILE: "mapped files in",
}


@dataclass(frozen=True, slots=True)
class Holding:
    """What was seen, of one parent and all below it or of the whole machine."""

    pins: ZombiePins | None
    parents: tuple[ZombieParent, ...]
    holders: ZombieHolders | None
    not_known: str  # why there are no holders

    def named(self) -> list[ZombieHolder]:
        """All, but of mapped files only the sure ones: the libraries of everything that lives could be."""
        found = self.holders.holders if self.holders else ()
        return [one for one in found if one.is_sure or one.kind is not HolderKind.MAPPED_FILE]


@dataclass(frozen=True, slots=True)
class HolderGroup:
    """Holders of one kind that a person would name together."""

    kind: HolderKind
    name: str
    holders: tuple[ZombieHolder, ...]

    @property
    def held_bytes(self) -> int:
        """Of all of them."""
        return sum(holder.held_bytes for holder in self.holders)

    @property
    def pages(self) -> int:
        """As many zombies they hold at most: a page holds one."""
        return self.held_bytes // PAGE_BYTES

    @property
    def is_sure(self) -> bool:
        """Whether all are."""
        return all(holder.is_sure for holder in self.holders)

    def __str__(self) -> str:
        return self.described if self.is_sure else f"perhaps {self.described}"

    @property
    def described(self) -> str:
        """What it is, in words."""
        size = bytes_text(self.held_bytes)
        users = self.holders[0].users[:1]
        process = f"{users[0].comm} (pid {users[0].pid})" if users else ""
        if self.kind is HolderKind.PROCESS:
            return f"{size} of {process}, which has moved on to another cgroup"
        many = len(self.holders)
        what = f"{many:,} {SEVERAL[self.kind]}" if many > 1 else self.kind.value
        return f"{what} {self.name} ({size}{f', {process}' if process else ''})"


def read_holding(host: Host, cgroups: Sequence[str] = ()) -> Holding:
    """What holds zombies below some cgroups, or all of them, without who is cleared. It takes up to 2.5 s."""
    pins = read_zombie_pins(host, cgroups)
    parents = tuple(
        parent
        for parent in read_zombie_parents(host, pins.value).value or ()
        if not cgroups or any(is_below(parent.cgroup, cgroup) for cgroup in cgroups)
    )
    holders = read_zombie_holders(host, parents)
    return _without_innocent(Holding(pins.value, parents, holders.value, holders.reason))


def look_again(host: Host, holding: Holding) -> Holding:
    """The same, two seconds later: only now memory shows as a parent's own that it took right before.

    Who is sure then may be so no more, but nobody becomes sure.
    """
    known = {parent.cgroup: parent for parent in read_zombie_parents(host, holding.pins).value or ()}
    if not holding.holders:
        return holding
    holders = tuple(
        replace(one, is_sure=one.is_sure and _is_sure(known.get(one.cgroup), one))
        for one in holding.holders.holders
    )
    return _without_innocent(replace(holding, holders=replace(holding.holders, holders=holders)))


def _is_sure(parent: ZombieParent | None, holder: ZombieHolder) -> bool:
    return bool(parent and parent.is_sure(memory_kind(holder.kind), holder.held_bytes))


def _without_innocent(holding: Holding) -> Holding:
    if not holding.holders:
        return holding
    error_bytes = holding.pins.error_bytes if holding.pins else 0
    return replace(holding, holders=clear_innocent(holding.holders, holding.parents, error_bytes))


def is_below(path: str, cgroup: str) -> bool:
    """Whether a cgroup is another or inside of it; all are inside of "" and "/"."""
    outer = cgroup.strip("/")
    return not outer or f"{path.strip('/')}/".startswith(f"{outer}/")


def grouped(holders: list[ZombieHolder]) -> list[HolderGroup]:
    """Many files of a folder as that folder, many ranges of a process as that process.

    Those that are sure come first, mapped files last, and those with most pages before others.
    """
    by_name: dict[tuple[HolderKind, bool, str], list[ZombieHolder]] = {}
    for holder in holders:
        by_name.setdefault((holder.kind, holder.is_sure, _wider_name(holder)), []).append(holder)
    groups = []
    for (kind, _is_sure, name), members in by_name.items():
        if len(members) >= FEWEST_IN_FOLDER:
            groups.append(HolderGroup(kind, name, tuple(members)))
        else:
            groups += [HolderGroup(kind, holder.name, (holder,)) for holder in members]
    return sorted(groups, key=_weight)


def _weight(group: HolderGroup) -> tuple[bool, bool, int, str]:
    return not group.is_sure, group.kind is HolderKind.MAPPED_FILE, -group.pages, group.name


def _wider_name(holder: ZombieHolder) -> str:
    if holder.kind in (HolderKind.TMPFS_FILE, HolderKind.MAPPED_FILE):
        return holder.name.rpartition("/")[0] + "/"
    users = holder.users[:1]
    return f"{users[0].comm}[{users[0].pid}]" if users else holder.name


def held_by(holding: Holding) -> str:
    """The largest holders in a sentence without its end; empty where none is known.

    Programs and libraries are left out: all that lives has some mapped, and they are many.
    """
    groups = grouped([holder for holder in holding.named() if not holder.is_program])
    named = [str(group) for group in groups[:MOST_NAMED]]
    if len(groups) > MOST_NAMED:
        named.append(f"{len(groups) - MOST_NAMED} more")
    if holding.holders and (segments := holding.holders.segments):
        size = bytes_text(sum(segment.resident_bytes for segment in segments))
        named.append(f"perhaps SysV shared memory that nobody is attached to ({len(segments)}, {size})")
    return "; ".join(named)


def kinds_text(parent: ZombieParent) -> str:
    """What kinds of memory are held below a parent: 80.0 MiB of page cache, 2.0 MiB of ..."""
    by_kind = parent.held.by_kind() if parent.held else {}
    return ", ".join(f"{bytes_text(by_kind[kind])} of {kind}" for kind in parent.kinds if kind in by_kind)


def clear_innocent(found: ZombieHolders, parents: Sequence[ZombieParent], error_bytes: int) -> ZombieHolders:
    """The same without those who are not sure, and not needed to explain what is held or too large for it."""
    sure = [holder for holder in found.holders if holder.is_sure]
    left = {
        (parent.cgroup, kind): _unexplained_bytes(parent, kind, sure)
        for parent in parents
        for kind in parent.kinds
    }

    def may_hold(size_bytes: int, unexplained_bytes: int) -> bool:
        return unexplained_bytes > error_bytes and size_bytes <= unexplained_bytes + error_bytes

    max_shared_bytes = max((size for (_, kind), size in left.items() if kind == SHARED), default=0)
    return replace(
        found,
        holders=tuple(
            holder
            for holder in found.holders
            if holder.is_sure or may_hold(holder.held_bytes, left[holder.cgroup, memory_kind(holder.kind)])
        ),
        segments=tuple(one for one in found.segments if may_hold(one.resident_bytes, max_shared_bytes)),
    )


def _unexplained_bytes(parent: ZombieParent, kind: str, sure: Iterable[ZombieHolder]) -> int:
    named = [one for one in sure if one.cgroup == parent.cgroup and memory_kind(one.kind) == kind]
    if parent.held:
        return parent.held.by_kind()[kind] - sum(one.held_bytes for one in named)
    # v2 where less than the error is held: each zombie by a page at least.
    return ((parent.zombies or 0) - len(named)) * PAGE_BYTES
