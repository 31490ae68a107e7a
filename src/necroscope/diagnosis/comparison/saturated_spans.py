"""When cores were in the kernel for seconds in a row, by their counters.

The events `core-saturated` tell the same, but late: of a run that goes on, the length is told anew only when
it has doubled. A question in between would take the latest seconds of the trouble for quiet ones.

Costs    70 ms for 20 minutes of 96 cores (measured)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.core_states import MISSING, core_letters
from necroscope.signals.saturated_cores import GRACE_SECONDS
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import StoredSegment

FULL, OTHER = "S", "."
# Readings that are a little late leave a second without one; two are a hole.
RUN = re.compile(f"{FULL}+(?:{MISSING}{FULL}+)*")
HOLE = 2 * MISSING

Span = tuple[int, int]


def saturated_spans(
    segments: Sequence[StoredSegment], reach: Span, cores: Sequence[int], thresholds: Thresholds
) -> Iterator[Span]:
    """Runs of some cores (none: of any) as long as `core-saturated` wants them, and those that are cut off.

    How long a run is that reaches the end of what is recorded, nobody knows yet. The second before and after
    a run are added, in which it began and ended. Times on the recording's clock.
    """
    begin_ns, end_ns = reach
    rules = [(FULL, "kernel", thresholds["core-saturated.kernel_ratio"]), (OTHER, "any", 0.0)]
    # Segments that cannot be read tell nothing here; their events still do.
    letters = core_letters([*map(_on_its_clock, segments)], begin_ns, end_ns, SECOND_NS, rules)
    least = thresholds["core-saturated.seconds"] - GRACE_SECONDS
    for core, row in letters.states.items():
        if not cores or core in cores:
            for first, last in _runs(row, least):
                yield begin_ns + (first - 1) * SECOND_NS, begin_ns + (last + 1) * SECOND_NS


def _runs(row: str, least: float) -> Iterator[tuple[int, int]]:
    """The places of a row where runs begin and end."""
    framed = f"{HOLE}{row}{HOLE}"
    for run in RUN.finditer(framed):
        first, last = run.span()
        is_cut = HOLE in (framed[first - 2 : first], framed[last : last + 2])
        if is_cut or last - first >= least:
            yield first - len(HOLE), last - len(HOLE)


def _on_its_clock(segment: StoredSegment) -> StoredSegment:
    """The segment with its own times in place of UTC: the wall clock may have been set between two."""
    offset_ns = segment.offset_ns
    return replace(
        segment, begin_ns=segment.begin_ns - offset_ns, end_ns=segment.end_ns - offset_ns, offset_ns=0
    )
