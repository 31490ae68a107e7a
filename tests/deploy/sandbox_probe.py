"""Run inside the sandbox of a unit: try everything the recorder needs, and much that it must not do.

Prints one JSON object: for every attempt "" if it went well, else the error. Needs nothing but Python.
"""

import ctypes
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

STATE = Path("/var/lib/necroscope")
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
SYSLOG_READ_ALL = 3

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def perf(*events: str) -> None:
    """As the recorder runs it, but short."""
    named = [word for event in events for word in ("-e", event)]
    clock = ("-k", "CLOCK_MONOTONIC", "--buildid-mmap")
    command = ["perf", "record", "-a", "-g", "-F", "97", "-m", "512", *named, *clock]
    output = STATE / "probe.data"
    ran = subprocess.run(
        [*command, "-o", output, "--", "sleep", "0.2"], check=False, capture_output=True, text=True
    )
    if ran.returncode or not output.stat().st_size:
        raise OSError(f"perf ended with {ran.returncode}: {ran.stderr[-300:]}")
    output.unlink()


def kernel_log() -> None:
    descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.read(descriptor, 8192)


def syslog_call() -> None:
    check(libc.klogctl(SYSLOG_READ_ALL, ctypes.create_string_buffer(1 << 16), 1 << 16))


def kernel_symbols() -> None:
    with Path("/proc/kallsyms").open() as symbols:
        # The first symbols of some kernels are offsets, and really 0.
        if all(set(line.partition(" ")[0]) <= {"0"} for line in symbols):
            raise PermissionError("empty, or all addresses are 0")


def memory_maps_of_others() -> None:
    if not Path("/proc/1/maps").read_text():
        raise PermissionError("empty")


def death_signal() -> None:
    """The recorder has perf end by itself when it dies: capabilities must not make the kernel drop that."""
    ended = STATE / "ended"
    wait = f"import signal, sys\nsignal.signal(2, lambda *_: (open({str(ended)!r}, 'w'), sys.exit()))\n"
    child = f"{wait}print('ready', flush=True)\nsignal.pause()"
    spawn = (
        "import ctypes, os, subprocess, sys\n"
        f"set_signal = lambda: ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, {signal.SIGINT})\n"
        "child = subprocess.Popen([sys.executable, '-c', sys.argv[1]], preexec_fn=set_signal,"
        " stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", spawn, child], check=True)
    deadline = time.monotonic() + 5
    while not ended.exists():
        if time.monotonic() > deadline:
            raise TimeoutError("the child outlived its parent")
        time.sleep(0.02)
    ended.unlink()


def write_and_execute() -> None:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def write(path: str) -> Callable[[], None]:
    """Try to write what is there already, or to make it; what was made is removed."""

    def attempt() -> None:
        existed = Path(path).exists()
        os.close(os.open(path, os.O_WRONLY | (0 if existed else os.O_CREAT | os.O_EXCL)))
        if not existed:
            Path(path).unlink()

    return attempt


NEEDED: dict[str, Callable[[], object]] = {
    "samples": lambda: perf("cpu-clock"),
    "tracepoints": lambda: perf("cpu-clock", "printk:console"),
    "kernel log": kernel_log,
    "syslog call": syslog_call,
    "kernel symbols": kernel_symbols,
    "memory maps of others": memory_maps_of_others,
    "programs of others": lambda: Path("/proc/1/exe").readlink(),
    "files of others": lambda: Path("/proc/1/root/etc").stat(),
    "JIT symbols": lambda: Path("/tmp/perf-4242.map").read_text(),
    "the store": lambda: (STATE / "probe").write_text(""),
    "temporary files": lambda: tempfile.TemporaryFile().close(),
    "death signal": death_signal,
}
FORBIDDEN: dict[str, Callable[[], object]] = {
    "write /etc": write("/etc/necroscope-probe"),
    "write /usr": write("/usr/necroscope-probe"),
    "write /home": write("/home/necroscope-probe"),
    "write /tmp": write("/tmp/necroscope-probe"),
    "write /proc/sys": write("/proc/sys/kernel/domainname"),
    "write tracefs": write("/sys/kernel/tracing/tracing_on"),
    "write the kernel log": write("/dev/kmsg"),
    "write another's file": write("/tmp/perf-4242.map"),
    "signal others": lambda: os.kill(1, 0),
    "become root": lambda: os.setuid(0),
    "raw sockets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "new namespaces": lambda: check(libc.unshare(CLONE_NEWUSER)),
    "write and execute": write_and_execute,
}


def attempt(what: Callable[[], object]) -> str:
    try:
        what()
    except OSError as error:
        return str(error)
    return ""


def main() -> None:
    results = {
        "needed": {name: attempt(what) for name, what in NEEDED.items()},
        "forbidden": {name: attempt(what) for name, what in FORBIDDEN.items()},
    }
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main()
