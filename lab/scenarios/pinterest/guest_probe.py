"""Inside a guest: what loads on the core of the NIC do to datagrams that come in through it.

    python -m lab.scenarios.pinterest.guest_probe ZOMBIES SECONDS LOAD...

The NIC's interrupts go to core 0, where the load is; the pinger is on core 1, sends a datagram every few
milliseconds whether or not the last one has come back, and waits for all of them in the end. Prints JSON.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from lab.faults.zombies import zombies
from lab.scenarios.pinterest.guest_loads import STATISTICS, is_possible
from lab.scenarios.pinterest.guest_peer import GUEST_ADDRESS, PEER_ADDRESS, PEER_HARDWARE_ADDRESS
from lab.scenarios.pinterest.guest_program import ask_program
from lab.scenarios.pinterest.guest_verdict import Seen, is_walk

NIC_CORE, OTHER_CORE = 0, 1
NIC = "eth0"
ECHO_PORT = 7
SO_RCVBUFFORCE = 33  # of Linux, unknown to Python
BURST, EVERY_SECONDS = 64, 0.05  # as the traffic of a job comes: many at once
BUFFER_BYTES = 8 << 20
LONGEST_LOOK_SECONDS = 120.0
LAST_SECONDS = 3.0  # for answers that are still under way


def main() -> None:
    """Prepare, measure each load, ask the program, print."""
    count, seconds, loads = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    _connect()
    seen, program = [_measure("idle", 0, seconds)], {}
    if STATISTICS.exists() and "reader" in loads:
        seen.append(_measure("reader", 0, seconds))
        with zombies(count):
            seen.append(_measure("reader", count, seconds))
            if is_walk(seen[2], seen[1]):
                program = ask_program(NIC_CORE, _under_load)
        seen.append(_measure("reader", 0, seconds))
    for load in loads:
        if load not in ("idle", "reader") and is_possible(load):
            seen.append(_measure(load, 0, seconds))
    answer = {"release": os.uname().release, "seen": [asdict(one) for one in seen], "program": program}
    print(json.dumps(answer))


def _under_load(watcher: subprocess.Popen[bytes]) -> None:
    """Traffic, and the reader on the core of the NIC, until somebody has seen enough of it."""
    with _started("reader", LONGEST_LOOK_SECONDS) as reader:
        while watcher.poll() is None and reader.poll() is None:
            _round_trips(1.0)
        reader.kill()


def _connect() -> None:
    """An address, a peer that need not be asked for, and all interrupts of the NIC on one core."""
    for words in (
        f"address add {GUEST_ADDRESS}/30 dev {NIC}",
        f"neighbour replace {PEER_ADDRESS} lladdr {PEER_HARDWARE_ADDRESS} dev {NIC} nud permanent",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    for line in Path("/proc/interrupts").read_text().splitlines():
        if found := re.match(r"\s*(\d+):.* virtio0-(?:input|output)", line):
            Path(f"/proc/irq/{found[1]}/smp_affinity_list").write_text(str(NIC_CORE))


def _measure(load: str, count: int, seconds: float) -> Seen:
    thread = _softirq_thread()
    with _started("gaps", seconds + 1) as gaps, _started(load, seconds + 1) as loaded:
        time.sleep(1)  # to start
        began, before = time.monotonic(), _counters(thread)
        round_trips, lost = _round_trips(seconds)
        ended, after = time.monotonic(), _counters(thread)
        calls = json.loads(loaded.communicate()[0])
        gap = max(json.loads(gaps.communicate()[0]))
    delay_ns, runs, squeezes = (late - early for early, late in zip(before, after, strict=True))
    return Seen(
        load=load,
        zombies=count,
        seconds=round(ended - began, 1),
        sent=len(round_trips) + lost,
        lost=lost,
        mean_milliseconds=_milliseconds(statistics.mean(round_trips)),
        median_milliseconds=_milliseconds(statistics.median(round_trips)),
        longest_milliseconds=_milliseconds(max(round_trips)),
        thread_waited_milliseconds=_milliseconds(delay_ns / 1e9),
        thread_runs=runs,
        squeezes=squeezes,
        longest_gap_milliseconds=_milliseconds(gap),
        calls=len(calls),
        median_call_milliseconds=_milliseconds(statistics.median(calls)),
    )


def _started(load: str, seconds: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "lab.scenarios.pinterest.guest_loads", load, str(NIC_CORE), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


@contextmanager
def _on(core: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [core])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _round_trips(seconds: float) -> tuple[list[float], int]:
    """How long every datagram was away, and how many never came back."""
    left: list[float] = []  # when each was sent, by its number
    took: list[float] = []
    with _on(OTHER_CORE), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as door:
        door.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        door.connect((PEER_ADDRESS, ECHO_PORT))
        now = began = time.monotonic()
        while now < began + seconds or (len(took) < len(left) and now < began + seconds + LAST_SECONDS):
            if began + len(left) / BURST * EVERY_SECONDS <= now < began + seconds:
                for _ in range(BURST):
                    left.append(time.monotonic())
                    door.send(struct.pack("<I", len(left) - 1))
            if select.select([door], [], [], EVERY_SECONDS / 10)[0]:
                (number,) = struct.unpack("<I", door.recv(4))
                took.append(time.monotonic() - left[number])
            now = time.monotonic()
    return took, len(left) - len(took)


def _softirq_thread() -> int:
    name = f"ksoftirqd/{NIC_CORE}"
    comms = Path("/proc").glob("[0-9]*/comm")
    return next(int(path.parent.name) for path in comms if path.read_text().strip() == name)


def _counters(thread: int) -> tuple[int, int, int]:
    """Nanoseconds that the softirq thread waited for its core, how often it ran, squeezes of the core."""
    _, delay_ns, runs = map(int, Path(f"/proc/{thread}/schedstat").read_text().split())
    row = Path("/proc/net/softnet_stat").read_text().splitlines()[NIC_CORE]
    return delay_ns, runs, int(row.split()[2], 16)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1e3, 2)


if __name__ == "__main__":
    main()
