"""Whether a queue had anything to send or to complete when a line says that it stalled.

Asked only where a program wrote the line. A driver knows better: while it waits for a completion, all that is
looked at here stands still, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

from necroscope.diagnosis.facts.fact import Fact
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.model.finding import Evidence
from necroscope.model.shell_command import shell_command
from necroscope.sources.interrupts import INTERRUPTS, Interrupts
from necroscope.sources.nic_counters import NIC_COUNTERS, Counter, NicCounters
from necroscope.sources.nic_queues import NicQueue
from necroscope.sources.source import Source

T = TypeVar("T")
LEAST_NS = 10 * 10**9  # before the stall: a shorter pause in sending is ordinary
TRANSMITS = re.compile(r"(?:^|[_.-])tx")  # tx0_kicks, queue_5_tx_cnt, tx-0.packets


@dataclass(frozen=True, slots=True)
class _Watched:
    """Whether something stood still, and for how long it was looked at."""

    moved: bool
    seconds: float


def queue_used(scene: Scene, symptom: Symptom, queue: NicQueue | None) -> Fact:
    """False: its interrupt never came and its device sent nothing, before the stall and during it."""
    event = symptom.event
    if event.kind != "nic-reset" or not event.from_user_space:
        return Fact(None)
    what = f"whether anything was sent through {event.device or event.bus}"
    if queue is None:
        return Fact(None, unknown=f"{what}: its queue is not known")
    came = _watch(scene, symptom, INTERRUPTS, lambda value: _taken(value, queue.irq))
    sent = _watch(scene, symptom, NIC_COUNTERS, lambda value: _transmitted(value, queue.device))
    if came is None or sent is None:
        name = (INTERRUPTS if came is None else NIC_COUNTERS).id
        return Fact(None, unknown=f"{what}: {name} was not read before, or does not count it")
    if came.moved or sent.moved:
        return Fact(True)
    return Fact(False, _idle(queue, came.seconds, sent.seconds))


def _idle(queue: NicQueue, came_seconds: float, sent_seconds: float) -> tuple[Evidence, ...]:
    completed = f"against it: interrupts of queue {queue.queue} (irq {queue.irq}) in {came_seconds:.0f} s"
    sent = f"against it: sent by {queue.device} in {sent_seconds:.0f} s"
    return (
        Evidence(completed, 0, "interrupts", "/proc/interrupts"),
        Evidence(
            sent, "nothing, by its driver's counters", "", shell_command(["ethtool", "-S", queue.device])
        ),
    )


def _watch(
    scene: Scene, symptom: Symptom, source: Source[T], look: Callable[[T], Hashable | None]
) -> _Watched | None:
    """What a source says from long before a stall to its end; None: it does not say."""
    series = scene.segment.series(source)
    later = [timed.time_ns for timed in series if timed.time_ns >= symptom.end_ns]
    seen = [timed for timed in series if later and timed.time_ns <= later[0]]
    if not seen or seen[0].time_ns > symptom.begin_ns - LEAST_NS:
        return None
    values = {look(timed.value) for timed in seen}
    if None in values:
        return None
    return _Watched(len(values) > 1, (seen[-1].time_ns - seen[0].time_ns) / 1e9)


def _taken(interrupts: Interrupts, irq: int) -> int | None:
    """How often an interrupt came on any core."""
    return next((sum(n.taken for n in row.counts) for row in interrupts if row.irq == irq), None)


def _transmitted(counters: NicCounters, device: str) -> tuple[Counter, ...] | None:
    """All that a device's driver counts about sending."""
    mine = (row.values for row in counters if row.device == device)
    return tuple(one for values in mine for one in values if TRANSMITS.search(one.name)) or None
