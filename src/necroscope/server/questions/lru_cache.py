"""What was asked for last: kept, so that panning reads no file twice."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from necroscope import _native
from necroscope.signals.cgroup_counts import Count, counts_of
from necroscope.signals.core_heat import Files
from necroscope.store.store import StoredSegment

T = TypeVar("T")
MOST_BYTES = 64 << 20  # 12 h of 96 cores take 20 MiB
FEW = 150  # segments: five hours; of more, a trend looks at one moment each, the last
WHOLE_KEPT, TELLING_KEPT = FEW, 1500  # segments: five hours and two days; 25 KiB and 2 KiB each


class LruCache(Generic[T]):
    """Answers by what was asked; two who ask the same at once may both wait for it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, answer: Callable[[], T]) -> T:
        """The answer that is kept, or a new one; an error is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = answer()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


class SegmentSeconds:
    """The seconds that were asked for last, of at most so many bytes."""

    def __init__(self, max_bytes: int = MOST_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[Path, int], _native.SegmentHeat] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    @property
    def size_bytes(self) -> int:
        """How much memory is taken."""
        return self._bytes

    def of(self, files: Files) -> list[_native.SegmentHeat | OSError]:
        """The seconds of files, in their order; those not kept are read. A sealed file does not change."""
        with self._lock:
            found = {file: self._kept[file] for file in files if file in self._kept}
            for file in found:
                self._kept.move_to_end(file)
        missing = [file for file in files if file not in found]
        read = dict(zip(missing, _native.seconds_of_files(missing), strict=True))
        with self._lock:
            for file, seconds in read.items():
                if not isinstance(seconds, OSError):
                    self._keep(file, seconds)
        return [found[file] if file in found else read[file] for file in files]

    def _keep(self, file: tuple[Path, int], seconds: _native.SegmentHeat) -> None:
        if file not in self._kept:
            self._bytes += seconds.size_bytes
        self._kept[file] = seconds
        while self._bytes > self._max_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size_bytes


class SegmentCounts:
    """The counts of memory cgroups that were asked for last.

    Of a long range few moments of each segment are read: those that thinning would leave in any case.
    """

    def __init__(self) -> None:
        self._whole: LruCache[list[Count]] = LruCache(WHOLE_KEPT)
        self._telling: LruCache[list[Count]] = LruCache(TELLING_KEPT)

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
