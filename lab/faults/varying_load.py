"""A load that comes and goes on every core, in user space and in the kernel, and a spike in it."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

# Kinds of kernel work, and the functions that do it; kernels differ in which of them has a frame of its own.
# What holds most of the time of a read with 16 MiB at a time is its innermost loop.
KERNEL_WORK = {
    "zero": ("clear_user", "rep_stos", "read_iter_zero", "read_zero", "iov_iter_zero", "memset"),
    "random": ("chacha", "get_random_bytes_user", "urandom_read"),
    "faults": ("clear_page", "clear_huge_page", "folio_zero_user", "do_anonymous_page", "mm_populate"),
    "copies": (
        "copy_to_iter",
        "copy_folio_to_iter",
        "copy_page_to_iter",
        "copy_to_user",
        "rep_movs",
        "shmem",
    ),
    "symbols": (
        "s_show",
        "s_next",
        "update_iter",
        "kallsyms",
        "vsnprintf",
        "format_decode",
        "seq_printf",
        "string",
    ),
}

PROGRAM = """
import ctypes, mmap, os, random, sys, time
core, comm, kind, seed = int(sys.argv[1]), *sys.argv[2:5]
spike_seconds = float(sys.argv[5])
size = 1 << 24 if spike_seconds else 1 << 18  # long system calls in a spike, short ones in a load that varies
os.sched_setaffinity(0, [core])
buffer = bytearray(size)
opened = {"zero": "/dev/zero", "random": "/dev/urandom", "symbols": "/proc/kallsyms"}
file = os.open(opened[kind], os.O_RDONLY) if kind in opened else os.memfd_create("copied")
if kind == "copies":
    os.write(file, buffer)

def work():
    if kind == "user":
        sum(range(20000))
    elif kind == "faults":
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000).close()  # MAP_POPULATE
    elif kind == "copies":
        os.preadv(file, [buffer], 0)
    elif not os.readv(file, [buffer]):
        os.lseek(file, 0, 0)

def spend(seconds, intensity):
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        while time.monotonic() < now + 0.02 * intensity:
            work()
        time.sleep(0.02 * (1 - intensity))

ctypes.CDLL(None).prctl(15, comm.encode(), 0, 0, 0)  # PR_SET_NAME
if spike_seconds:
    sys.stdout.write("ready\\n")
    sys.stdout.flush()
    sys.stdin.readline()
    end = time.monotonic() + spike_seconds
    while time.monotonic() < end:
        work()
    sys.exit()
rng = random.Random(seed)
time.sleep(rng.uniform(0, 3))
while True:
    spend(rng.uniform(0.2, 2.5), rng.uniform(0.1, 0.8))
    time.sleep(rng.uniform(0.5, 6))
"""


@contextmanager
def varying_load(cores: Sequence[int], seed: int) -> Iterator[list[str]]:
    """Some kinds of work on every core, each for a while and then not; gives the names of the processes.

    They are work in user space and most kinds of kernel work: half of a core all in all. A name tells the
    kind and the core: `load-zero-1`.
    """
    kinds = ("user", *random.Random(seed).sample(list(KERNEL_WORK), 3))
    started = {
        f"load-{kind}-{core}": _start(core, f"load-{kind}-{core}", kind, seed)
        for core in cores
        for kind in kinds
    }
    try:
        yield list(started)
    finally:
        for process in started.values():
            process.kill()
            process.wait()


@contextmanager
def ready_spike(core: int, kind: str, seconds: float) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process that waits for a line and then works for some seconds; its name and itself."""
    name = f"spike-{kind}"
    process = _start(core, name, kind, 0, seconds)
    try:
        assert process.stdout and process.stdout.readline(), "it said that it is ready"
        yield name, process
    finally:
        process.kill()
        process.wait()


def spike(process: subprocess.Popen[str]) -> None:
    """Let a ready one work, and wait until it has."""
    process.communicate("go\n")


def _start(core: int, name: str, kind: str, seed: int, spike_seconds: float = 0) -> subprocess.Popen[str]:
    words = [str(core), name, kind, f"{name}-{seed}", str(spike_seconds)]
    pipe = subprocess.PIPE if spike_seconds else subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stdin=pipe, stdout=pipe, text=True)
