from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from necroscope.model.inventory import Served
from necroscope.model.reading import Absence
from necroscope.sources import systemd_bus
from necroscope.sources.host import Host
from necroscope.sources.sockets.socket_holders import (
    read_process_units,
    read_socket_inodes,
)
from necroscope.sources.sockets.unit_sockets import UnitSockets, read_unit_sockets
from tests.sources.conftest import Content, Deny, StartSystemd, Tree
from tests.sources.fake_systemd import answer_from, row

FAR = float("inf")
HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
UNIX_HEADER = "Num       RefCount Protocol Flags    Type St Inode Path\n"


def line(local: str, remote: str, state: str, inode: int) -> str:
    return f"   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"


def unix_line(flags: str, state: str, inode: int, path: str) -> str:
    return f"0000000000000000: 00000002 00000000 {flags} 0001 {state} {inode} {path}\n"


LISTEN, OPEN = "0A", "01"
TCP = HEADER + "".join(
    [
        line("0100007F:0050", "00000000:0000", LISTEN, 100),  # web.service
        line("0100007F:0050", "0100007F:A000", OPEN, 101),
        line("0100007F:A000", "0100007F:0050", OPEN, 201),  # cron.service
        line("0100007F:0050", "0100007F:A001", OPEN, 102),
        line("0100007F:A001", "0100007F:0050", OPEN, 103),  # web.service itself
        line("0100007F:0050", "0100007F:A002", OPEN, 104),
        line("0100007F:A002", "0100007F:0050", OPEN, 301),  # a program in no service
        line("0200000A:A003", "0500000A:01BB", OPEN, 202),  # cron.service, to another machine
        line("0100007F:0051", "00000000:0000", LISTEN, 900),  # lazy.socket
    ]
)
UNIX = UNIX_HEADER + "".join(
    [
        unix_line("00010000", "01", 110, "/run/web.sock"),
        unix_line("00000000", "03", 111, "/run/web.sock"),
        unix_line("00010000", "01", 901, "/run/lazy.sock"),
    ]
)
NET = Path("net:[1]")


def process(
    pid: int, cgroup: str, inodes: list[int], comm: str = "program", net: Path = NET
) -> dict[str, Content]:
    files: dict[str, Content] = {
        f"proc/{pid}/cgroup": f"0::{cgroup}\n",
        f"proc/{pid}/comm": f"{comm}\n",
        f"proc/{pid}/stat": "",
        f"proc/{pid}/fd": None,
        f"proc/{pid}/ns/net": net,
        f"proc/{pid}/fd/0": Path("/dev/null"),
        f"proc/{pid}/fd/1": Path("pipe:[5]"),
    }
    tables = {"tcp": TCP, "udp": HEADER, "unix": UNIX} if net == NET else {}
    files |= {f"proc/{pid}/net/{name}": text for name, text in tables.items()}
    return files | {f"proc/{pid}/fd/{n}": Path(f"socket:[{inode}]") for n, inode in enumerate(inodes, 3)}


MACHINE = {
    **process(1, "/init.scope", [900, 901], "systemd"),
    **process(20, "/system.slice/web.service", [100, 101, 102, 103, 104, 110, 111, 150]),
    **process(30, "/system.slice/cron.service", [201, 202]),
    **process(40, "/user.slice/user-0.slice/session-1.scope", [301], "curl"),
    **process(50, "/", []),
}
LAZY = answer_from(
    [row("lazy.socket", "active", "listening"), row("off.socket", "inactive", "dead")],
    {
        ("lazy.socket", "Listen"): ("a(ss)", [("Stream", "/run/lazy.sock"), ("Stream", "127.0.0.1:81")]),
        ("lazy.socket", "Triggers"): ("as", ["lazy.service"]),
        ("off.socket", "Listen"): ("a(ss)", [("Stream", "/run/web.sock")]),
    },
)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_bus, "TIMEOUT_SECONDS", 10)


@pytest.fixture
def machine(tree: Tree, start_systemd: StartSystemd) -> Host:
    start_systemd(LAZY)
    return tree(MACHINE)


def look(host: Host, *units: str) -> UnitSockets:
    reading = read_unit_sockets(host, units or None)
    assert reading.value is not None, reading.reason
    return reading.value


def test_who_serves_whom(machine: Host) -> None:
    seen = look(machine)
    assert seen.serves == {
        "web.service": (
            Served("tcp 127.0.0.1:80", ("cron.service", "curl")),
            Served("unix /run/web.sock", ("unknown process",)),
        ),
        "cron.service": (),
        "lazy.socket": (Served("tcp 127.0.0.1:81", ()), Served("unix /run/lazy.sock", ())),
        "lazy.service": (Served("tcp 127.0.0.1:81", ()), Served("unix /run/lazy.sock", ())),
    }
    assert seen.calls == {
        "web.service": (),
        "cron.service": ("tcp 10.0.0.5:443", "tcp 127.0.0.1:80 (web.service)"),
        "lazy.socket": (),
        "lazy.service": (),
    }
    assert seen.partial == (
        "who is connected by UNIX sockets is not known: net:[1] is not our network namespace"
    )


def test_only_the_named_units(machine: Host) -> None:
    everything = look(machine)
    for unit in everything.serves:
        seen = look(machine, unit)
        assert seen.serves == {unit: everything.serves[unit]}
        assert seen.calls == {unit: everything.calls[unit]}
    assert look(machine, "not-running.service").serves == {"not-running.service": ()}


def test_no_other_process_is_looked_at_without_need(machine: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = os.open

    def noted(path: Any, *rest: Any, **more: Any) -> int:
        opened.append(str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", noted)
    look(machine, "lazy.socket")
    assert not [path for path in opened if path.endswith("/fd")]
    look(machine, "cron.service")  # it calls web.service
    assert {path.split("/")[-2] for path in opened if path.endswith("/fd")} == {"20", "30", "50"}


def test_a_listener_of_another_namespace_has_its_clients(tree: Tree) -> None:
    """A connection is listed where the client is, and its accepted end is held by the server."""
    pod = process(60, "/kubepods/pod1/abc", [701], "pod", net=Path("net:[2]"))
    pod |= {"proc/60/net/unix": UNIX_HEADER + unix_line("00000000", "03", 150, "/run/web.sock")}
    files = {**MACHINE, **pod}
    for pid in (1, 20, 30, 40, 50):
        files[f"proc/{pid}/net/unix"] = UNIX_HEADER + unix_line("00010000", "01", 110, "/run/web.sock")
    (_, served) = look(tree(files), "web.service").serves["web.service"]
    assert served == Served("unix /run/web.sock", ("unknown process",))


def test_who_only_sends_is_not_seen(tree: Tree) -> None:
    files = {**MACHINE}
    for pid in (1, 20, 30, 40, 50):
        files[f"proc/{pid}/net/udp"] = HEADER + line("00000000:1FBD", "00000000:0000", "07", 202)
    seen = look(tree(files))
    assert seen.serves["cron.service"] == (Served("udp 0.0.0.0:8125", ()),)
    assert seen.may_have_unseen_clients == {"cron.service"}


def test_without_systemd_the_socket_units_are_not_known(tree: Tree) -> None:
    seen = look(tree(MACHINE), "web.service", "lazy.socket")
    assert set(seen.serves) == set(seen.calls) == {"web.service"}
    assert "socket units: not supported" in seen.partial


def test_a_unit_that_may_not_be_looked_at_is_not_without_sockets(machine: Host, deny: Deny) -> None:
    deny("/proc/20/fd")
    seen = look(machine)
    assert "web.service" not in seen.serves
    assert "web.service" not in seen.calls
    assert "not permitted: /proc/20/fd" in seen.partial
    assert seen.serves["cron.service"] == ()


def test_a_client_that_may_not_be_looked_at_is_still_a_client(machine: Host, deny: Deny) -> None:
    deny("/proc/40/fd")
    seen = look(machine)
    assert seen.serves["web.service"][0].clients == ("127.0.0.1", "cron.service")
    assert "some clients are not named" in seen.partial


def test_nothing_may_be_looked_at(machine: Host, deny: Deny) -> None:
    deny("/fd")
    reading = read_unit_sockets(machine)
    assert reading.absence is Absence.NOT_PERMITTED
    assert "/proc/20/fd" in reading.detail


def test_the_first_process_may_not_be_looked_at(machine: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.readlink

    def guarded(path: Any, **more: Any) -> str:
        if str(path).endswith("/proc/1/ns/net"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return str(real(path, **more))

    monkeypatch.setattr(os, "readlink", guarded)
    seen = look(machine)
    assert "lazy.socket" not in seen.serves
    assert "not permitted: /proc/1/ns" in seen.partial
    assert seen.serves["web.service"]


@pytest.mark.parametrize("table", ["tcp", "unix"])
@pytest.mark.parametrize("text", ["", "rubbish\n", TCP[:-5], b"\xff\xfe\0"])
def test_a_table_that_cannot_be_read_is_not_empty(tree: Tree, table: str, text: Content) -> None:
    files = {**MACHINE}
    for pid in (1, 20, 30, 40, 50):
        files[f"proc/{pid}/net/{table}"] = text
    seen = look(tree(files))
    assert not seen.serves
    assert not seen.calls
    assert f"net/{table}" in seen.partial


def test_a_table_that_cannot_be_read_of_another_namespace(tree: Tree) -> None:
    apart = process(60, "/system.slice/apart.service", [701], net=Path("net:[2]"))
    seen = look(tree({**MACHINE, **apart, "proc/60/net/tcp": "rubbish\n"}))
    assert "apart.service" not in seen.serves
    assert seen.serves["web.service"]


def test_processes_that_go_while_we_look(tree: Tree) -> None:
    files = {
        name: text for name, text in MACHINE.items() if not name.startswith(("proc/30/ns", "proc/30/fd"))
    }
    seen = look(tree(files))
    assert seen.serves["cron.service"] == ()  # it has nothing any more
    assert seen.serves["web.service"]


def test_a_link_in_place_of_a_folder_leads_nowhere_else(tree: Tree) -> None:
    files = {**MACHINE, "proc/70/cgroup": "0::/system.slice/evil.service\n", "proc/70/fd": Path("fd")}
    files["proc/70/ns"] = Path("/proc/self/ns")
    seen = look(tree(files))
    assert "evil.service" not in seen.serves
    assert "/proc/70/fd" in seen.partial
    assert seen.serves["web.service"]


def test_no_processes(tree: Tree) -> None:
    assert read_unit_sockets(tree({})).absence is Absence.NOT_SUPPORTED
    assert read_unit_sockets(tree({"proc/meminfo": "x"})).absence is Absence.NOT_SUPPORTED


def test_hidden_processes(tree: Tree, deny: Deny) -> None:
    host = tree(MACHINE)
    deny("proc/1/stat")
    assert read_unit_sockets(host).absence is Absence.NOT_PERMITTED


def test_a_broken_cgroup_file_is_of_no_unit(tree: Tree) -> None:
    host = tree({**MACHINE, "proc/80/cgroup": b"\xff", "proc/81/cgroup": "", "proc/82/cgroup": "0:x\n"})
    units = read_process_units(host).value
    assert units
    assert units[80] == units[81] == units[82] == ""
    assert units[20] == "web.service"


def test_sockets_of_a_real_process() -> None:
    with (
        socket.socket() as first,
        socket.socket(socket.AF_UNIX) as second,
        Path("/dev/null").open("rb") as file,
    ):
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[first.fileno()]
        )
        with child:
            ours = read_socket_inodes(Host(), os.getpid(), FAR).value or frozenset()
            theirs = read_socket_inodes(Host(), child.pid, FAR).value or frozenset()
            child.communicate(b"\n")
        inodes = [os.fstat(one.fileno()).st_ino for one in (first, second, file)]
    assert [inode in ours for inode in inodes] == [True, True, False]
    assert [inode in theirs for inode in inodes] == [True, False, False]
    assert read_socket_inodes(Host(), child.pid, FAR).value == frozenset()  # it has gone
