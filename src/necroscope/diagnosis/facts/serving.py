"""Which core serves the queue that an event is about."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.sources.interrupts import INTERRUPTS
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue


@dataclass(frozen=True, slots=True)
class Serving:
    """The queue of an event, the cores that served it in the window, and how they were found."""

    queue: NicQueue | None  # None: the event names none, or the map does not have it
    cores: tuple[int, ...]  # empty: any
    way: str


def find_serving(scene: Scene, symptom: Symptom) -> Serving:
    """Who had to do the network work that was late."""
    event = symptom.event
    now, before = (_queues_of(scene, symptom, time_ns) for time_ns in (symptom.end_ns, symptom.begin_ns))
    # A stall is one of transmission: where the directions have interrupts of their own, it is that one.
    mine = [queue for queue in now if queue.queue == event.queue and queue.direction != "rx"]
    queue = mine[0] if mine else None
    if event.core is not None:
        return Serving(queue, (event.core,), "the event names the core")
    if queue and queue.cores:
        moved = {core for old in before if old.irq == queue.irq for core in old.cores}
        cores = moved | set(queue.cores) | _taken_by(scene, symptom, queue.irq)
        way = f"/proc/irq/{queue.irq}/effective_affinity_list"
        return Serving(queue, tuple(sorted(cores)), way if len(cores) == 1 else f"{way}; /proc/interrupts")
    cores = {core for one in now for core in one.cores}
    if cores:
        return Serving(
            None, tuple(sorted(cores)), f"all cores that serve a queue of {event.device or event.bus}"
        )
    return Serving(None, (), "all cores: nothing tells which one serves the queue")


def _queues_of(scene: Scene, symptom: Symptom, time_ns: int) -> list[NicQueue]:
    """The queues of the device of an event, of which some lines name the bus address only."""
    event = symptom.event
    return [
        queue
        for queue in scene.value_at(NIC_QUEUES, time_ns) or ()
        if (queue.device == event.device if event.device else queue.bus == event.bus)
    ]


def _taken_by(scene: Scene, symptom: Symptom, irq: int) -> set[int]:
    """The cores that took an interrupt in the window: it may have been moved since the map was read."""
    cores = set()
    for step in scene.segment.steps(INTERRUPTS):
        if symptom.has_most_of(step.before.time_ns, step.after.time_ns):
            counts = [dict(row.counts) for row in step.before.value if row.irq == irq]
            before = counts[0] if counts else {}
            rows = (row for row in step.after.value if row.irq == irq)
            cores |= {core for row in rows for core, count in row.counts if count > before.get(core, 0)}
    return cores
