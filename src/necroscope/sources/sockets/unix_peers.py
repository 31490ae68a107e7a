"""UNIX sockets and who is connected to whom, which no file tells.

Reads    the kernel's socket diagnosis over netlink, as `ss -x` does
Needs    Linux 3.3 with unix_diag, which the kernel loads when it is asked; CAP_SYS_ADMIN for another network
         namespace than ours
Costs    about 5 us per socket (measured with 10,000)
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import missing
from necroscope.sources.sockets.socket_tables import (
    DATAGRAM,
    TCP_ESTABLISHED,
    TCP_LISTEN,
    UnixSocket,
    unix_state,
)

NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
REQUEST_DUMP = 0x301
ERROR, DONE = 2, 3
SHOW = 0x1 | 0x2 | 0x4 | 0x8  # name, file, peer, and who waits to be accepted
NAME, FILE, PEER, WAITING = range(4)  # attributes
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
QUESTION = struct.Struct("=BBHIIIII")  # family, protocol, -, states, inode, what to show, cookie
ANSWER = struct.Struct("=BBBxIII")  # family, type, state, inode, cookie
ATTRIBUTE = struct.Struct("=HH")  # length, type
TIMEOUT_SECONDS = 3.0
LONGEST_ANSWER_BYTES = 1 << 16  # the kernel sends 32 KiB at most


CLONE_NEWNET = 0x40000000


def read_unix_sockets(namespace: str = "") -> Reading[tuple[UnixSocket, ...]]:
    """All UNIX sockets of our network namespace, or that of a file /proc/PID/ns/net, with their peers."""
    question = QUESTION.pack(socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, SHOW, 0xFFFFFFFF, 0xFFFFFFFF)
    header = HEADER.pack(HEADER.size + len(question), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0)
    found: list[UnixSocket] = []
    try:
        with _open_inside(namespace) if namespace else _open() as door:
            door.settimeout(TIMEOUT_SECONDS)
            door.send(header + question)
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while True:
                sockets, is_done = parse_answer(door.recv(LONGEST_ANSWER_BYTES))
                found += sockets
                if is_done:
                    return Reading(tuple(found))
                if time.monotonic() > deadline:
                    raise TimeoutError(0, "no end in time")
    except OSError as error:
        return missing("socket diagnosis over netlink", error)
    except (ValueError, struct.error) as error:
        return Reading(absence=Absence.BROKEN, detail=f"socket diagnosis over netlink: {error}")


def _open() -> socket.socket:
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG)


def _open_inside(namespace: str) -> socket.socket:
    """Open a socket in another network namespace. Only a thread enters it, which then ends."""

    def enter() -> socket.socket:
        descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(descriptor, CLONE_NEWNET):
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), namespace)
        finally:
            os.close(descriptor)
        return _open()

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(enter).result()


def parse_answer(data: bytes) -> tuple[list[UnixSocket], bool]:
    """The sockets of one answer, and whether it was the last. An error in it is raised as OSError."""
    sockets: list[UnixSocket] = []
    for kind, body in _cut(data, HEADER):
        if kind == DONE:
            return sockets, True
        if kind == ERROR:
            number = -struct.unpack_from("=i", body)[0]
            raise OSError(number, os.strerror(number))
        if kind == SOCK_DIAG_BY_FAMILY:
            sockets.append(_socket(body))
    return sockets, False


def _cut(data: bytes, header: struct.Struct) -> Iterator[tuple[int, bytes]]:
    """Messages or attributes: each with a header that begins with its length and type, in steps of 4."""
    offset = 0
    while offset + header.size <= len(data):
        length, kind, *_ = header.unpack_from(data, offset)
        if not header.size <= length <= len(data) - offset:
            raise ValueError(f"a length of {length} bytes at {offset} of {len(data)}")
        yield kind, data[offset + header.size : offset + length]
        offset += (length + 3) & ~3


def _socket(body: bytes) -> UnixSocket:
    _, kind, state, inode, _, _ = ANSWER.unpack_from(body)
    known = dict(_cut(body[ANSWER.size :], ATTRIBUTE))
    name = _name(known.get(NAME, b""))
    peer = struct.unpack("=I", known[PEER])[0] if PEER in known else 0
    is_datagram = kind == DATAGRAM
    return UnixSocket(
        inode=inode,
        name=name,
        state=unix_state(
            listens=state == TCP_LISTEN,
            # The state of a datagram socket says since Linux 5.15 that it has a peer, or is one.
            is_connected=bool(peer) if is_datagram else state == TCP_ESTABLISHED,
            is_datagram=is_datagram,
            name=name,
        ),
        is_datagram=is_datagram,
        peer=peer,
        waiting=tuple(one for (one,) in struct.iter_unpack("=I", known.get(WAITING, b"")) if one),
        file=struct.unpack("=II", known[FILE]) if FILE in known else None,
    )


def _name(data: bytes) -> str:
    """As /proc/net/unix has it: an abstract one begins with a zero byte, and those are shown as @."""
    if data.startswith(b"\0"):
        return data.replace(b"\0", b"@").decode(errors="replace")
    return data.partition(b"\0")[0].decode(errors="replace")
