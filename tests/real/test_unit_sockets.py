"""Units that talk to each other in a real systemd: who serves whom, against what `ss` says."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.machines.nspawn import Container, why_not
from necroscope.model.inventory import Served
from necroscope.sources.host import Host
from necroscope.sources.sockets.unit_sockets import UnitSockets, read_unit_sockets
from tests.unprivileged import as_nobody

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
CHECKOUT = Path(__file__).parents[2]

# Does one thing after the other, and stays: `tcp-listen 127.0.0.1:80 unix-call /run/a.sock inherit`.
PEER = """
import os, socket, sys, threading, time

def address(text):
    return text if text.startswith("/") else "\\0" + text[1:] if text.startswith("@") else (
        text.rpartition(":")[0].strip("[]"), int(text.rpartition(":")[2]))

def accept(listener):
    while True:
        kept.append(listener.accept())

kept = []
words = iter(sys.argv[1:])
for word in words:
    protocol, _, verb = word.partition("-")
    if protocol == "inherit":
        listener = socket.socket(fileno=3)
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        continue
    place = next(words)
    is_unix = protocol in ("unix", "unixgram")
    family = socket.AF_UNIX if is_unix else socket.AF_INET6 if "[" in place else socket.AF_INET
    kind = socket.SOCK_DGRAM if protocol in ("udp", "unixgram") else socket.SOCK_STREAM
    one = socket.socket(family, kind)
    kept.append(one)
    if verb == "call":
        while True:
            try:
                one.connect(address(place))
                break
            except OSError:
                time.sleep(0.05)
        continue
    one.bind(address(place))
    if kind == socket.SOCK_STREAM:
        one.listen()
        if verb != "ignore":
            threading.Thread(target=accept, args=(one,), daemon=True).start()
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
    door.sendto(b"READY=1", address(os.environ["NOTIFY_SOCKET"]))
time.sleep(1e6)
"""


def peer(*words: str, before: str = "") -> str:
    return f'{before}[Service]\nType=notify\nExecStart="{sys.executable}" /srv/peer.py {" ".join(words)}\n'


UNITS = {
    "api.service": peer(
        "tcp-listen", "127.0.0.1:7001", "unix-listen", "/run/api.sock", "unix-listen", "@api",
        "tcp-call", "127.0.0.1:7001", "unix-call", "/run/api.sock",
    ),
    "worker.service": peer("tcp-call", "127.0.0.1:7001", "unix-call", "/run/api.sock"),
    "second.service": peer("unix-call", "@api", "tcp-call", "127.0.0.1:7006"),
    "lonely.service": peer("tcp-listen", "0.0.0.0:7002", "unix-listen", "/run/lonely.sock"),
    "six.service": peer("tcp-listen", "[::]:7006", "tcp-listen", "[::1]:7005"),
    "deaf.service": peer("unix-ignore", "/run/deaf.sock", "tcp-ignore", "127.0.0.1:7007"),
    "patient.service": peer("unix-call", "/run/deaf.sock", "tcp-call", "127.0.0.1:7007"),
    "drop-box.service": peer("udp-listen", "127.0.0.1:7004", "unixgram-listen", "/run/box.sock"),
    "sender.service": peer("udp-call", "127.0.0.1:7004", "unixgram-call", "/run/box.sock"),
    "lazy.socket": "[Socket]\nListenStream=/run/lazy.sock\nListenStream=127.0.0.1:7010\n",
    "lazy.service": peer("inherit"),
    "eager.socket": "[Socket]\nListenStream=7003\n",
    "eager.service": peer("inherit", before="[Unit]\nRequires=eager.socket\nAfter=eager.socket\n"),
    "caller.service": peer("tcp-call", "127.0.0.1:7003"),
    "abroad.service": peer("unix-call", "/run/api.sock", "unix-listen", "/run/abroad.sock")
    + "PrivateNetwork=yes\n",
    "home.service": peer("unix-call", "/run/abroad.sock"),
    "silent.service": "[Service]\nExecStart=/bin/sleep infinity\n",
    # The same address as api.service has, in a network of its own.
    "apart.service": peer("tcp-listen", "127.0.0.1:7001", "unix-listen", "/run/apart.sock")
    + "PrivateNetwork=yes\n",
    "beside.service": peer(
        "tcp-call", "127.0.0.1:7001", "unix-call", "/run/apart.sock",
        before="[Unit]\nJoinsNamespaceOf=apart.service\nAfter=apart.service\n",
    )
    + "PrivateNetwork=yes\n",
}  # fmt: skip

LOOK = """
import json, sys
from dataclasses import asdict
from necroscope.sources.host import Host
from necroscope.sources.sockets.unit_sockets import read_unit_sockets
reading = read_unit_sockets(Host(), json.loads(sys.argv[1]))
if reading.value is None:
    sys.exit(reading.reason)
body = asdict(reading.value)
body["may_have_unseen_clients"] = sorted(body["may_have_unseen_clients"])
print(json.dumps(body))
"""


@contextmanager
def booted(folder: Path, units: Mapping[str, str], *, private_network: bool = True) -> Iterator[Container]:
    """A machine on which every peer is connected: their units are not started before."""
    program = folder / "peer.py"
    program.write_text(PEER)
    with Container(
        units=units,
        enable=tuple(name for name in units if name != "lazy.service"),
        binds=(CHECKOUT,),
        private_network=private_network,
        extra=(f"--bind={program}:/srv/peer.py",),
    ) as machine:
        yield machine


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with booted(tmp_path_factory.mktemp("peer"), UNITS) as machine:
        yield machine


def look_inside(machine: Container, units: list[str] | None = None) -> UnitSockets:
    done = machine.run([sys.executable, "-c", LOOK, json.dumps(units)])
    assert done.returncode == 0, done.stderr
    body: dict[str, Any] = json.loads(done.stdout)
    return UnitSockets(
        serves={
            unit: tuple(Served(one["address"], tuple(one["clients"])) for one in served)
            for unit, served in body["serves"].items()
        },
        calls={unit: tuple(called) for unit, called in body["calls"].items()},
        partial=body["partial"],
        may_have_unseen_clients=frozenset(body["may_have_unseen_clients"]),
    )


@pytest.fixture(scope="module")
def seen(machine: Container) -> UnitSockets:
    return look_inside(machine)


def clients(seen: UnitSockets, unit: str) -> dict[str, tuple[str, ...]]:
    return {served.address: served.clients for served in seen.serves[unit]}


def test_who_serves_whom(seen: UnitSockets) -> None:
    assert clients(seen, "api.service") == {
        "tcp 127.0.0.1:7001": ("worker.service",),  # and not itself
        "unix /run/api.sock": ("abroad.service", "worker.service"),  # one is in another network
        "unix @api": ("second.service",),
    }
    assert clients(seen, "lonely.service") == {"tcp 0.0.0.0:7002": (), "unix /run/lonely.sock": ()}
    assert clients(seen, "six.service") == {"tcp [::]:7006": ("second.service",), "tcp [::1]:7005": ()}
    assert clients(seen, "silent.service") == clients(seen, "worker.service") == {}


def test_a_client_that_nobody_has_accepted_waits(seen: UnitSockets) -> None:
    assert clients(seen, "deaf.service") == {
        "tcp 127.0.0.1:7007": ("patient.service",),
        "unix /run/deaf.sock": ("patient.service",),
    }


def test_a_socket_unit_and_its_service_serve_the_same(seen: UnitSockets) -> None:
    nobody: dict[str, tuple[str, ...]] = {"tcp 127.0.0.1:7010": (), "unix /run/lazy.sock": ()}
    assert clients(seen, "lazy.socket") == clients(seen, "lazy.service") == nobody
    assert clients(seen, "eager.socket") == {"tcp [::]:7003": ("caller.service",)}
    assert clients(seen, "eager.service") == {"tcp [::]:7003": ("caller.service",)}


def test_datagrams(seen: UnitSockets) -> None:
    assert clients(seen, "drop-box.service") == {
        "udp 127.0.0.1:7004": ("sender.service",),
        "unix /run/box.sock": ("sender.service",),
    }
    assert {"drop-box.service", "systemd-journald.service"} <= seen.may_have_unseen_clients
    assert "api.service" not in seen.may_have_unseen_clients


def test_networks_of_their_own(seen: UnitSockets) -> None:
    assert clients(seen, "apart.service") == {
        "tcp 127.0.0.1:7001": ("beside.service",),
        "unix /run/apart.sock": ("beside.service",),
    }
    assert clients(seen, "abroad.service") == {"unix /run/abroad.sock": ("home.service",)}
    assert seen.partial == ""


def test_whom_they_call(seen: UnitSockets) -> None:
    assert seen.calls["worker.service"] == (
        "tcp 127.0.0.1:7001 (api.service)",
        "unix /run/api.sock (api.service)",
    )
    assert seen.calls["caller.service"] == ("tcp 127.0.0.1:7003 (eager.service)",)
    assert seen.calls["home.service"] == ("unix /run/abroad.sock (abroad.service)",)
    assert seen.calls["sender.service"] == (
        "udp 127.0.0.1:7004 (drop-box.service)",
        "unix /run/box.sock (drop-box.service)",
    )
    assert seen.calls["api.service"] == seen.calls["silent.service"] == seen.calls["lonely.service"] == ()


def test_a_program_in_no_service_has_its_own_name(machine: Container) -> None:
    program = f"import socket; s = socket.create_connection(('127.0.0.1', 7002)); {LOOK}"
    done = machine.run([sys.executable, "-c", program, json.dumps(["lonely.service"])])
    assert done.returncode == 0, done.stderr
    (served, _) = json.loads(done.stdout)["serves"]["lonely.service"]
    assert served["clients"] == [Path(sys.executable).name[:15]]


def test_the_named_units_only(machine: Container, seen: UnitSockets) -> None:
    named = ["api.service", "lazy.socket", "worker.service", "stopped.service"]
    some = look_inside(machine, named)
    assert set(some.serves) == set(some.calls) == set(named)
    assert {unit: seen.serves.get(unit, ()) for unit in named} == some.serves
    assert {unit: seen.calls.get(unit, ()) for unit in named} == some.calls


def test_listeners_are_those_that_ss_shows(machine: Container, seen: UnitSockets) -> None:
    """Of the container's own network: every TCP and UNIX listener that a process of a service holds."""
    shown: set[tuple[str, str]] = set()
    for line in machine.run(["ss", "-Hlntp"]).stdout.splitlines():
        address = line.split()[3].replace("*:", "[::]:")
        shown |= {(unit, f"tcp {address}") for unit in holders(machine, line)}
    for line in machine.run(["ss", "-Hlxp"]).stdout.splitlines():
        if line.split()[0] in ("u_str", "u_seq"):
            shown |= {(unit, f"unix {line.split()[4]}") for unit in holders(machine, line)}
    elsewhere = ("apart.service", "abroad.service")
    told = {
        (unit, served.address)
        for unit, all_served in seen.serves.items()
        for served in all_served
        if unit.endswith(".service") and unit not in (*elsewhere, "lazy.service", "systemd-initctl.service")
        if served.address not in ("udp 127.0.0.1:7004", "unix /run/box.sock")
        if served.address.removeprefix("unix /run/systemd/journal/") not in ("dev-log", "socket")
    }
    assert len(shown) > 8
    assert told == shown


def holders(machine: Container, line: str) -> set[str]:
    """The services of the processes that ss names in a line."""
    found = set()
    for pid in re.findall(r"pid=(\d+)", line):
        place = (machine.root / f"proc/{pid}/cgroup").read_text().splitlines()[-1]
        found.add(place.rpartition("/")[2])
    return {unit for unit in found if unit.endswith(".service")}


def test_clients_are_those_that_ss_shows(machine: Container, seen: UnitSockets) -> None:
    lines = machine.run(["ss", "-Hxp", "src", "/run/api.sock"]).stdout.splitlines()
    peers = {line.split()[7] for line in lines}
    everything = machine.run(["ss", "-Hxp"]).stdout.splitlines()
    theirs = {unit for line in everything if line.split()[5] in peers for unit in holders(machine, line)}
    assert theirs - {"api.service"} == {"worker.service"}
    assert "worker.service" in clients(seen, "api.service")["unix /run/api.sock"]


def test_from_outside_all_clients_have_the_same_names(machine: Container, seen: UnitSockets) -> None:
    reading = read_unit_sockets(Host(machine.root))
    assert reading.value is not None, reading.reason
    assert set(reading.value.serves) == set(seen.serves)
    for unit in seen.serves:
        assert clients(reading.value, unit) == clients(seen, unit), unit


def test_an_unprivileged_user_is_told_why(machine: Container) -> None:
    done = machine.run([*as_nobody(), sys.executable, "-c", LOOK, "null"])
    assert done.returncode == 1
    assert done.stderr.startswith("not permitted: /proc/")


def test_in_our_own_network_they_are_named_from_outside(tmp_path: Path) -> None:
    name = f"@necroscope-{os.getpid()}"
    units = {
        "inner.service": peer("unix-listen", "/run/inner.sock", "unix-listen", name),
        "outer.service": peer("unix-call", "/run/inner.sock", "unix-call", name),
    }
    with booted(tmp_path, units, private_network=False) as machine:
        reading = read_unit_sockets(Host(machine.root), list(units))
    assert reading.value is not None, reading.reason
    assert clients(reading.value, "inner.service") == {
        "unix /run/inner.sock": ("outer.service",),
        f"unix {name}": ("outer.service",),
    }
    assert reading.value.calls["outer.service"] == (
        "unix /run/inner.sock (inner.service)",
        f"unix {name} (inner.service)",
    )
    assert reading.value.partial == ""
