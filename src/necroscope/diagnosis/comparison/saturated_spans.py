"""When cores were in the kernel for seconds in a row, by their counters.

The events `core-saturated` say the same, but late: of a run that goes on, the length is reported again only
when it has doubled. A question in between would take the latest seconds of the trouble for quiet ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.cpu_saturation import SaturationRule
from necroscope.signals.saturated_seconds import kernel_seconds, runs_in
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import StoredSegment

Span = tuple[int, int]


def saturated_spans(
    segments: Sequence[StoredSegment], reach: Span, cores: Sequence[int], thresholds: Thresholds
) -> Iterator[Span]:
    """Runs of some cores (none: of any) as long as `core-saturated` wants them, and those that are cut off.

    How long a run is that reaches the end of what is recorded, nobody knows yet. The second before and after
    a run are added, in which it began and ended. Times on the recording's clock.
    """
    rule = SaturationRule.of(thresholds)
    # Segments that cannot be read tell nothing here; their events still do.
    seconds = kernel_seconds([*map(_on_its_clock, segments)], *reach, rule)
    for run in runs_in(seconds, replace(rule, seconds=0)):
        if (not cores or run.cpu in cores) and (run.is_cut or rule.is_long(run)):
            yield run.begin_ns - SECOND_NS, run.end_ns + SECOND_NS


def _on_its_clock(segment: StoredSegment) -> StoredSegment:
    """The segment with its own times in place of UTC: the wall clock may have been set between two."""
    offset_ns = segment.offset_ns
    return replace(
        segment, begin_ns=segment.begin_ns - offset_ns, end_ns=segment.end_ns - offset_ns, offset_ns=0
    )
