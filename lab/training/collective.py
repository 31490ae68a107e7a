"""All-reduce between two ranks over TCP, bucket by bucket, with a timeout: what gloo and NCCL do.

Each bucket goes through the two phases of a ring: reduce-scatter (each rank gets the other's part of the
half it owns, and adds) and all-gather (each sends the half it has summed up). No bucket begins before the
last has ended, so that a step waits for the network twice per bucket.
"""

from __future__ import annotations

import socket
import time
from array import array


class CollectiveTimeoutError(TimeoutError):
    """The ranks could not exchange their gradients in time."""


class Ring:
    """One rank's connection to the other."""

    def __init__(self, rank: int, peer: socket.socket, timeout_seconds: float) -> None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rank = rank
        self._peer = peer
        self._timeout_seconds = timeout_seconds

    def all_reduce(self, values: array[float], bucket_size: int) -> array[float]:
        """The sums over both ranks; the same on both, to the last bit."""
        deadline = time.monotonic() + self._timeout_seconds
        sums = array("d")
        try:
            for begin in range(0, len(values), bucket_size):
                sums += self._reduce_bucket(values[begin : begin + bucket_size], deadline)
        except TimeoutError as error:
            raise CollectiveTimeoutError(
                f"all-reduce timed out after {self._timeout_seconds:g} s: rank {self._rank} has"
                f" {len(sums)} of {len(values)} gradients and waits for {self._peer.getpeername()[0]}"
            ) from error
        return sums

    def _reduce_bucket(self, bucket: array[float], deadline: float) -> array[float]:
        middle = len(bucket) // 2
        halves = (bucket[:middle], bucket[middle:])
        mine, others = halves[self._rank], halves[1 - self._rank]
        received = self._exchange(others, len(mine), deadline)
        summed = array("d", (one + other for one, other in zip(mine, received, strict=True)))
        gathered = self._exchange(summed, len(others), deadline)
        return gathered + summed if self._rank else summed + gathered

    def _exchange(self, values: array[float], count: int, deadline: float) -> array[float]:
        self._peer.sendall(values.tobytes())
        received = array("d")
        missing = bytearray()
        while len(missing) < count * received.itemsize:
            self._peer.settimeout(max(deadline - time.monotonic(), 1e-6))
            part = self._peer.recv(count * received.itemsize - len(missing))
            if not part:
                raise ConnectionError(f"rank {1 - self._rank} closed the connection")
            missing += part
        received.frombytes(missing)
        return received
