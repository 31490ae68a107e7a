"""Which core serves the queue that a recorded event names, by what its own segment has."""

from __future__ import annotations

from necroscope.errors import NecroscopeError
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.store.read_range import read_moments
from necroscope.store.stored_events import StoredEvent


def core_of_queue(stored: StoredEvent) -> int | None:
    """The only core that served it as the event came; None where there are several, or it is not known."""
    event = stored.event
    try:
        moments = read_moments(stored.segment, (NIC_QUEUES,))
    except NecroscopeError:  # told as damage by whoever reads the counters
        return None
    readings = [(one.time_ns, one.readings[NIC_QUEUES.id].value) for one in moments]
    maps = [(time_ns, queues) for time_ns, queues in readings if queues is not None]
    before = [queues for time_ns, queues in maps if time_ns <= event.time_ns]
    nearest = before[-1] if before else maps[0][1] if maps else ()
    cores = {
        core
        for queue in nearest
        if queue.queue == event.queue
        and queue.direction != "rx"
        and (queue.device == event.device if event.device else queue.bus == event.bus)
        for core in queue.cores
    }
    return cores.pop() if len(cores) == 1 else None
