"""What a line of the kernel log says about a NIC, who wrote it, and whether the counters bear it out.

A program may have written the line, if programs were trusted when it was read: then it is what somebody says,
and no proof that a queue stalled. Lines of programs that nobody trusts are no events, and do not get here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from necroscope.diagnosis.fact import Fact
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.starvation import Starvation
from necroscope.diagnosis.symptom import Symptom, lines_of_stall
from necroscope.model.event import Event
from necroscope.model.finding import Evidence
from necroscope.model.shell_command import shell_command
from necroscope.signals.reset_reason import napi_waited, stated_cause
from necroscope.sources.interrupts import INTERRUPTS, Interrupts
from necroscope.sources.nic_counters import NIC_COUNTERS, Counter, NicCounters
from necroscope.sources.nic_queues import NicQueue
from necroscope.sources.source import Source

LOG = "kernel log"
LEAST_NS = 10 * 10**9  # before the stall: a shorter pause in sending is ordinary
TRANSMITS = re.compile(r"(?:^|[_.-])tx")  # tx0_kicks, queue_5_tx_cnt, tx-0.packets

T = TypeVar("T")


def line_facts(scene: Scene, symptom: Symptom, found: Starvation) -> dict[str, Fact]:
    """What it says, and what speaks against it."""
    event = symptom.event
    rule = f"{event.rule} (written by a program)" if event.from_user_space else event.rule
    line = Evidence(rule, event.text, "line", LOG)
    cause = stated_cause(event)
    return {
        "nic-stalled": Fact(event.kind == "nic-reset", (line, *_others(scene, symptom))),
        "line-is-kernels": Fact(not (event.from_user_space or event.device_driver), tuple(_foreign(event))),
        "queue-used": _queue_used(scene, symptom, found.queue),
        "napi-scheduled": Fact(
            _scheduled(scene, symptom), (line,), "whether NAPI was waiting: this driver does not say"
        ),
        "napi-denied": Fact(event.napi_scheduled is False, (line,)),
        **{f"line-says-{what}": Fact(cause == what, (line,)) for what in ("device", "network", "planned")},
    }


def _scheduled(scene: Scene, symptom: Symptom) -> bool | None:
    """Whether the line says that NAPI had been waiting for long."""
    waited = napi_waited(symptom.event, scene.limit("nic-reset.starved_seconds"))
    return False if waited is None and symptom.kind != "nic-reset" else waited


def _others(scene: Scene, symptom: Symptom) -> Iterator[Evidence]:
    """How many lines are about the same stall, of which this one is explained."""
    number = lines_of_stall(scene.events, symptom.event, scene.thresholds)
    if number > 1:
        yield Evidence("lines about this stall, of which this tells most", number, "lines", LOG)


def _foreign(event: Event) -> Iterator[Evidence]:
    """Against a line: the device has another driver."""
    if event.device_driver:
        name = f"against it: the driver of {event.device or event.bus}"
        value = f"{event.device_driver}, and the line is one of {event.driver}"
        yield Evidence(name, value, "", "/sys/class/net")


@dataclass(frozen=True, slots=True)
class _Watched:
    """Whether something stood still, and for how long it was looked at."""

    moved: bool
    seconds: float


def _queue_used(scene: Scene, symptom: Symptom, queue: NicQueue | None) -> Fact:
    """Whether a queue had anything to send or to complete when a line that a program wrote says it stalled.

    False: its interrupt never came and its device sent nothing, before the stall and during it. Not asked of
    a driver, which knows better: while it waits for a completion, all that is looked at here stands still.
    """
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
