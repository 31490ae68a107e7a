"""Captures of work that is known: the flame graph shows it, where it ran, and nothing else."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import pytest

from necroscope import _native
from necroscope.profiles.idle import idle_rule
from tests.profiles import captures

MANY = 20  # samples of hundreds that a CPU has: other tests may run on it at the same time


@pytest.fixture(autouse=True)
def perf() -> None:
    """Needed by all of them."""
    captures.require_perf()


def recorded(folder: Path, seconds: float, *options: str) -> _native.Profile:
    """The profile of the next seconds."""
    captures.record(folder / "perf.data", seconds, *options)
    kallsyms = captures.save_kallsyms(folder / "kallsyms")
    _, profile = captures.import_capture(folder / "perf.data", folder / "sealed", kallsyms)
    return profile


def by_comm(rows: list[tuple[list[str], int]]) -> Counter[str]:
    """Samples by the thread's name."""
    counts: Counter[str] = Counter()
    for stack, count in rows:
        counts[stack[0]] += count
    return counts


@pytest.mark.parametrize(
    ("stack", "is_idle"),
    [
        ("do_idle;default_idle;pv_native_safe_halt", True),
        ("cpu_startup_entry;do_idle;cpuidle_idle_call;intel_idle_irq", True),
        ("do_idle;default_idle;asm_sysvec_apic_timer_interrupt;irq_exit_rcu;handle_softirqs", False),
        ("do_idle;default_idle_call;__irq_exit_rcu;__do_softirq;net_rx_action;virtnet_poll", False),
        ("do_idle;acpi_idle_enter;asm_common_interrupt;common_interrupt;ena_intr_msix_io", False),
        ("do_idle;mwait_idle_with_hints;asm_exc_nmi;exc_nmi", False),
        ("do_idle;schedule_idle;__schedule", False),  # it left the idle function: work
        ("ksoftirqd_run;handle_softirqs;net_rx_action", False),
        ("asm_common_interrupt;handle_softirqs;do_idle;default_idle", True),  # the other way round
    ],
)
def test_the_idle_rule(tmp_path: Path, stack: str, is_idle: bool) -> None:
    """Idle is an idle function with nothing of an interrupt or softirq on top of it."""
    rule = idle_rule()
    text = tmp_path / "stacks.folded"
    text.write_text("swapper;" + ";".join(f"{name}_[k]" for name in stack.split(";")) + " 7\n")
    folder = tmp_path / "sealed"
    folder.mkdir()
    _native.import_folded(text, folder, idle=list(rule.idle), interrupt=list(rule.interrupt))
    window = _native.Window()
    query = _native.Query(-1, 10, cpus=[], processes=[], threads=[], events=[], idle=False)
    window.add(_native.Profile(folder), query, "whole")
    counted, idle, _ = window.totals
    assert (counted, idle) == ((0, 7) if is_idle else (7, 0))


def test_a_program_pinned_to_one_core(tmp_path: Path) -> None:
    """dd on core 1 is seen there with its kernel function, and on no other core."""
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one core only")
    with captures.running(["taskset", "-c", "1", "dd", "if=/dev/zero", "of=/dev/null", "bs=16M"]):
        time.sleep(0.2)
        profile = recorded(tmp_path, 2, "-F", "499")
    there = captures.folded(profile, cpus=[1], idle=False)
    assert by_comm(there)["dd"] > MANY
    functions = {label for stack, _ in there if stack[0] == "dd" for label in stack}
    assert functions & {"read_zero", "read_iter_zero", "rep_stos_alternative", "clear_user_rep_good"}, (
        functions
    )
    others = [core for core in range(os.cpu_count() or 1) if core != 1]
    assert by_comm(captures.folded(profile, cpus=others, idle=False))["dd"] == 0
    columns, rows, cells = profile.cores(
        _native.Query(
            *(profile.span() or (0, 0)), cpus=[], processes=["dd"], threads=[], events=[], idle=False
        ),
        10**9,
    )
    sums = [sum(cells[column * rows + row] for column in range(columns)) for row in range(rows)]
    assert sums[1] > MANY
    assert sum(sums) == sums[1]


FLOOD = """
import socket, time
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); receiver.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.monotonic() + 20
while time.monotonic() < end:
    for _ in range(64): sender.sendto(b"x" * 1000, receiver.getsockname())
    time.sleep(0.0005)
"""
SOFTIRQ = {"handle_softirqs", "__do_softirq", "net_rx_action", "__irq_exit_rcu"}


def test_softirq_work_on_an_idle_core(tmp_path: Path) -> None:
    """Receive work of loopback is pushed to a core that sleeps (RPS); it counts as work, not as idle."""
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one core only")
    steering = Path("/sys/class/net/lo/queues/rx-0/rps_cpus")
    try:
        before = steering.read_text()
        steering.write_text("1")  # core 0 does the softirqs of what core 1 sends
    except OSError as error:
        pytest.skip(f"packets cannot be steered to a core here: {error}")
    try:
        with captures.running(["taskset", "-c", "1", sys.executable, "-c", FLOOD]):
            time.sleep(0.3)
            profile = recorded(tmp_path, 3, "-F", "4999")
    finally:
        steering.write_text(before)
    rule = idle_rule()
    kept = captures.folded(profile, cpus=[0], threads=["swapper"], idle=False)
    everything = captures.folded(profile, cpus=[0], threads=["swapper"], idle=True)
    above_idle = [
        (stack, n) for stack, n in everything if set(stack) & set(rule.idle) and set(stack) & SOFTIRQ
    ]
    if not above_idle:
        pytest.skip("core 0 was never idle while packets came: the machine is too busy")
    shown = {tuple(stack) for stack, _ in kept}
    assert all(tuple(stack) in shown for stack, _ in above_idle)
    assert any("net_rx_action" in stack for stack in shown)
    dropped = {tuple(stack) for stack, _ in everything} - shown
    assert all(set(stack) & set(rule.idle) and not set(stack) & SOFTIRQ for stack in dropped)


def test_exec_and_fork(tmp_path: Path) -> None:
    """A child's samples are the child's: its name, and functions of its own program."""
    script = f"while :; do find /usr/share >/dev/null; '{sys.executable}' -S -c 'sorted(range(99999))'; done"
    with captures.running(["sh", "-c", script]):
        profile = recorded(tmp_path, 3, "-F", "999")
    modules: dict[str, set[str]] = {}
    window = _native.Window()
    begin, end = profile.span() or (0, 0)
    query = _native.Query(begin, end + 1, cpus=[], processes=[], threads=[], events=[], idle=False)
    window.add(profile, query, "comm")
    parents, labels, *_, names = window.tree(None, False)
    top: list[str] = [""] * len(parents)
    for node in range(1, len(parents)):
        name, kind, module = names[labels[node]]
        top[node] = name if kind == "root" else top[parents[node]]
        if kind == "user":
            modules.setdefault(top[node], set()).add(module.rsplit("/", 1)[-1])
    python = Path(os.path.realpath(sys.executable)).name
    interpreter = {name for name in modules.get("find", set()) if name.startswith(("libpython", python))}
    assert not interpreter, "find has no frame of Python"
    assert any(name == "find" or name.startswith("libc") for name in modules["find"])
    runs = [comm for comm in modules if comm.startswith("python")]
    assert any(name.startswith(("libpython", python)) for comm in runs for name in modules[comm])
    assert not any("find" in modules[comm] for comm in runs), "Python has no frame of find"


def test_a_library_loaded_during_the_capture(tmp_path: Path) -> None:
    """dlopen maps a library while perf runs: frames in it have its name and its functions."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source = tmp_path / "late.c"
    source.write_text("volatile long n; void late_function(void) { for (;;) n++; }\n")
    library = tmp_path / "liblate.so"
    flags = ["-shared", "-fPIC", "-fno-omit-frame-pointer"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source)], check=True)
    program = f"import ctypes, time; time.sleep(1); ctypes.CDLL({str(library)!r}).late_function()"
    with captures.running([sys.executable, "-c", program]):
        profile = recorded(tmp_path, 2, "-F", "499")
    found = sum(
        count for stack, count in captures.folded(profile, idle=False) if stack[-1] == "late_function"
    )
    assert found > MANY


JIT = """
import ctypes, mmap, os, sys
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("ebfe"))  # jmp to itself
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
with open(f"/tmp/perf-{os.getpid()}.map", "w") as out:
    out.write(f"{address:x} 2 py::made at run time:/x.py\\n")
ctypes.CFUNCTYPE(None)(address)()
"""


@pytest.mark.parametrize("early", [True, False], ids=["before perf", "during perf"])
def test_code_made_at_run_time(tmp_path: Path, early: bool) -> None:
    """An anonymous executable page is named by the map that its maker leaves in /tmp."""
    if platform.machine() != "x86_64":
        pytest.skip("the loop is written in x86-64")
    wait = "" if early else "import time; time.sleep(1)\n"
    with captures.running([sys.executable, "-c", wait + JIT]) as (process,):
        try:
            time.sleep(0.5 if early else 0)
            profile = recorded(tmp_path, 2, "-F", "499")
        finally:
            Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)
    rows = captures.folded(profile, idle=False)
    found = sum(count for stack, count in rows if stack[-1] == "py::made at run time:/x.py")
    assert found > MANY, [row for row in rows if row[0][0].startswith("python")][:5]


def newer_pythons() -> list[str]:
    """Pythons since 3.12, on the path or of pyenv."""
    found = [shutil.which(f"python3.{minor}") for minor in (12, 13, 14)]
    of_pyenv = Path.home().glob(".pyenv/versions/3.1[2-9].*/bin/python3")
    return [path for path in found if path] + sorted(map(str, of_pyenv))


def has_trampoline(python: str) -> bool:
    """Whether a Python can write maps for perf, and has frame pointers: stacks end early without."""
    switch_on = (
        "import sys, sysconfig; sys.activate_stack_trampoline('perf');"
        "sys.exit('no-omit-frame-pointer' not in (sysconfig.get_config_var('PY_CFLAGS') or ''))"
    )
    with subprocess.Popen(
        [python, "-c", switch_on], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        code = process.wait()
    Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)
    return code == 0


def test_the_perf_trampoline_of_python(tmp_path: Path) -> None:
    """Functions of Python itself, which 3.12 and later write into such a map."""
    python = next(filter(has_trampoline, newer_pythons()), None)
    if python is None:
        pytest.skip("no Python 3.12 or later that was built with frame pointers here")
    program = textwrap.dedent("""
        def busy_python_function():
            while True:
                sum(range(1000))
        busy_python_function()
    """)
    with captures.running([python, "-X", "perf", "-c", program]) as (process,):
        time.sleep(0.5)
        profile = recorded(tmp_path, 1.5, "-F", "499")
        process.send_signal(signal.SIGKILL)
        process.wait()
    for path in Path("/tmp").glob(f"perf-{process.pid}.map"):
        path.unlink()
    rows = captures.folded(profile, idle=False)
    found = sum(count for stack, count in rows if any("busy_python_function" in label for label in stack))
    assert found > MANY
