"""The kernel's tables of sockets, as text: /proc/PID/net/{tcp,tcp6,udp,udp6,unix}.

  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:C9DE 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18291 1 ...
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 18350 /run/docker.sock
"""

from __future__ import annotations

import enum
import ipaddress
import re
import struct
from dataclasses import dataclass
from functools import lru_cache

from necroscope.sources.host import whole_lines

TCP_ESTABLISHED = 0x01
TCP_LISTEN = 0x0A
ACCEPTS = 0x10000  # the flag of a UNIX socket that listens
UNIX_CONNECTED = (2, 3)  # accepted or not yet
DATAGRAM = 2  # the type of a UNIX socket; 1 is a stream, 5 keeps the borders of packets
# A name that the kernel makes up for a client that wants answers.
AUTOMATIC_NAME = re.compile(r"@[0-9a-f]{5}")
# A path may hold line ends, so a line that does not look like this is the rest of one.
UNIX_LINE = re.compile(
    r"[0-9a-f]+: [0-9A-F]{8} [0-9A-F]{8} ([0-9A-F]{8}) ([0-9A-F]{4}) ([0-9A-F]{2}) +([0-9]+)(?: (.*))?",
    re.DOTALL,
)


class State(enum.Enum):
    """What a socket is for at the moment."""

    LISTENING = "listening"  # or, without connections, bound and open to anybody
    CONNECTED = "connected"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class InternetSocket:
    """One socket of TCP or UDP. An address is 127.0.0.1:80 or [::1]:80; an IPv4 one in IPv6 is IPv4."""

    protocol: str  # tcp, udp
    inode: int  # 0: no process has it, or not yet
    local: str
    remote: str
    state: State


@dataclass(frozen=True, slots=True)
class UnixSocket:
    """One UNIX socket. Not all that is known of one is in the kernel's text."""

    inode: int
    name: str  # /run/docker.sock, @abstract, or empty
    state: State
    is_datagram: bool
    peer: int | None = None  # the inode of the other end; 0: it has none; None: not known
    waiting: tuple[int, ...] = ()  # inodes of clients that have not been accepted yet
    file: tuple[int, int] | None = None  # inode and device of its name: the same name may be many files


def parse_internet(text: str, protocol: str) -> tuple[InternetSocket, ...]:
    """The sockets of a table of TCP or UDP, of either version of IP."""
    header, *lines = whole_lines(text)
    if "local_address" not in header:
        raise ValueError("not a table of sockets")
    return tuple(_internet(line.split(), protocol) for line in lines)


def _internet(fields: list[str], protocol: str) -> InternetSocket:
    local, remote, state, inode = _address(fields[1]), _address(fields[2]), int(fields[3], 16), fields[9]
    if state == TCP_ESTABLISHED:
        kind = State.CONNECTED
    elif state == TCP_LISTEN or protocol == "udp":
        kind = State.LISTENING
    else:
        kind = State.OTHER
    return InternetSocket(protocol, int(inode), local, remote, kind)


@lru_cache(maxsize=4096)  # most lines of a busy table share an end
def _address(text: str) -> str:
    """Words of 32 bits in the byte order of the machine, a colon, and the port."""
    words, _, port = text.partition(":")
    if len(words) not in (8, 32):
        raise ValueError(f"{text!r} is no address")
    packed = b"".join(struct.pack("=I", int(words[i : i + 8], 16)) for i in range(0, len(words), 8))
    address = ipaddress.ip_address(packed)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return f"[{address}]:{int(port, 16)}"
        address = address.ipv4_mapped
    return f"{address}:{int(port, 16)}"


def parse_unix(text: str) -> tuple[UnixSocket, ...]:
    """The UNIX sockets of a table; who is connected to whom is not in it."""
    header, *lines = whole_lines(text)
    if "RefCount" not in header:
        raise ValueError("not a table of UNIX sockets")
    return tuple(_unix(*found.groups()) for line in lines if (found := UNIX_LINE.fullmatch(line)))


def _unix(flags: str, kind: str, state: str, inode: str, name: str | None) -> UnixSocket:
    is_datagram = int(kind, 16) == DATAGRAM
    return UnixSocket(
        inode=int(inode),
        name=name or "",
        state=unix_state(
            listens=bool(int(flags, 16) & ACCEPTS),
            # That others have connected to it is also a state of a datagram socket.
            is_connected=not is_datagram and int(state, 16) in UNIX_CONNECTED,
            is_datagram=is_datagram,
            name=name or "",
        ),
        is_datagram=is_datagram,
    )


def unix_state(*, listens: bool, is_connected: bool, is_datagram: bool, name: str) -> State:
    """What a UNIX socket is for: one without connections listens where others can find it."""
    if is_connected:
        return State.CONNECTED
    if listens or (is_datagram and name and not AUTOMATIC_NAME.fullmatch(name)):
        return State.LISTENING
    return State.OTHER
