"""How much of the time some task waited for a resource, from pressure stall information."""

from __future__ import annotations

from typing import Literal

from necroscope.sources.pressure import PRESSURE
from necroscope.store.segment import Segment

Resource = Literal["cpu", "io", "memory"]


def waited_ratio(segment: Segment, resource: Resource) -> float | None:
    """Return the share of a segment in which some task waited; None if the kernel did not tell twice."""
    step = segment.span(PRESSURE)
    if step is None or not step.seconds:
        return None
    before, after = (getattr(timed.value, resource).some_us for timed in (step.before, step.after))
    return None if before is None or after is None else (after - before) / 1e6 / step.seconds
