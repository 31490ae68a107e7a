"""Read all sources of a host at their pace: the one runner, which times and isolates each."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from necroscope.model.labels import Labels
from necroscope.model.reading import Absence, Reading
from necroscope.sources.catalog import SOURCES
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE
from necroscope.sources.source import Read, Source
from necroscope.store.clock import take_anchor
from necroscope.store.segment import Moment, Segment

Progress = Callable[[int, int], None]  # seconds done, seconds in all


@dataclass(slots=True)
class _Opened:
    source: Source[Any]
    read: Read[Any]
    due_ns: float = field(default=0)


def sample(
    host: Host, seconds: float, progress: Progress, sources: Sequence[Source[Any]] = SOURCES
) -> Segment:
    """Look at a host once a second for some seconds. A recorded tree is looked at once.

    Ctrl-C ends the look early; what was seen until then is kept.
    """
    anchor = take_anchor()
    moments: list[Moment] = []
    ticks = math.ceil(seconds) if host.is_live else 0
    with _ctrl_c() as stop:
        sampler = Sampler(host, sources)
        begin_ns = time.monotonic_ns()
        try:
            for tick in range(ticks + 1):
                stop.wait(max(begin_ns + min(tick, seconds) * 1e9 - time.monotonic_ns(), 0) / 1e9)
                # Decided before the reading: a Ctrl-C in the middle of it is followed by a whole last one.
                is_last = tick == ticks or stop.is_set()
                moments.append(sampler.read(everything=tick == 0 or is_last))
                if is_last:
                    break
                progress(tick, ticks)
        finally:
            progress(ticks, ticks)
    labels = next((m.readings[INSTANCE.id].value for m in moments if INSTANCE.id in m.readings), None)
    return Segment(labels or Labels(), anchor, tuple(moments), host.is_live, stop.is_set())


@contextmanager
def _ctrl_c() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, so that no moment is cut in the middle; a second Ctrl-C ends the program."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        stop.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


class Sampler:
    """All sources of a host, opened; each is read at its own pace."""

    def __init__(self, host: Host, sources: Sequence[Source[Any]] = SOURCES) -> None:
        self._opened = [_open(source, host) for source in sources]

    def read(self, *, everything: bool = False) -> Moment:
        """The sources that are due, or all that are read more than once."""
        now_ns = time.monotonic_ns()
        due = [one for one in self._opened if now_ns >= one.due_ns or (everything and one.due_ns < math.inf)]
        return _read_moment(now_ns, due)

    def read_only(self, source: Source[Any]) -> Moment:
        """One source, between two moments of all."""
        return _read_moment(time.monotonic_ns(), [one for one in self._opened if one.source is source])


def _open(source: Source[Any], host: Host) -> _Opened:
    try:
        return _Opened(source, source.open(host))
    except Exception as error:  # noqa: BLE001 - one broken source must not blind the others
        refusal: Reading[Any] = _broken(error)
        return _Opened(source, lambda: refusal)


def _read_moment(now_ns: int, due: Sequence[_Opened]) -> Moment:
    readings: dict[str, Reading[Any]] = {}
    cost_ns: dict[str, int] = {}
    for one in due:
        one.due_ns = now_ns + (one.source.pace_seconds - 0.5) * 1e9
        began = time.perf_counter_ns()
        readings[one.source.id] = _read(one)
        cost_ns[one.source.id] = time.perf_counter_ns() - began
    return Moment(now_ns, readings, cost_ns)


def _read(one: _Opened) -> Reading[Any]:
    try:
        return one.read()
    except Exception as error:  # noqa: BLE001 - as above
        return _broken(error)


def _broken(error: Exception) -> Reading[Any]:
    return Reading(absence=Absence.BROKEN, detail=f"{type(error).__name__}: {error}")
