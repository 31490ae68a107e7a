"""Datagrams from one host of the job's network to the other and back, at a fixed pace.

One is sent every 10 ms, whether the last has come back or not: so a network that stands still for seconds is
measured by many, and a quick one by as many.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

from lab.training.network import Network

SECONDS = 2.5
EVERY_SECONDS = 0.01
LATE_SECONDS = 3.0  # after the last, for those that are still under way

ECHO = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind((sys.argv[1], 0))
    print(server.getsockname()[1], flush=True)
    while True:
        message, sender = server.recvfrom(100)
        server.sendto(message, sender)
"""
ASK = """
import json, select, socket, sys, time
address, port, seconds, every, late = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:])
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.connect((address, port))
count, sent, back, began = round(seconds / every), [], [], time.monotonic()
while len(back) < count and (now := time.monotonic()) < began + seconds + late:
    due = began + len(sent) * every if len(sent) < count else began + seconds + late
    if len(sent) < count and now >= due:
        sent.append(now)
        peer.send(b"%08d" % (len(sent) - 1) + bytes(92))
    elif select.select([peer], [], [], due - now)[0]:
        number = int(peer.recv(100)[:8])
        back.append(time.monotonic() - sent[number])
print(json.dumps([len(sent), back]))
"""


@dataclass(frozen=True, slots=True)
class Pings:
    """How long those took that came back."""

    sent: int
    seconds: tuple[float, ...]

    @property
    def median_ms(self) -> float | None:
        """Of those that came back; None if none did."""
        return statistics.median(self.seconds) * 1e3 if self.seconds else None

    @property
    def longest_ms(self) -> float | None:
        """Of those that came back."""
        return max(self.seconds) * 1e3 if self.seconds else None


def ping(network: Network) -> Pings:
    """Send for some seconds, and wait for what is late."""
    python = (sys.executable, "-IS", "-c")
    answer = [*network.run_prefix("worker"), *python, ECHO, network.address("worker")]
    with subprocess.Popen(answer, stdout=subprocess.PIPE, text=True) as echo:
        try:
            assert echo.stdout is not None
            port = echo.stdout.readline().strip()
            pace = [str(one) for one in (SECONDS, EVERY_SECONDS, LATE_SECONDS)]
            ask = [*network.run_prefix("head"), *python, ASK, network.address("worker"), port, *pace]
            said = subprocess.run(ask, capture_output=True, text=True, timeout=60, check=True)
        finally:
            echo.kill()
    sent, seconds = json.loads(said.stdout)
    return Pings(sent, tuple(seconds))
