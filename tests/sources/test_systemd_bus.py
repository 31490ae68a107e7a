from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jeepney import Message, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from necroscope.sources import systemd_bus
from necroscope.sources.host import Host
from necroscope.sources.systemd_bus import MANAGER, NAME, NOBODY, QUESTIONS_AT_ONCE, SystemdBus
from tests.sources.conftest import StartSystemd
from tests.sources.fake_systemd import answer_from, path_of, row

UNITS = [row(f"unit-{n}.service", "active", "running") for n in range(30)]
PROPERTIES = {(f"unit-{n}.service", "NRestarts"): ("u", n) for n in range(30)}
ANSWER = answer_from(UNITS, PROPERTIES)
BUS = "run/dbus/system_bus_socket"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_bus, "TIMEOUT_SECONDS", 0.2)


@pytest.fixture
def patient(impatient: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which an answer is expected: a busy machine may be slow."""
    monkeypatch.setattr(systemd_bus, "TIMEOUT_SECONDS", 10)


def restarts(units: int) -> list[tuple[str, str, str]]:
    return [(path_of(f"unit-{n}.service"), "Service", "NRestarts") for n in range(units)]


@pytest.mark.usefixtures("patient")
def test_answers_in_another_order_than_asked(start_systemd: StartSystemd, tmp_path: Path) -> None:
    systemd = start_systemd(ANSWER)
    bus = SystemdBus(Host(tmp_path))
    (listed,) = bus.call("ListUnitsByPatterns", "asas", ([], ["*.service"]))
    assert [unit[0] for unit in listed] == [unit[0] for unit in UNITS]
    assert bus.properties(restarts(30)) == list(range(30))
    assert bus.properties([]) == []
    bus.close()
    assert systemd.asked == ["ListUnitsByPatterns", *["Get"] * 30]


@pytest.mark.usefixtures("patient")
def test_a_bus_is_greeted_first(start_systemd: StartSystemd, tmp_path: Path) -> None:
    systemd = start_systemd(ANSWER, door=BUS)
    bus = SystemdBus(Host(tmp_path))
    assert bus.properties(restarts(2)) == [0, 1]
    bus.close()
    assert systemd.asked == ["Hello", "Get", "Get"]


@pytest.mark.usefixtures("patient")
def test_a_property_that_an_old_systemd_lacks(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(ANSWER)
    bus = SystemdBus(Host(tmp_path))
    wanted = [*restarts(2), (path_of("unit-0.service"), "Service", "Unheard"), *restarts(1)]
    assert bus.properties(wanted) == [0, 1, None, 0]
    bus.close()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("org.freedesktop.DBus.Error.AccessDenied", PermissionError),
        ("org.freedesktop.DBus.Error.LimitsExceeded", OSError),
        ("org.freedesktop.DBus.Error.NoReply", OSError),
    ],
)
def test_an_error_is_not_a_property_that_is_not_there(
    start_systemd: StartSystemd, tmp_path: Path, error: str, kind: type[OSError]
) -> None:
    start_systemd(lambda question: new_error(question, error))
    bus = SystemdBus(Host(tmp_path))
    with pytest.raises(kind, match=f"Get: {error}"):
        bus.properties(restarts(1))
    with pytest.raises(kind, match=f"ListUnits: {error}"):
        bus.call("ListUnits", "", ())
    bus.close()


@pytest.mark.usefixtures("patient")
def test_never_more_questions_than_a_bus_takes(start_systemd: StartSystemd, tmp_path: Path) -> None:
    systemd = start_systemd(ANSWER)
    bus = SystemdBus(Host(tmp_path))
    assert bus.properties(restarts(30) * 10) == list(range(30)) * 10
    bus.close()
    assert len(systemd.asked) == 300
    assert systemd.most_at_once <= QUESTIONS_AT_ONCE < 128


@pytest.mark.usefixtures("patient")
def test_signals_are_not_answers(start_systemd: StartSystemd, tmp_path: Path) -> None:
    signal = new_signal(MANAGER, "UnitNew", "so", ("a.service", "/a"))
    start_systemd(lambda question: [signal, ANSWER(question), signal])
    bus = SystemdBus(Host(tmp_path))
    assert bus.properties(restarts(3)) == [0, 1, 2]
    bus.close()


def test_no_answer_ends_by_the_timeout(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(lambda _: None)
    bus = SystemdBus(Host(tmp_path))
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        bus.properties(restarts(3))
    assert time.monotonic() - began < 5
    bus.close()


def test_a_change_may_take_longer_than_a_question(start_systemd: StartSystemd, tmp_path: Path) -> None:
    def slowly(question: Message) -> Message:
        time.sleep(0.5)
        return new_method_return(question)

    start_systemd(slowly)
    bus = SystemdBus(Host(tmp_path))
    assert bus.call("Reload", "", (), timeout_seconds=30) == ()
    with pytest.raises(TimeoutError):
        bus.call("Reload", "", ())
    bus.close()


@pytest.mark.usefixtures("patient")
def test_what_systemd_says_of_an_error_is_passed_on(start_systemd: StartSystemd, tmp_path: Path) -> None:
    name = "org.freedesktop.systemd1.NoSuchUnit"
    start_systemd(lambda question: new_error(question, name, "s", ("Unit x.service not loaded.",)))
    bus = SystemdBus(Host(tmp_path))
    with pytest.raises(OSError, match=r"] Unit x\.service not loaded\.$"):
        bus.call("StopUnit", "ss", ("x.service", "replace"))
    bus.close()


@pytest.mark.parametrize("door", ["run/systemd/private", BUS])
def test_no_greeting_ends_by_the_timeout(start_systemd: StartSystemd, tmp_path: Path, door: str) -> None:
    start_systemd(ANSWER, auth=b"", door=door)
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=f"/{door}"):
        SystemdBus(Host(tmp_path))
    assert time.monotonic() - began < 5


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("said", [b"", b"l\2\1\1\4\0\0\0", b"rubbish, and more than sixteen bytes of it"])
def test_a_hang_up_or_rubbish_in_the_middle(start_systemd: StartSystemd, tmp_path: Path, said: bytes) -> None:
    start_systemd(lambda _: said)
    bus = SystemdBus(Host(tmp_path))
    with pytest.raises(OSError, match=r"hung up|reset|not an answer"):
        bus.properties(restarts(3))
    bus.close()


@pytest.mark.usefixtures("patient")
def test_wrong_authentication(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(ANSWER, auth=b"REJECTED EXTERNAL\r\n")
    with pytest.raises(PermissionError, match="/run/systemd/private: refused: REJECTED"):
        SystemdBus(Host(tmp_path))


@pytest.mark.usefixtures("patient")
def test_a_bus_that_refuses_leaves_the_private_door(start_systemd: StartSystemd, tmp_path: Path) -> None:
    start_systemd(ANSWER, auth=b"REJECTED EXTERNAL\r\n", door=BUS)
    start_systemd(ANSWER)
    bus = SystemdBus(Host(tmp_path))
    assert bus.properties(restarts(1)) == [0]
    bus.close()


@pytest.mark.usefixtures("patient")
def test_a_bus_that_does_not_know_us_hangs_up(
    start_systemd: StartSystemd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As dbus-daemon 1.14 does with the user of a container that the host has no name for."""
    start_systemd(lambda _: b"", door=BUS)
    monkeypatch.setattr("os.geteuid", lambda: 10001)
    with pytest.raises(PermissionError, match="hung up on user 10001"):
        SystemdBus(Host(tmp_path))


def test_silence_says_more_than_an_absence(start_systemd: StartSystemd, tmp_path: Path) -> None:
    """The bus is there and does not answer; that there is no private socket is not the reason."""
    start_systemd(ANSWER, auth=b"", door=BUS)
    with pytest.raises(TimeoutError):
        SystemdBus(Host(tmp_path))


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(NOBODY):
        SystemdBus(Host(tmp_path))
    (tmp_path / "run/systemd").mkdir(parents=True)
    (tmp_path / "run/systemd/private").write_text("not a socket")
    with pytest.raises(NOBODY):
        SystemdBus(Host(tmp_path))


@pytest.fixture
def real_bus(tmp_path: Path) -> Iterator[DBusConnection]:
    """A real dbus-daemon with its default limits, on which we are systemd."""
    if not shutil.which("dbus-daemon"):
        pytest.skip("dbus-daemon is not installed")
    (tmp_path / BUS).parent.mkdir(parents=True)
    (tmp_path / "bus.conf").write_text(
        f"""<busconfig><type>session</type><listen>unix:path={tmp_path / BUS}</listen>
        <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
        <allow own="*"/></policy></busconfig>"""
    )
    command = ["dbus-daemon", f"--config-file={tmp_path}/bus.conf", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as daemon:
        try:
            assert daemon.stdout
            daemon.stdout.readline()
            with open_dbus_connection(f"unix:path={tmp_path / BUS}", auth_timeout=10) as connection:
                connection.send_and_get_reply(message_bus.RequestName(NAME), timeout=10)
                yield connection
        finally:
            daemon.terminate()


@pytest.mark.usefixtures("patient")
def test_a_real_bus_takes_all_questions(real_bus: DBusConnection, tmp_path: Path) -> None:
    """A dbus-daemon refuses the 129th question that waits for an answer."""

    def serve() -> None:
        for asked in range(300):
            question = real_bus.receive(timeout=10)
            if asked % QUESTIONS_AT_ONCE == 0:
                time.sleep(0.1)  # so that all that were sent are waiting
            real_bus.send(ANSWER(question))

    systemd = threading.Thread(target=serve)
    systemd.start()
    bus = SystemdBus(Host(tmp_path))
    assert bus.properties(restarts(30) * 10) == list(range(30)) * 10
    bus.close()
    systemd.join()
