"""Who holds zombie memory cgroups: files of tmpfs, shared memory, mapped files, processes, by name.

Reads    what page_owners, tmpfs_files and process_mappings read
Needs    root, and a kernel with /proc/kpagecgroup
Costs    up to 2 s of a core, after which it stops and says so; 500 tmpfs files of a page each take 25 ms

A page that the kernel says belongs to a living parent, of a kind that this parent has none of its own of, is
charged to one of its removed children. Where the parent has some of its own it is not sure whose the page is,
unless there are more than the parent can have. Our own process is not looked at.
Nothing on the machine is changed, and no page is read in that was not in memory.

Not named are: files on disks that nobody has mapped (dropping caches frees them), SysV segments that nobody
is attached to (they are listed, as what could be), and what is in swap.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from necroscope.model.reading import Reading
from necroscope.model.zombie_holder import HolderKind, HoldingProcess, ZombieHolder
from necroscope.sources.host import Host
from necroscope.sources.page_owners import PAGE_BYTES, PageOwners, open_page_owners
from necroscope.sources.process_mappings import (
    DELETED,
    NAMELESS,
    SEGMENT,
    MappedRange,
    SharedSegment,
    deleted_files,
    other_processes,
    read_maps,
    read_shared_segments,
)
from necroscope.sources.process_units import find_top, unit_of
from necroscope.sources.tmpfs_files import files_of, tmpfs_mounts
from necroscope.sources.zombie_parents import KINDS, ZombieParent

MOST_SECONDS = 2.0
MOST_PAGES = 16_384  # of one file or range: 64 MiB, enough to say whose it is
MOST_USERS = 3  # processes that are looked at and named for one file
MOUNTS_SHARE = 0.25  # of the time, to list every tmpfs: any user can make namespaces with many mounts
OPEN_QUIETLY = os.O_RDONLY | os.O_NOATIME | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

PAGE_CACHE, SHARED, ANONYMOUS = KINDS


@dataclass(frozen=True, slots=True)
class ZombieHolders:
    """All that were found: those with most pages first, mapped files last."""

    holders: tuple[ZombieHolder, ...]
    segments: tuple[SharedSegment, ...]  # that nobody is attached to: they could be holders
    stopped_early: bool
    seconds: float


@dataclass(slots=True)
class _Found:
    """What is known about one holder while the search goes on."""

    kind: HolderKind
    name: str
    frames: dict[str, set[int]] = field(default_factory=dict)  # by cgroup
    pids: list[int] = field(default_factory=list)
    has_more_users: bool = False
    is_program: bool = False


Key = tuple[HolderKind, int, int]


def read_zombie_holders(
    host: Host, parents: Sequence[ZombieParent], most_seconds: float = MOST_SECONDS
) -> Reading[ZombieHolders]:
    """Who holds the zombies of these parents."""
    opened = open_page_owners(host)
    if opened.value is None:
        return opened.without_value()
    began = time.monotonic()
    with opened.value as owners:
        search = _Search(host, owners, parents, began + most_seconds)
        stopped_early = not search.run()
    holders = sorted(search.holders(), key=_weight)
    wanted = any(SHARED in parent.kinds for parent in parents)
    segments = [one for one in read_shared_segments(host).value or () if not one.attached] if wanted else []
    return Reading(ZombieHolders(tuple(holders), tuple(segments), stopped_early, time.monotonic() - began))


class _Search:
    """One search, which ends when its time is up."""

    def __init__(
        self, host: Host, owners: PageOwners, parents: Sequence[ZombieParent], deadline: float
    ) -> None:
        self._host, self._owners, self._deadline = host, owners, deadline
        self._top = find_top(host)
        self._parents = {parent.inode: parent for parent in parents if parent.inode}
        self._kinds = {kind for parent in parents for kind in parent.kinds}
        self._found: dict[Key, _Found] = {}
        until = time.monotonic() + (deadline - time.monotonic()) * MOUNTS_SHARE
        self._mounts = list(tmpfs_mounts(host, until))
        self._has_all_mounts = time.monotonic() <= until
        self._tmpfs = {mount.device for mount in self._mounts}
        self._in_memory = self._tmpfs | {_device_without_mount()}

    def run(self) -> bool:
        """Whether it came to its end."""
        parts = [self._look_at_tmpfs(), self._look_at_mappings()] if self._kinds else []
        parts += [self._look_at_deleted()] if SHARED in self._kinds else []
        # A million files must not take all of the time; in a second turn they may have what is left of it.
        for _turn in range(2):
            waiting = parts.copy()
            while waiting:
                now = time.monotonic()
                share_seconds = (self._deadline - now) / len(waiting)
                part = waiting.pop(0)
                if _runs_out(part, now + share_seconds):
                    parts.remove(part)
        return not parts and self._has_all_mounts

    def holders(self) -> Iterable[ZombieHolder]:
        """All that hold something."""
        by_cgroup = {parent.cgroup: parent for parent in self._parents.values()}
        for found in self._found.values():
            kind = memory_kind(found.kind)
            for cgroup, frames in found.frames.items():
                held_bytes = len(frames) * PAGE_BYTES
                yield ZombieHolder(
                    kind=found.kind,
                    name=found.name,
                    cgroup=cgroup,
                    held_bytes=held_bytes,
                    is_sure=by_cgroup[cgroup].is_sure(kind, held_bytes),
                    users=tuple(self._process(pid) for pid in found.pids),
                    has_more_users=found.has_more_users,
                    is_program=found.is_program,
                )

    def _look_at_tmpfs(self) -> Iterator[None]:
        for mount in self._mounts if SHARED in self._kinds else ():
            for file in files_of(mount):
                if file:
                    name, descriptor = file
                    key = HolderKind.TMPFS_FILE, mount.device, os.fstat(descriptor).st_ino
                    self._keep(key, name, self._file_owners(descriptor))
                yield

    def _look_at_deleted(self) -> Iterator[None]:
        for pid in other_processes(self._host):
            for file in deleted_files(self._host, pid):
                if file:
                    with suppress(OSError):
                        self._look_at_link(pid, *file)
                yield

    def _look_at_link(self, pid: int, name: str, link: str) -> None:
        # The process chooses the name, and may put another file behind the number at any time. To open a
        # device may already do something, so what is opened must be known to be a file in memory.
        found = os.open(link, os.O_PATH | os.O_CLOEXEC)
        try:
            status = os.fstat(found)
            if not stat.S_ISREG(status.st_mode) or status.st_dev not in self._in_memory:
                return
            key = HolderKind.OPEN_FILE, status.st_dev, status.st_ino
            known = self._found.get(key)
            if known and pid in known.pids:
                return
            descriptor = os.open(f"/proc/self/fd/{found}", OPEN_QUIETLY)
            try:
                self._keep(key, name.removesuffix(DELETED), self._file_owners(descriptor), pid)
            finally:
                os.close(descriptor)
        finally:
            os.close(found)

    def _look_at_mappings(self) -> Iterator[None]:
        for pid in other_processes(self._host):
            try:
                place = self._host.path("/proc") / str(pid) / "pagemap"
                pagemap = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:  # it has ended
                continue
            try:
                for mapped in read_maps(self._host, pid):
                    with suppress(OSError):
                        self._look_at_range(pid, pagemap, mapped)
                    yield
            finally:
                os.close(pagemap)

    def _look_at_range(self, pid: int, pagemap: int, mapped: MappedRange) -> None:
        kind, name = self._classified(mapped)
        key = kind, mapped.device, mapped.inode
        known = self._found.get(key)
        if memory_kind(kind) not in self._kinds and ANONYMOUS not in self._kinds:
            return
        if known and mapped.inode and pid not in known.pids and len(known.pids) >= MOST_USERS:
            known.has_more_users = True
            return
        pages = min((mapped.end - mapped.begin) // PAGE_BYTES, MOST_PAGES)
        shared, anonymous = self._owners.of_mapping(pagemap, mapped.begin, pages)
        if mapped.inode:
            self._keep(key, name, shared, pid)
            self._found[key].is_program |= mapped.is_run
        self._keep((HolderKind.PROCESS, 0, pid), self._comm(pid), anonymous, pid)

    def _classified(self, mapped: MappedRange) -> tuple[HolderKind, str]:
        if not mapped.inode:
            return HolderKind.PROCESS, ""
        if mapped.name.startswith(SEGMENT):
            return HolderKind.SEGMENT, str(mapped.inode)
        is_tmpfs = mapped.device in self._tmpfs
        if mapped.name.startswith(NAMELESS) or (is_tmpfs and mapped.name.endswith(DELETED)):
            return HolderKind.OPEN_FILE, mapped.name.removesuffix(DELETED)
        return (HolderKind.TMPFS_FILE if is_tmpfs else HolderKind.MAPPED_FILE), mapped.name

    def _keep(self, key: Key, name: str, owners: Mapping[int, int], pid: int = 0) -> None:
        """Add the pages that belong to zombies of the parents."""
        kind = memory_kind(key[0])
        if not (found := self._found.get(key)):
            found = self._found[key] = _Found(key[0], name)
        for frame, inode in owners.items():
            parent = self._parents.get(inode)
            if parent and kind in parent.kinds:
                found.frames.setdefault(parent.cgroup, set()).add(frame)
        if not pid or pid in found.pids:
            return
        if len(found.pids) < MOST_USERS:
            found.pids.append(pid)
        else:
            found.has_more_users = True

    def _file_owners(self, descriptor: int) -> dict[int, int]:
        try:
            return self._owners.of_file(descriptor, MOST_PAGES)
        except OSError:  # a file that cannot be mapped
            return {}

    def _process(self, pid: int) -> HoldingProcess:
        return HoldingProcess(pid, self._comm(pid), unit_of(self._host, pid, self._top))

    def _comm(self, pid: int) -> str:
        return self._host.word(f"/proc/{pid}/comm")


def _device_without_mount() -> int:
    """Return the device of shared memory without a name, which the kernel keeps on a tmpfs of its own."""
    descriptor = os.memfd_create("necroscope")
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)


def _weight(holder: ZombieHolder) -> tuple[bool, int, str]:
    return holder.kind is HolderKind.MAPPED_FILE, -holder.held_bytes, holder.name


def _runs_out(part: Iterator[None], deadline: float) -> bool:
    """Go on with a part until a moment; whether it came to its end."""
    return all(time.monotonic() <= deadline for _ in part)


def memory_kind(kind: HolderKind) -> str:
    """Which of KINDS a holder's memory is counted as."""
    if kind is HolderKind.PROCESS:
        return ANONYMOUS
    return PAGE_CACHE if kind is HolderKind.MAPPED_FILE else SHARED
