"""How many memory cgroups there were in sealed segments: kept, so that panning reads no file twice.

Of a long range few moments of each segment are looked at: those that thinning would leave in any case.
"""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.server.kept_answers import KeptAnswers
from necroscope.signals.cgroup_counts import Count, counts_of
from necroscope.store.store import StoredSegment

FEW = 150  # segments: five hours; of more, a trend looks at one moment each, the last
WHOLE_KEPT, TELLING_KEPT = FEW, 1500  # segments: five hours and two days; 25 KiB and 2 KiB each


class SegmentCounts:
    """The counts that were asked for last."""

    def __init__(self) -> None:
        self._whole: KeptAnswers[list[Count]] = KeptAnswers(WHOLE_KEPT)
        self._telling: KeptAnswers[list[Count]] = KeptAnswers(TELLING_KEPT)

    def whole(self, segment: StoredSegment) -> list[Count]:
        """All counts of a segment; a sealed one does not change."""
        return (
            counts_of(segment)
            if segment.is_open
            else self._whole.get(segment.folder, lambda: counts_of(segment))
        )

    def telling(self, segment: StoredSegment) -> list[Count]:
        """The first and the last count of a segment, and the extremes in between."""

        def read() -> list[Count]:
            counts = counts_of(segment)
            return [counts[place] for place in telling_places(counts)]

        return read() if segment.is_open else self._telling.get(segment.folder, read)


def telling_places(counts: Sequence[Count]) -> list[int]:
    """Where the first and the last are, the least and the most tracked and dying."""
    if not counts:
        return []
    places = {0, len(counts) - 1}
    for values in ([count.tracked for count in counts], [count.dying for count in counts]):
        places |= {values.index(min(values)), values.index(max(values))}
    return sorted(places)
