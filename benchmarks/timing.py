"""How benchmarks measure and print."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(work: Callable[[], object], repeats: int = 7) -> float:
    """The shortest of some runs, in seconds: what the work costs without its neighbours' noise."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def report(what: str, seconds: float, peer: str, peer_seconds: float) -> None:
    """One line: the time, the peer's or the limit's, and the ratio."""
    ratio = seconds / peer_seconds
    print(f"{what}: {seconds * 1e3:.2f} ms; {peer}: {peer_seconds * 1e3:.2f} ms; ratio {ratio:.2f}")


def report_amount(what: str, amount: float, unit: str, peer: str, peer_amount: float) -> None:
    """One line for what is not a time: the amount, the peer's or the limit's, and the ratio."""
    ratio = amount / peer_amount if peer_amount else float("inf")
    print(f"{what}: {amount:,.4g} {unit}; {peer}: {peer_amount:,.4g} {unit}; ratio {ratio:.2f}")
