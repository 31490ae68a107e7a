"""Which core serves the queue that an event is about."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.symptom import Symptom
from necroscope.signals import queue_cpus
from necroscope.sources.interrupts import INTERRUPTS
from necroscope.sources.nic_queues import NicQueue


@dataclass(frozen=True, slots=True)
class Serving:
    """The queue of an event, the cores that served it in the window, and how they were found."""

    queue: NicQueue | None  # None: the event names none, or the map does not have it
    cores: tuple[int, ...]  # empty: any
    way: str


def find_serving(scene: Scene, symptom: Symptom) -> Serving:
    """Who had to do the network work that was late."""
    event = symptom.event
    device = event.device or event.bus
    before, now = (
        queue_cpus.over(scene.segment.moments, time_ns) for time_ns in (symptom.begin_ns, symptom.end_ns)
    )
    queue = next(iter(now.serving(device, event.queue)), None)
    if event.core is not None:
        return Serving(queue, (event.core,), "the event names the core")
    if queue and queue.cores:
        moved = {core for old in before.of_device(device) if old.irq == queue.irq for core in old.cores}
        cores = moved | set(queue.cores) | _taken_by(scene, symptom, queue.irq)
        way = f"/proc/irq/{queue.irq}/effective_affinity_list"
        return Serving(queue, tuple(sorted(cores)), way if len(cores) == 1 else f"{way}; /proc/interrupts")
    cores = {core for one in now.of_device(device) for core in one.cores}
    if cores:
        return Serving(None, tuple(sorted(cores)), f"all cores that serve a queue of {device}")
    return Serving(None, (), "all cores: nothing tells which one serves the queue")


def _taken_by(scene: Scene, symptom: Symptom, irq: int) -> set[int]:
    """The cores that took an interrupt in the window: it may have been moved since the map was read."""
    cores = set()
    for step in scene.segment.steps(INTERRUPTS):
        if symptom.has_most_of(step.before.time_ns, step.after.time_ns):
            taken = queue_cpus.taken_between(step.before.value, step.after.value, {irq})
            cores |= {core for core, count in taken.items() if count}
    return cores
