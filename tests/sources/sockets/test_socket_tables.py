from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

import pytest

from necroscope.model.reading import Absence
from necroscope.sources.host import Host
from necroscope.sources.sockets.socket_ends import (
    UNKNOWN,
    Call,
    Client,
    Ends,
    Stray,
    join_internet,
    join_unix,
)
from necroscope.sources.sockets.socket_tables import (
    InternetSocket,
    State,
    UnixSocket,
    parse_internet,
    parse_unix,
)
from necroscope.sources.sockets.unix_peers import parse_answer, read_unix_sockets

# Lines of a Linux 6.18, on a machine with the least significant byte first.
TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:C9DE 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 18291 1 0 100 0
   1: 0100007F:C9DE 0100007F:A001 01 00000000:00000000 00:00000000 00000000     0        0 18292 1 0 20 4
   2: 0100007F:A001 0100007F:C9DE 01 00000000:00000000 00:00000000 00000000     0        0 18293 1 0 20 4
   3: 0200000A:B002 0500000A:01BB 06 00000000:00000000 03:00000D7A 00000000     0        0 0 3 0
"""
TCP6 = """\
  sl  local_address                         remote_address                        st tx_queue rx_queue inode
   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 77 1
   1: 0000000000000000FFFF00000200000A:0016 0000000000000000FFFF00000700000A:E001 01 0:0 00:0 0 0 0 78 1
   2: 00000000000000000000000001000000:0016 00000000000000000000000001000000:E002 01 0:0 00:0 0 0 0 79 1
"""
UNIX = """\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 18350 /run/docker.sock
0000000000000000: 00000003 00000000 00000000 0001 03 18351 /run/docker.sock
0000000000000000: 00000003 00000000 00000000 0001 03 18352
0000000000000000: 00000003 00000000 00000000 0001 02     0 /run/docker.sock
0000000000000000: 00000002 00000000 00000000 0002 01 18353 /run/box.sock
0000000000000000: 00000002 00000000 00000000 0002 01 18354 @0001f
0000000000000000: 00000002 00000000 00010000 0005 01 18355 @/org/with blank
"""

pytestmark = pytest.mark.skipif(
    struct.pack("=H", 1) != b"\1\0", reason="the tables are of another byte order"
)


def internet(inode: int, local: str, remote: str = "", protocol: str = "tcp") -> InternetSocket:
    state = State.CONNECTED if remote else State.LISTENING
    return InternetSocket(protocol, inode, local, remote or "0.0.0.0:0", state)


def test_tables_of_the_internet() -> None:
    assert parse_internet(TCP, "tcp") == (
        InternetSocket("tcp", 18291, "127.0.0.1:51678", "0.0.0.0:0", State.LISTENING),
        InternetSocket("tcp", 18292, "127.0.0.1:51678", "127.0.0.1:40961", State.CONNECTED),
        InternetSocket("tcp", 18293, "127.0.0.1:40961", "127.0.0.1:51678", State.CONNECTED),
        InternetSocket("tcp", 0, "10.0.0.2:45058", "10.0.0.5:443", State.OTHER),
    )
    assert [(one.local, one.remote) for one in parse_internet(TCP6, "tcp")] == [
        ("[::]:22", "[::]:0"),
        ("10.0.0.2:22", "10.0.0.7:57345"),
        ("[::1]:22", "[::1]:57346"),
    ]


def test_a_table_of_unix_sockets() -> None:
    assert [(one.inode, one.name, one.state) for one in parse_unix(UNIX)] == [
        (18350, "/run/docker.sock", State.LISTENING),
        (18351, "/run/docker.sock", State.CONNECTED),
        (18352, "", State.CONNECTED),
        (0, "/run/docker.sock", State.CONNECTED),
        (18353, "/run/box.sock", State.LISTENING),
        (18354, "@0001f", State.OTHER),  # a client's, whose name the kernel made up
        (18355, "@/org/with blank", State.LISTENING),
    ]


def test_a_path_with_a_line_end_loses_nothing_else() -> None:
    text = UNIX.replace("/run/box.sock", "/run/box\nof\n\x0csock")
    assert [one.inode for one in parse_unix(text)] == [one.inode for one in parse_unix(UNIX)]


@pytest.mark.parametrize("text", ["", "\n", "\0" * 99 + "\n", TCP[:-3], TCP.replace("0100007F", "x"), UNIX])
def test_what_is_not_a_table_of_the_internet(text: str) -> None:
    with pytest.raises((ValueError, IndexError)):
        parse_internet(text, "tcp")


@pytest.mark.parametrize("text", ["", "\n", "\0" * 99 + "\n", UNIX[:-3], TCP])
def test_what_is_not_a_table_of_unix_sockets(text: str) -> None:
    with pytest.raises(ValueError):
        parse_unix(text)


def test_both_ends_of_a_connection_on_this_machine() -> None:
    ends = join_internet(parse_internet(TCP, "tcp"), range(32768, 61000))
    (listener,) = ends.listeners
    assert (listener.address, listener.inodes) == ("tcp 127.0.0.1:51678", frozenset([18291]))
    assert listener.clients == (Client(18293, "127.0.0.1"),)
    assert ends.calls == (Call(18293, "tcp 127.0.0.1:51678", frozenset([18291])),)


def test_clients_from_elsewhere_and_from_both_families() -> None:
    (listener,) = join_internet(parse_internet(TCP6, "tcp"), range(0)).listeners
    assert set(listener.clients) == {Client(0, "10.0.0.7"), Client(0, "::1")}


def test_the_closest_listener_has_the_connection() -> None:
    sockets = [
        internet(1, "0.0.0.0:80"),
        internet(2, "127.0.0.1:80"),
        internet(3, "[::]:81"),
        internet(4, "127.0.0.1:80", "127.0.0.1:5000"),
        internet(5, "10.0.0.2:80", "10.0.0.9:5000"),
        internet(6, "10.0.0.2:81", "10.0.0.8:5000"),
    ]
    listeners = {one.address: one.clients for one in join_internet(sockets, range(0)).listeners}
    assert listeners == {
        "tcp 0.0.0.0:80": (Client(0, "10.0.0.9"),),
        "tcp 127.0.0.1:80": (Client(0, "127.0.0.1"),),
        "tcp [::]:81": (Client(0, "10.0.0.8"),),
    }


def test_a_call_to_another_machine_is_not_one_to_our_own_port() -> None:
    sockets = [internet(1, "0.0.0.0:443"), internet(2, "10.0.0.2:40000", "10.0.0.5:443")]
    ends = join_internet(sockets, range(0))
    assert ends.calls == (Call(2, "tcp 10.0.0.5:443", frozenset()),)
    assert ends.listeners[0].clients == ()


def test_udp_has_listeners_and_sometimes_clients() -> None:
    sockets = [
        internet(1, "127.0.0.1:8125", protocol="udp"),
        internet(2, "0.0.0.0:40000", protocol="udp"),  # somebody waits for an answer
        internet(3, "127.0.0.1:40001", "127.0.0.1:8125", protocol="udp"),
        internet(4, "10.0.0.2:40002", "10.0.0.1:53", protocol="udp"),
    ]
    ends = join_internet(sockets, range(32768, 61000))
    (listener,) = ends.listeners
    assert (listener.address, listener.keeps_connections) == ("udp 127.0.0.1:8125", False)
    assert listener.clients == (Client(3, "127.0.0.1"),)
    assert ends.calls == (
        Call(3, "udp 127.0.0.1:8125", frozenset([1])),
        Call(4, "udp 10.0.0.1:53", frozenset()),
    )


def test_no_sockets() -> None:
    assert join_internet([], range(0)) == join_unix([]) == Ends((), ())


def unix(inode: int, name: str = "", peer: int | None = None, **more: object) -> UnixSocket:
    defaults = {"state": State.LISTENING if peer is None else State.CONNECTED, "is_datagram": False}
    return UnixSocket(inode, name, peer=peer, **(defaults | more))  # type: ignore[arg-type]


def test_unix_connections() -> None:
    sockets = [
        unix(1, "/run/a.sock", waiting=(5,)),
        unix(2, "/run/a.sock", peer=3),
        unix(3, "", peer=2),
        unix(5, "", peer=0),  # waits to be accepted
        unix(6, "", peer=7),  # a pair, of no interest
        unix(7, "", peer=6),
    ]
    ends = join_unix(sockets)
    (listener,) = ends.listeners
    assert (listener.address, listener.inodes) == ("unix /run/a.sock", frozenset([1]))
    assert listener.keeps_connections
    assert set(listener.clients) == {Client(3, UNKNOWN), Client(5, UNKNOWN)}
    assert set(ends.calls) == {Call(n, "unix /run/a.sock", frozenset([1])) for n in (3, 5)}


def test_unix_datagrams() -> None:
    ends = join_unix([unix(1, "/dev/log", is_datagram=True), unix(2, "", peer=1, is_datagram=True)])
    assert ends.listeners[0].clients == (Client(2, UNKNOWN),)
    assert not ends.listeners[0].keeps_connections
    assert ends.calls == (Call(2, "unix /dev/log", frozenset([1])),)


def test_one_name_of_two_files_is_two_listeners() -> None:
    sockets = [
        unix(1, "/run/a.sock", file=(10, 1)),
        unix(2, "/run/a.sock", file=(20, 1)),
        unix(3, "/run/a.sock", peer=4, file=(20, 1)),
    ]
    by_inode = {one.inodes: one.clients for one in join_unix(sockets).listeners}
    assert by_inode == {frozenset([1]): (), frozenset([2]): (Client(4, UNKNOWN),)}


def test_without_peers_a_client_has_no_name() -> None:
    ends = join_unix(parse_unix(UNIX))
    clients = {one.address: one.clients for one in ends.listeners}
    assert clients["unix /run/docker.sock"] == (Client(0, UNKNOWN),)
    assert clients["unix /run/box.sock"] == clients["unix @/org/with blank"] == ()
    assert ends.calls == ()


def test_a_listener_in_another_namespace() -> None:
    """The end that it accepted is where the client is; a client may have a name, but not a path."""
    ends = join_unix([unix(2, "/run/a.sock", peer=3), unix(3, "@me", peer=2)])
    assert ends.strays == (Stray(2, "unix /run/a.sock", Client(3, UNKNOWN)),)
    assert ends.calls == (Call(3, "unix /run/a.sock", frozenset([2])),)


def inode_of(one: socket.socket) -> int:
    return os.fstat(one.fileno()).st_ino


def test_the_kernel_tells_of_our_own_sockets(tmp_path: Path) -> None:
    path = f"{tmp_path}/a.sock"
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as first:
        server.bind(path)
        server.listen()
        first.connect(path)
        accepted, _ = server.accept()
        with accepted, socket.socket(socket.AF_UNIX) as second:
            second.bind("\0abstract\0name")
            second.connect(path)  # and nobody accepts it
            reading = read_unix_sockets()
            assert reading.value is not None, reading.reason
            found = {one.inode: one for one in reading.value}
            # The same, from the text.
            listed = {one.inode: one for one in Host().read("/proc/net/unix").parsed(parse_unix).value or ()}
            for one in (server, first, accepted, second):
                theirs, ours = listed[inode_of(one)], found[inode_of(one)]
                assert (theirs.name, theirs.state) == (ours.name, ours.state)
            assert found[inode_of(server)].name == found[inode_of(accepted)].name == path
            assert found[inode_of(server)].waiting == (inode_of(second),)
            assert found[inode_of(server)].file == found[inode_of(accepted)].file
            assert found[inode_of(first)].file != found[inode_of(server)].file
            assert found[inode_of(accepted)].peer == inode_of(first)
            assert found[inode_of(first)].peer == inode_of(accepted)
            assert found[inode_of(second)].name == "@abstract@name"
            (listener,) = (one for one in join_unix(reading.value).listeners if one.address == f"unix {path}")
            assert {client.inode for client in listener.clients} == {inode_of(first), inode_of(second)}


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 0) + body


def attribute(kind: int, body: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(body), kind) + body + b"\0" * (-len(body) % 4)


SOCKET = struct.pack("=BBBxIII", 1, 1, 1, 4711, 0, 0)


def test_an_answer_of_the_kernel() -> None:
    name = attribute(0, b"/run/a.sock\0")
    sockets, is_done = parse_answer(message(20, SOCKET + name + attribute(2, struct.pack("=I", 4712))))
    assert sockets == [unix(4711, "/run/a.sock", peer=4712)]
    assert not is_done
    assert parse_answer(message(3, b"\0\0\0\0")) == ([], True)
    with pytest.raises(PermissionError):
        parse_answer(message(2, struct.pack("=i", -1)))


@pytest.mark.parametrize(
    "data",
    [
        message(20, SOCKET)[:-1],
        message(20, SOCKET[:-1]),
        struct.pack("=IHHII", 0, 20, 0, 1, 0),
        struct.pack("=IHHII", 2**32 - 1, 20, 0, 1, 0),
        message(20, SOCKET + struct.pack("=HH", 2, 0)),
        message(20, SOCKET + struct.pack("=HH", 99, 0)),
        message(20, SOCKET + attribute(2, b"\0")),
        message(20, SOCKET + attribute(3, b"\0\0\0\0\0")),
        message(2, b""),
    ],
)
def test_an_answer_that_is_cut_or_lies_about_lengths(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    class Door(socket.socket):
        def recv(self, *_: object) -> bytes:
            return data

    with pytest.raises((ValueError, struct.error)):
        parse_answer(data)
    monkeypatch.setattr(socket, "socket", Door)
    reading = read_unix_sockets()
    assert reading.absence is Absence.BROKEN
    assert "netlink" in reading.detail
