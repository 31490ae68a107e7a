"""A load with a constant footprint: the same work every hundredth of a second, and not as much as it can.

Hashes so many MiB a second on each of some threads, keeps so much memory in use, and sends so many packets a
second to the next pod of the ring. What differs then from one second to the next is the machine's doing.
Every ten seconds it prints a line: what it used, how late it was at worst, how many packets it sent and got.

Needs nothing but Python 3. SIGTERM ends it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

TICK_SECONDS = 0.01
# Behind by more than this, what was missed is not made up for: a burst would be no constant load.
MOST_BEHIND_SECONDS = 1.0
PACKET_BYTES = 1400
PORT = 9465
PAGE_BYTES = 4096
MIB = 2**20


@dataclass
class Counts:
    """What was done since the last report."""

    hashed_bytes: int = 0
    sent_packets: int = 0
    received_packets: int = 0
    late_seconds: float = 0.0  # at worst
    missed_ticks: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add_tick(self, late_seconds: float, missed: int, hashed_bytes: int = 0, sent: int = 0) -> None:
        """One tick of one thread."""
        with self.lock:
            self.hashed_bytes += hashed_bytes
            self.sent_packets += sent
            self.late_seconds = max(self.late_seconds, late_seconds)
            self.missed_ticks += missed

    def take(self) -> dict[str, float]:
        """All counts; they begin at zero again."""
        with self.lock:
            taken = {
                "hashed_mib": round(self.hashed_bytes / MIB, 1),
                "sent": self.sent_packets,
                "received": self.received_packets,
                "worst_late_ms": round(self.late_seconds * 1000, 1),
                "missed_ticks": self.missed_ticks,
            }
            self.hashed_bytes = self.sent_packets = self.received_packets = self.missed_ticks = 0
            self.late_seconds = 0.0
        return taken


def every_tick(work: Callable[[], tuple[int, int]], counts: Counts, ended: threading.Event) -> None:
    """Do the work at each tick of a fixed grid, until it is to end."""
    due = time.monotonic()
    while not ended.is_set():
        due += TICK_SECONDS
        time.sleep(max(0.0, due - time.monotonic()))
        late = time.monotonic() - due
        missed = int(late / TICK_SECONDS) if late > MOST_BEHIND_SECONDS else 0
        due += missed * TICK_SECONDS
        hashed, sent = work()
        counts.add_tick(late, missed, hashed, sent)


def hashing(mib_a_second: float) -> Callable[[], tuple[int, int]]:
    """Hash the same bytes again and again; meanwhile the other threads of the process run."""
    block = bytes(int(mib_a_second * MIB * TICK_SECONDS))

    def work() -> tuple[int, int]:
        hashlib.sha256(block).digest()
        return len(block), 0

    return work


def sending(packets_a_second: int, target: Callable[[], str]) -> Callable[[], tuple[int, int]]:
    """Send an equal number of packets at each tick, to whoever is next at the time."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packet = bytes(PACKET_BYTES)
    many = round(packets_a_second * TICK_SECONDS)

    def work() -> tuple[int, int]:
        if not (address := target()):
            return 0, 0
        sent = 0
        for _ in range(many):
            try:
                sender.sendto(packet, (address, PORT))
                sent += 1
            except OSError:  # no route for the moment: told by what is missing
                break
        return 0, sent

    return work


class Ring:
    """The pods behind a name, in the order of their addresses; the next one after ours gets our packets."""

    def __init__(self, name: str, own: str) -> None:
        self.name, self.own = name, own
        self._next, self._look_again = "", 0.0

    def next(self) -> str:
        """Its address, looked up once a minute; ours, if we are alone. Empty: the name is not known yet."""
        if time.monotonic() >= self._look_again:
            self._look_again = time.monotonic() + (60 if self._next else 1)
            try:
                rows = socket.getaddrinfo(self.name, PORT, socket.AF_INET, socket.SOCK_DGRAM)
            except OSError:
                return self._next
            self._next = next_of(sorted({str(row[4][0]) for row in rows}), self.own)
        return self._next


def next_of(addresses: list[str], own: str) -> str:
    """The one behind ours, or the first."""
    return next((one for one in addresses if one > own), addresses[0])


def receive(counts: Counts) -> None:
    """Count the packets that come in, for ever."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("", PORT))
    while True:
        receiver.recv(2 * PACKET_BYTES)
        with counts.lock:
            counts.received_packets += 1


def resident_bytes() -> int:
    """Memory of this process that is in RAM."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def report(counts: Counts, told: argparse.Namespace, ended: threading.Event) -> None:
    """Touch all memory each second, and say now and then what was done; until it is over."""
    memory = bytearray(told.memory * MIB)
    end = time.monotonic() + told.seconds
    while time.monotonic() < end and not ended.is_set():
        began, cpu = time.monotonic(), time.process_time()
        while time.monotonic() - began < told.report and not ended.wait(1):
            memory[::PAGE_BYTES] = bytes(len(memory) // PAGE_BYTES)
        took = time.monotonic() - began
        row = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "seconds": round(took, 2),
            "cores": round((time.process_time() - cpu) / took, 3),
            "resident_mib": round(resident_bytes() / MIB),
            **counts.take(),
        }
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Run until the time is over or SIGTERM comes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2, help="that hash (default 2)")
    parser.add_argument("--hash", type=float, default=100, metavar="MIB", help="a second and thread (100)")
    parser.add_argument("--memory", type=int, default=256, metavar="MIB", help="kept in use (256)")
    parser.add_argument("--packets", type=int, default=2000, help=f"a second, of {PACKET_BYTES} bytes (2000)")
    parser.add_argument("--ring", default="localhost", help="the name that all pods are behind")
    parser.add_argument("--own", default=os.environ.get("POD_IP", "127.0.0.1"), help="address of this one")
    parser.add_argument("--seconds", type=float, default=36000, help="how long (36000: ten hours)")
    parser.add_argument("--report", type=float, default=10, metavar="SECONDS", help="between lines (10)")
    told = parser.parse_args()
    counts, ended = Counts(), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    works = [hashing(told.hash) for _ in range(told.threads)]
    works.append(sending(told.packets, Ring(told.ring, told.own).next))
    for work in works:
        threading.Thread(target=every_tick, args=(work, counts, ended), daemon=True).start()
    threading.Thread(target=receive, args=(counts,), daemon=True).start()
    report(counts, told, ended)


if __name__ == "__main__":
    main()
