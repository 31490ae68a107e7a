"""Leave a node with hardly any memory: most of it is taken as huge pages, and a process reads more than fits.

Huge pages of the pool are taken from the kernel at once and never touched, so nothing has to be written and
all is given back at once. Where memory is in pieces, the process takes the rest by itself. What is then left
is shared by everybody, so the kernel's own search for memory begins: kswapd, and the tasks that want pages.
If still less is left than the floor, all is given back before somebody is killed for it; should the kernel
be faster, the reader is the first to be killed. A process of its own holds the pool, and gives it back when
we end, whatever ends us.

Needs    root, no pool of huge pages in use, at most 64 GiB of memory, room for a file of the size of 3/2 of
         what is left, on a disk
Costs    0.2 s to take 11 GB and 0.03 s to give it back (24 GB, two cores)
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POOL = Path("/proc/sys/vm/nr_hugepages")
ON_DISK = "/var/tmp"
LARGEST_BYTES = 64 << 30
LEFT_RATIO, FLOOR_RATIO = 0.04, 0.02  # of all memory
WATCH_SECONDS = 0.05
GIVE_BACK_SECONDS = 30.0

# Takes pages until its standard input ends, or too little is left for others.
HOLD = """
import contextlib, select, signal, sys
pages, floor, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])

def set_pool(count):
    with open("/proc/sys/vm/nr_hugepages", "w") as pool:
        pool.write(count)

def available():
    with open("/proc/meminfo") as rows:
        return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("MemAvailable"))

# Whoever gives the memory back must not be killed for want of it; not all of root may say so.
with contextlib.suppress(PermissionError), open("/proc/self/oom_score_adj", "w") as score:
    score.write("-1000")
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started us, and ends our input
try:
    set_pool(pages)
    print("held", flush=True)
    while available() >= floor and not select.select([sys.stdin], [], [], seconds)[0]:
        pass
finally:
    set_pool("0")
"""


# Takes what huge pages have left over, and reads its standard input, a file, again and again: one end of it
# pushes the other out of the cache.
READ = """
import ctypes, mmap, os, sys
core, left = int(sys.argv[1]), int(sys.argv[2])
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
with open("/proc/self/oom_score_adj", "w") as score:
    score.write("1000")
os.sched_setaffinity(0, [core])

def available():
    with open("/proc/meminfo") as rows:
        return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("MemAvailable"))

taken, touched = [], mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
while available() > left:
    taken.append(mmap.mmap(-1, 16 << 20, flags=touched))
print("short", flush=True)
block = bytearray(1 << 20)
while True:
    if not os.readv(0, [block]):
        os.lseek(0, 0, 0)
"""


def why_not() -> str | None:
    """Why memory cannot, or should not, be made short here; or None."""
    if os.geteuid() != 0:
        return "not root"
    if not POOL.exists():
        return "this kernel has no huge pages"
    if POOL.read_text().strip() != "0":
        return "this machine uses a pool of huge pages"
    total = memory()["MemTotal"]
    return f"{total >> 30} GiB of memory are too much to take" if total > LARGEST_BYTES else None


def memory() -> dict[str, int]:
    """/proc/meminfo, in bytes where it has a unit."""
    rows = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return {row[0].rstrip(":"): int(row[1]) * (1024 if len(row) > 2 else 1) for row in rows}


@contextmanager
def short_memory(core: int) -> Iterator[int]:
    """So little memory left that the kernel has to search for it; a reader on a core, whose pid is given."""
    left_bytes = int(memory()["MemTotal"] * LEFT_RATIO)
    with _large_file(left_bytes * 3 // 2) as file, _all_taken_but(left_bytes):
        command = [sys.executable, "-IS", "-c", READ, str(core), str(left_bytes)]
        process = subprocess.Popen(command, stdin=file, stdout=subprocess.PIPE)
        try:
            if not process.stdout or process.stdout.readline() != b"short\n":
                raise OSError("the memory could not be made short")
            yield process.pid
        finally:
            process.kill()
            process.communicate()


@contextmanager
def _all_taken_but(left_bytes: int) -> Iterator[None]:
    now = memory()
    pages = (now["MemAvailable"] - left_bytes) // now["Hugepagesize"]
    words = [str(pages), str(int(now["MemTotal"] * FLOOR_RATIO)), str(WATCH_SECONDS)]
    command = [sys.executable, "-IS", "-c", HOLD, *words]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        if not process.stdout or process.stdout.readline() != b"held\n":
            raise OSError("the memory could not be taken")
        yield
    finally:
        _give_back(process)


def _give_back(process: subprocess.Popen[bytes]) -> None:
    """Have it give all back, and do so ourselves should it not: the pool was empty before."""
    try:
        process.communicate(timeout=GIVE_BACK_SECONDS)
    finally:
        process.kill()
        process.wait()
        POOL.write_text("0")


@contextmanager
def _large_file(size_bytes: int) -> Iterator[int]:
    """A file on a disk, written past the cache and without a name; gives its descriptor."""
    descriptor, name = tempfile.mkstemp(prefix="necroscope-lab-", dir=ON_DISK)
    try:
        Path(name).unlink()
        place = f"/proc/{os.getpid()}/fd/{descriptor}"
        write = ["dd", "if=/dev/zero", f"of={place}", "bs=4M", f"count={size_bytes >> 22}", "oflag=direct"]
        subprocess.run([*write, "status=none"], check=True)
        yield descriptor
    finally:
        os.close(descriptor)
