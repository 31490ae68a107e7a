"""The command line for what a machine has, and what is given up when perf refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.profiles.perf_command import (
    BUILD_IDS,
    CLOCK,
    CONTROL,
    CYCLES,
    FEW_MAPS,
    FLIGHT,
    MORTAL,
    NIC_TIMEOUT,
    PRINTK,
    PROC_MAPS,
    RINGS,
    ROLLING,
    WISHES,
    Obstacle,
    PerfCommand,
    Wish,
    complaint_in,
    do_with_less,
    plan_command,
)
from necroscope.sources.host import Host

ALL = PerfCommand(97, WISHES)
FOLDER = Path("/var/lib/necroscope/7")

# The complaints are of perf 6.1, printed by it or found in its text; where another version is named, and
# BusyBox's and Ubuntu's, they are from those sources and were not run here.
USAGE = """
 Usage: perf record [<options>] [<command>]
    or: perf record [<options>] -- <command> [<options>]

    -k, --clockid <clockid>
                          clockid to use for events, see clock_gettime()
        --overwrite       use overwrite mode
        --switch-output[=<signal or size[BKMG] or time[smhd]>]
"""
NO_TRACEPOINT = """event syntax error: 'printk:console'
                     \\___ unknown tracepoint

Error:	File /sys/kernel/tracing/events/printk/console not found.
Hint:	Perhaps this kernel misses some CONFIG_ setting to enable this feature?.

Run 'perf list' for a list of valid events
"""
DENIED_TRACEPOINT = """event syntax error: 'net:net_dev_xmit_timeout'
                     \\___ can't access trace events

Error:	No permissions to read /sys/kernel/tracing//events/net/net_dev_xmit_timeout
Hint:	Try 'sudo mount -o remount,mode=755 /sys/kernel/tracing/'
"""
FEW_LOCKED_PAGES = """Permission error mapping pages.
Consider increasing /proc/sys/kernel/perf_event_mlock_kb,
or try again with a smaller value of -m/--mmap_pages.
(current value: 128,0)
"""
LIMITED = """Error:
Access to performance monitoring and observability operations is limited.
Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open
access to performance monitoring and observability operations for processes
without CAP_PERFMON, CAP_SYS_PTRACE or CAP_SYS_ADMIN Linux capability.
perf_event_paranoid setting is 2:
  -1: Allow use of (almost) all events by all users
      Ignore mlock limit after perf_event_mlock_kb without CAP_IPC_LOCK
"""
LIMITED_5_4 = """Error:
No permission to enable cycles event.

You may not have permission to collect system-wide stats.

Consider tweaking /proc/sys/kernel/perf_event_paranoid,
"""


def machine(root: Path, *names: str) -> Host:
    for name in names:
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1\n")
    return Host(root)


@pytest.mark.parametrize("device", ["cpu", "cpu_core", "armv8_pmuv3_0"])
def test_the_full_line(tmp_path: Path, device: str) -> None:
    events = "/sys/kernel/debug/tracing/events"
    host = machine(
        tmp_path,
        f"/sys/bus/event_source/devices/{device}",
        "/sys/kernel/tracing/events/printk/console/id",
        f"{events}/net/net_dev_xmit_timeout/id",
    )
    command = plan_command(host, 97)
    assert " ".join(command.line("perf", FOLDER, 5)).removeprefix("setpriv --pdeathsig INT ") == (
        "perf record -a -g -F 97 --switch-output=signal -e cycles -k CLOCK_MONOTONIC --control=fd:5,5 "
        "-e printk:console -e net:net_dev_xmit_timeout --proc-map-timeout 100 --buildid-mmap -m 128 "
        "-o /var/lib/necroscope/7/perf.data"
    )
    assert command.description == "cycles at 97 Hz"
    assert "-z" not in command.line("perf", FOLDER, 5)
    assert "--overwrite" in plan_command(host, 97, flight=True).line("perf", FOLDER, 5)


def test_a_virtual_machine_without_tracefs(tmp_path: Path) -> None:
    command = plan_command(machine(tmp_path, "/sys/bus/event_source/devices/msr"), 97)
    line = command.line("perf", FOLDER, 5)
    assert [line[at + 1] for at, part in enumerate(line) if part == "-e"] == ["cpu-clock"]
    assert command.description == "cpu-clock at 97 Hz"
    assert {PRINTK.lost, NIC_TIMEOUT.lost, CYCLES.lost} <= set(command.left_out)


def test_the_kernel_bounds_the_rate(tmp_path: Path) -> None:
    host = machine(tmp_path, "/sys/bus/event_source/devices/cpu")
    limit = tmp_path / "proc/sys/kernel/perf_event_max_sample_rate"
    limit.parent.mkdir(parents=True)
    limit.write_text("50\n")
    command = plan_command(host, 97)
    assert command.description == "cycles at 50 Hz"
    assert "50 samples a second instead of 97: kernel.perf_event_max_sample_rate" in command.left_out


@pytest.mark.parametrize(
    ("stderr", "wish"),
    [
        ("  Error: unknown option `buildid-mmap'\n" + USAGE, BUILD_IDS),
        ("Failed: no support to record build id in mmap events, update your kernel.\n", BUILD_IDS),
        ("  Error: unknown option `control=fd:5,5'\n" + USAGE, CONTROL),
        (NO_TRACEPOINT + USAGE, PRINTK),
        ("invalid or unsupported event: 'net:net_dev_xmit_timeout'\n" + USAGE, NIC_TIMEOUT),  # 4.4
        (DENIED_TRACEPOINT + USAGE, NIC_TIMEOUT),
        ("Error:\nThe cycles event is not supported.\n", CYCLES),
        (
            "Error:\ncycles: PMU Hardware doesn't support sampling/overflow-interrupts. Try 'perf stat'\n",
            CYCLES,
        ),
        ("Warning:\nunknown clockid CLOCK_MONOTONIC, check man page\n" + USAGE, CLOCK),
        ("Error:\nclockid feature not supported.\n", CLOCK),
        ("  Error: option `switch-output' takes no value\n" + USAGE, ROLLING),  # 4.10
        ("\n Usage: perf record\n\n        --switch-output[=<signal>]\n", ROLLING),
        (FEW_LOCKED_PAGES, RINGS),
        ("failed to mmap with 12 (Cannot allocate memory)\n", RINGS),
        ("setpriv: unrecognized option: pdeathsig\nBusyBox v1.36.1\n", MORTAL),
        ("  Error: unknown option `proc-map-timeout'\n" + USAGE, PROC_MAPS),
        ("  Error: unknown option `synth'\n" + USAGE, FEW_MAPS),
        ("something that nobody has seen yet\n", FLIGHT),
    ],
)
def test_a_refused_wish(stderr: str, wish: Wish) -> None:
    """What the complaint is about is left out, and nothing else; the rest of the line stays."""
    less = do_with_less(ALL, stderr)
    assert isinstance(less, PerfCommand)
    assert less.refused == (wish,)
    assert less.left_out == (wish.lost,)
    assert not set(wish.arguments) - {"-e"} & set(less.line("perf", FOLDER, 5))


def test_cycles_fall_back_to_the_timer() -> None:
    less = do_with_less(ALL, "Error:\nThe cycles event is not supported.\n")
    assert isinstance(less, PerfCommand)
    assert "cpu-clock" in less.line("perf", FOLDER, 5)
    assert less.description == "cpu-clock at 97 Hz"


@pytest.mark.parametrize("stderr", [LIMITED, LIMITED_5_4, "perf: Permission denied\n"])
def test_a_permission_is_no_option(stderr: str) -> None:
    obstacle = do_with_less(ALL, stderr)
    assert isinstance(obstacle, Obstacle)
    assert obstacle.reason == "not permitted"
    assert "CAP_PERFMON" in obstacle.hint
    assert "kernel.perf_event_paranoid" in obstacle.hint
    assert not obstacle.passes


@pytest.mark.parametrize(
    ("stderr", "says", "passes"),
    [
        ("failed to write perf data, error: No space left on device\n", "No space left on device", True),
        ("failed to open /x/perf.data : Read-only file system\n", "Read-only file system", True),
        ("WARNING: perf not found for kernel 6.8.0-40\n\n  You may need to install\n", "linux-tools", False),
        (
            "Error:\nThe sys_perf_event_open() syscall returned with 38 (Function not implemented) for event"
            " (cpu-clock).\n/bin/dmesg | grep -i perf may provide additional information.\n",
            "seccomp profile",
            False,
        ),
    ],
)
def test_what_no_option_helps_against(stderr: str, says: str, passes: bool) -> None:
    obstacle = do_with_less(ALL, stderr)
    assert isinstance(obstacle, Obstacle)
    assert says in obstacle.sentence
    assert obstacle.passes == passes


def test_nothing_left_to_leave_out() -> None:
    """A perf that refuses whatever we ask is given up after as many tries as there are wishes."""
    outcome: PerfCommand | Obstacle = ALL
    tries = 0
    while isinstance(outcome, PerfCommand):
        outcome = do_with_less(outcome, "no idea\nwhat this is\n\n")
        tries += 1
    assert tries == len(WISHES) + 1
    assert outcome.sentence == "perf refused: what this is"
    assert not outcome.passes


def test_what_has_worked_is_not_given_up_for_bad_weather() -> None:
    outcome = do_with_less(ALL, "Too many events are opened.\n", has_worked=True)
    assert isinstance(outcome, Obstacle)
    assert outcome.passes


def test_progress_is_no_complaint() -> None:
    assert complaint_in("[ perf record: Woken up 3 times ]\nboom\n[ perf record: Dump x ]\n") == "boom"
