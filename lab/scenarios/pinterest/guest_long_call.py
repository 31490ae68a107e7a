"""One system call that stays in the kernel as long as we like, and lets nobody else have the core.

A BPF program is run once on request (BPF_PROG_TEST_RUN); in a loop it copies 4 MiB from one element of a map
to the other. The kernel runs it to its end: no other thread gets the core before, but interrupts do, and what
an interrupt may do at its end is not forbidden either.

Needs    root and a kernel with BPF and bounded loops (Linux 5.3)
Costs    8 MiB of kernel memory
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct
import time
from collections.abc import Callable

SYSTEM_CALL = 321  # of bpf(2), on x86-64
MAP_CREATE, PROGRAM_LOAD, PROGRAM_TEST_RUN = 0, 5, 10
ARRAY = 2
# A program for raw trace points can be run on request from Linux 5.10 on. A socket filter can on older ones,
# but on 6.12 it keeps a NIC waiting while ksoftirqd does not wait: by another way than the one to be shown.
RAW_TRACEPOINT, SOCKET_FILTER = 17, 1
LOOKUP, UPDATE = 1, 2
VALUE_BYTES = (4 << 20) - 4096  # the largest that the oldest of these kernels takes
PACKET = bytes(64)  # for the socket filter
ENOTSUPP = 524  # the kernel's own, unknown to Python
TRIAL_COPIES = 10
MOST_COPIES = 20_000  # few enough for the verifier, which follows them all


def long_call(seconds: float) -> Callable[[], None]:
    """A call that takes about so long, as one of a few copies lets expect."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    store = _bpf(MAP_CREATE, struct.pack("<IIII", ARRAY, 4, VALUE_BYTES, 2))
    trial = _runner(store, TRIAL_COPIES)
    trial()  # once more than needed: the first finds the memory cold
    began = time.thread_time()
    trial()
    copies = round(seconds / (time.thread_time() - began) * TRIAL_COPIES)
    return _runner(store, max(1, min(copies, MOST_COPIES)))


def _runner(store: int, copies: int) -> Callable[[], None]:
    code = _program(store, copies)
    try:
        traced = _loaded(RAW_TRACEPOINT, code)
        _run(traced)
    except OSError as error:
        if error.errno not in (ENOTSUPP, errno.EINVAL):
            raise
        filtered = _loaded(SOCKET_FILTER, code)
        return lambda: _run(filtered, PACKET)
    return lambda: _run(traced)


def _loaded(kind: int, code: bytes) -> int:
    lines, terms = ctypes.create_string_buffer(code), ctypes.create_string_buffer(b"GPL")
    where = ctypes.addressof(lines), ctypes.addressof(terms)
    return _bpf(PROGRAM_LOAD, struct.pack("<IIQQ", kind, len(code) // 8, *where))


def _run(program: int, packet: bytes = b"") -> None:
    data = ctypes.create_string_buffer(packet) if packet else None
    where = ctypes.addressof(data) if data else 0
    _bpf(PROGRAM_TEST_RUN, struct.pack("<IIIIQQI", program, 0, len(packet), 0, where, 0, len(packet) and 1))


def _program(store: int, copies: int) -> bytes:
    """r6 is the first element; the second one is set to it `copies` times."""
    key, other_key = -4, -8
    lines = [
        _line(0x62, 10, 0, key, 0),  # *(u32 *)(r10 - 4) = 0
        _line(0x62, 10, 0, other_key, 1),  # *(u32 *)(r10 - 8) = 1
        *_map_in_r1(store),
        _line(0xBF, 2, 10),  # r2 = r10
        _line(0x07, 2, 0, 0, key),  # r2 += -4
        _line(0x85, 0, 0, 0, LOOKUP),
        _line(0x15, 0, 0, 11, 0),  # if r0 == 0 goto the end
        _line(0xBF, 6, 0),  # r6 = r0
        _line(0xB7, 7, 0, 0, 0),  # r7 = 0
        *_map_in_r1(store),  # the loop begins
        _line(0xBF, 2, 10),
        _line(0x07, 2, 0, 0, other_key),
        _line(0xBF, 3, 6),  # r3 = r6
        _line(0xB7, 4, 0, 0, 0),  # r4 = 0
        _line(0x85, 0, 0, 0, UPDATE),
        _line(0x07, 7, 0, 0, 1),  # r7 += 1
        _line(0xA5, 7, 0, -9, copies),  # if r7 < copies goto the loop
        _line(0xB7, 0, 0, 0, 0),  # the end: r0 = 0
        _line(0x95),
    ]
    return b"".join(lines)


def _map_in_r1(store: int) -> tuple[bytes, bytes]:
    """r1 = the map; this takes two lines."""
    return _line(0x18, 1, 1, 0, store), _line(0)


def _line(code: int, target: int = 0, source: int = 0, offset: int = 0, number: int = 0) -> bytes:
    return struct.pack("<BBhi", code, source << 4 | target, offset, number)


def _bpf(command: int, attributes: bytes) -> int:
    words = ctypes.create_string_buffer(attributes, 128)
    answer: int = ctypes.CDLL(None, use_errno=True).syscall(SYSTEM_CALL, command, words, len(words))
    if answer < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"bpf command {command}: {os.strerror(error)}")
    return answer
