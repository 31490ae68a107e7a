"""Which memory cgroup a page is charged to.

Reads    /proc/kpagecgroup, and the pagemap of a process or of ourselves
Needs    root, and a kernel with CONFIG_PROC_PAGE_MONITOR and CONFIG_MEMCG
Costs    40 us for a file of one page, 40 ms for one of 64 MiB (measured)

The kernel names the closest cgroup that is still in use: for a page of a removed one, that is its parent. A
page is known by the number of its frame, which is in the page table of a process that has it mapped. A file
that nobody has mapped is mapped by us: only what is in memory already, so that no page is read from a disk or
from swap, and no hole is filled and charged to us. Of a huge page, some kernels tell it of the first 4 KiB
only.
"""

from __future__ import annotations

import mmap
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from ctypes import CDLL, c_int, c_long, c_size_t, c_void_p, create_string_buffer
from types import TracebackType

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing

OWNERS = "/proc/kpagecgroup"
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
ENTRY_BYTES = 8  # of both files, for every page
NUMBER_MASK = (1 << 55) - 1
IS_SHARED = 1 << 61  # a page of a file, or of shared memory
IS_PRESENT = 1 << 63
LARGEST_GAP = 32  # frames between two of ours that cost less to read along than a call
MAP_POPULATE = 0x8000
MAP_FAILED = c_void_p(-1).value
MADV_SEQUENTIAL = 2

_libc = CDLL(None)
_libc.mmap.restype = c_void_p
_libc.mmap.argtypes = (c_void_p, c_size_t, c_int, c_int, c_int, c_long)
_libc.munmap.argtypes = (c_void_p, c_size_t)
_libc.madvise.argtypes = (c_void_p, c_size_t, c_int)
_libc.mincore.argtypes = (c_void_p, c_size_t, c_void_p)


def open_page_owners(host: Host) -> Reading[PageOwners]:
    """The owners of pages, to be closed after use."""
    if not host.is_live:
        return Reading(absence=Absence.NOT_SUPPORTED, detail="a recorded tree has no pages")
    try:
        return Reading(PageOwners(host))
    except OSError as error:
        return missing(OWNERS, error)


class PageOwners:
    """Answers for frames of memory: the inode number of the cgroup that each is charged to."""

    def __init__(self, host: Host) -> None:
        self._owners = os.open(host.path(OWNERS), os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Ours, whichever machine we look at.
            self._own_pages = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self._owners)
            raise

    def __enter__(self) -> PageOwners:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        os.close(self._owners)
        os.close(self._own_pages)

    def of_file(self, descriptor: int, most_pages: int) -> dict[int, int]:
        """Owner by frame, of the first pages of an open file that are in memory."""
        pages = min(-(-os.fstat(descriptor).st_size // PAGE_BYTES), most_pages)
        owners: dict[int, int] = {}
        for first, count in _resident_runs(descriptor, pages):
            owners |= self._of_run(descriptor, first, count)
        return owners

    def of_mapping(self, pagemap: int, begin: int, pages: int) -> tuple[dict[int, int], dict[int, int]]:
        """Owner by frame, of a stretch of a process: of its shared and file pages, and of anonymous ones."""
        entries = _entries(pagemap, begin, pages)
        present = [entry for entry in entries if entry & IS_PRESENT]
        shared = self._owners_of(entry for entry in present if entry & IS_SHARED)
        return shared, self._owners_of(entry for entry in present if not entry & IS_SHARED)

    def _of_run(self, descriptor: int, first: int, count: int) -> dict[int, int]:
        # To fill the page table like this raises no SIGBUS if the file has been cut meanwhile.
        address = _map(descriptor, first, count, mmap.MAP_SHARED | MAP_POPULATE)
        try:
            return self._owners_of(_entries(self._own_pages, address, count))
        finally:
            # Else the kernel would take it for an access to the pages, and keep them longer.
            _libc.madvise(address, count * PAGE_BYTES, MADV_SEQUENTIAL)
            _libc.munmap(address, count * PAGE_BYTES)

    def _owners_of(self, entries: Iterable[int]) -> dict[int, int]:
        frames = sorted({entry & NUMBER_MASK for entry in entries if entry & IS_PRESENT})
        owners: dict[int, int] = {}
        for run in _near(frames):
            begin = run[0]
            length = (run[-1] - begin + 1) * ENTRY_BYTES
            numbers = array("Q", _whole(os.pread(self._owners, length, begin * ENTRY_BYTES)))
            owners.update((frame, numbers[frame - begin]) for frame in run if frame - begin < len(numbers))
        return owners


def _resident_runs(descriptor: int, pages: int) -> Iterator[tuple[int, int]]:
    """First page and length of every stretch of a file that is in memory."""
    if not pages:
        return
    address = _map(descriptor, 0, pages, mmap.MAP_SHARED)
    try:
        told = create_string_buffer(pages)
        if _libc.mincore(address, pages * PAGE_BYTES, told):
            return
    finally:
        _libc.munmap(address, pages * PAGE_BYTES)
    resident = bytes(byte & 1 for byte in told.raw)
    begin = resident.find(1)
    while begin >= 0:
        end = resident.find(0, begin)
        end = pages if end < 0 else end
        yield begin, end - begin
        begin = resident.find(1, end)


def _map(descriptor: int, first: int, pages: int, flags: int) -> int:
    offset, length = first * PAGE_BYTES, pages * PAGE_BYTES
    address = _libc.mmap(None, length, mmap.PROT_READ, flags, descriptor, offset)
    if address == MAP_FAILED:
        raise OSError("the file cannot be mapped")
    return int(address)


def _entries(pagemap: int, address: int, pages: int) -> array[int]:
    return array("Q", _whole(os.pread(pagemap, pages * ENTRY_BYTES, address // PAGE_BYTES * ENTRY_BYTES)))


def _whole(data: bytes) -> bytes:
    return data[: len(data) // ENTRY_BYTES * ENTRY_BYTES]


def _near(frames: Sequence[int]) -> Iterator[list[int]]:
    """Frames that are close to each other, together."""
    run: list[int] = []
    for frame in frames:
        if run and frame - run[-1] > LARGEST_GAP:
            yield run
            run = []
        run.append(frame)
    if run:
        yield run
