"""A container is a real machine with a real systemd, and leaves the host as it was."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lab.machines.nspawn import CGROUPS, BootError, Container, find_cgroups, remove_cgroup, why_not

pytestmark = [pytest.mark.servers, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]

CRASHY = """
[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/false
Restart=always
RestartSec=200ms
"""
HEALTHY = """
[Service]
ExecStart=/bin/sleep infinity
MemoryMax=64M
"""
UNITS = {"crashy.service": CRASHY, "healthy.service": HEALTHY}
V1_MEMORY = CGROUPS / "memory"

HOLD = """
import signal, time
from lab.machines.nspawn import Container
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
with Container() as machine:
    print(machine.name, flush=True)
    time.sleep(600)
"""


def host_state() -> tuple[str, ...]:
    """What a container must not change, whatever its name."""
    files = ("/proc/self/mounts", "/proc/net/route", "/etc/machine-id", "/etc/hostname", "/etc/fstab")
    return os.uname().nodename, *(Path(file).read_text() for file in files)


def traces_of(name: str) -> list[str]:
    """The cgroups, folders and processes of one machine; others may be running theirs."""
    traces = [folder for folder, _, _ in os.walk(CGROUPS) if name in folder]
    traces += map(str, Path("/tmp").glob(f"{name}*"))
    return traces + [f"/proc/{pid}" for pid in processes_of(name)]


def processes_of(name: str) -> set[int]:
    """The processes in a machine's cgroups, and nspawn with them."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/cgroup"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if name in entry.read_text():
                found.add(int(entry.parent.name))
    return found


def eventually(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def restarts(machine: Container, unit: str) -> int:
    return int(machine.run(["systemctl", "show", "--value", "-p", "NRestarts", unit]).stdout)


@pytest.fixture(autouse=True)
def unchanged_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    enter = Container.__enter__
    names = []

    def remember(container: Container) -> Container:
        names.append(container.name)
        return enter(container)

    monkeypatch.setattr(Container, "__enter__", remember)
    before = host_state()
    yield
    assert host_state() == before
    assert [trace for name in names for trace in traces_of(name)] == []


def test_systemd_restarts_what_crashes_and_nothing_else() -> None:
    with Container(units=UNITS, enable=tuple(UNITS)) as machine:
        first = restarts(machine, "crashy.service")
        assert eventually(lambda: restarts(machine, "crashy.service") > first + 1)
        assert restarts(machine, "healthy.service") == 0
        assert machine.run(["systemctl", "is-active", "healthy.service"]).stdout == "active\n"
        assert (machine.root / "run/systemd/private").is_socket()


def test_no_process_is_left() -> None:
    with Container(units=UNITS, enable=tuple(UNITS)) as machine:
        inside = processes_of(machine.name)
        assert machine.leader in inside
        assert len(inside) > 3
    assert [pid for pid in inside if Path(f"/proc/{pid}").exists()] == []  # not even as a zombie


def test_an_error_inside_the_block_cleans_up_too() -> None:
    with pytest.raises(ZeroDivisionError), Container() as machine:
        raise ZeroDivisionError
    assert traces_of(machine.name) == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda how: how.name)
def test_no_process_outlives_python(how: signal.Signals) -> None:
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as python:
        assert python.stdout
        name = python.stdout.readline().strip()
        assert processes_of(name)
        python.send_signal(how)
    assert eventually(lambda: not processes_of(name))
    if how == signal.SIGKILL:  # nobody was there to do it
        for own in find_cgroups(os.getpid()).values():
            remove_cgroup(own / name)
        for scratch in Path("/tmp").glob(f"{name}-*"):
            shutil.rmtree(scratch)
    assert traces_of(name) == []


def test_two_at_once_are_two_machines() -> None:
    with Container() as one, Container() as two:
        ids = [machine.run(["cat", "/etc/machine-id", "/etc/hostname"]).stdout for machine in (one, two)]
        assert ids[0] != ids[1]
        for machine in (one, two):
            assert machine.run(["hostname"]).stdout == f"{machine.name}\n"
            assert machine.run(["readlink", "/proc/1/exe"]).stdout == "/usr/lib/systemd/systemd\n"


@pytest.mark.skipif(
    Path(__file__).is_relative_to("/tmp"), reason="this checkout is below /tmp, which a container hides"
)
def test_the_checkout_is_there_and_writes_do_not_come_back() -> None:
    with Container() as machine:
        result = machine.run(["sh", "-c", 'echo lost >"$0" && cat "$0"', __file__])
        assert (result.stdout, result.stderr) == ("lost\n", "")
    assert Path(__file__).read_text() != "lost\n"


def test_commands_run_in_the_cgroups_of_the_container() -> None:
    with Container() as machine:
        cgroups = machine.run(["cat", "/proc/self/cgroup"]).stdout.splitlines()
        assert any(line.endswith(":/init.scope") for line in cgroups)
        assert machine.run(["false"]).returncode == 1


@pytest.mark.skipif(not V1_MEMORY.is_dir(), reason="the memory controller is not v1 here")
def test_memory_cgroups_can_be_made_and_removed() -> None:
    made = "mkdir /sys/fs/cgroup/memory/made && rmdir /sys/fs/cgroup/memory/made"
    limit = "/sys/fs/cgroup/memory/system.slice/healthy.service/memory.limit_in_bytes"
    with Container(units=UNITS, enable=["healthy.service"]) as machine:
        assert machine.run(["sh", "-c", made]).stderr == ""
        assert machine.run(["cat", limit]).stdout == f"{64 << 20}\n"
    with Container(memory_cgroups=False) as machine:
        assert "Read-only file system" in machine.run(["sh", "-c", made]).stderr


def test_a_dbus_system_bus_answers_where_dbus_is_installed() -> None:
    if not Path("/usr/bin/dbus-daemon").exists():
        pytest.skip("dbus is not installed")
    with Container() as machine:
        assert "org.freedesktop.systemd1" in machine.run(["busctl", "list", "--acquired"]).stdout


def test_a_command_that_hangs_is_killed_inside() -> None:
    with Container() as machine:
        with pytest.raises(subprocess.TimeoutExpired):
            machine.run(["sh", "-c", "sleep 4242; true"], timeout_seconds=0.5)
        assert eventually(lambda: machine.run(["pgrep", "-f", "sleep 4242"]).returncode == 1)


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("sleep infinity", "had not booted after 3 s"),
        ("systemctl poweroff --force --force", "ended with status 0"),
    ],
)
def test_a_boot_that_fails_shows_the_console(command: str, what: str) -> None:
    unit = f"[Unit]\nDescription=Bad luck\n[Service]\nType=oneshot\nExecStart={command}\n"
    container = Container(units={"bad.service": unit}, enable=["bad.service"], boot_timeout_seconds=3)
    with pytest.raises(BootError, match=f"(?s){what}.*Bad luck"), container:
        pass
    assert traces_of(container.name) == []
