"""What must hold of a soak: nothing is lost, nothing grows. Plain arithmetic over what was read.

Each check says how much is wrong, and not only whether: 0 lost, 0 twice, so many bytes in the second half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median

Series = Sequence[tuple[float, float]]  # seconds, value


@dataclass(frozen=True, slots=True)
class FoundMarks:
    """Numbered marks, as they were found again in a recording."""

    lost: int
    found_twice: int
    unknown: int  # that nobody wrote
    out_of_order: int
    largest_error_ms: float  # between when a line was written and when the recording says that it was


@dataclass(frozen=True, slots=True)
class FoundSamples:
    """Samples of every core in every whole second of a recording."""

    seconds: int
    empty: int  # a second and core without any
    fewest: int  # in a second of a core
    per_second_and_core: float


@dataclass(frozen=True, slots=True)
class Growth:
    """The trend of a value over the second half of a run."""

    first: float  # the median of the first tenth of the run
    last: float  # that of the last tenth
    most: float
    rise: float  # the trend times the length of the second half


def find_marks(written: Sequence[tuple[int, int]], found: Sequence[tuple[int, int]]) -> FoundMarks:
    """Compare what was written (before and after; its place is its number) with numbers and times found."""
    counts = Counter(number for number, _ in found)
    errors = [
        max(written[number][0] - time_ns, time_ns - written[number][1], 0)
        for number, time_ns in found
        if 0 <= number < len(written)
    ]
    return FoundMarks(
        lost=sum(1 for number in range(len(written)) if not counts[number]),
        found_twice=sum(1 for count in counts.values() if count > 1),
        unknown=sum(1 for number in counts if not 0 <= number < len(written)),
        out_of_order=sum(1 for one, other in pairwise(found) if one[0] >= other[0]),
        largest_error_ms=round(max(errors, default=0) / 1e6, 3),
    )


def largest_interval_seconds(times_ns: Collection[int]) -> float:
    """The longest time between two moments that follow each other."""
    return round(max((b - a for a, b in pairwise(sorted(times_ns))), default=0) / 1e9, 3)


def find_samples(counts: Mapping[tuple[int, int], int], cores: Collection[int], whole: range) -> FoundSamples:
    """Look at every core in every one of these seconds."""
    cells = [counts.get((second, core), 0) for second in whole for core in cores]
    return FoundSamples(
        seconds=len(whole),
        empty=sum(1 for count in cells if not count),
        fewest=min(cells, default=0),
        per_second_and_core=round(sum(cells) / len(cells), 2) if cells else 0.0,
    )


def slope(series: Series) -> float:
    """The median of the slopes between all pairs (Theil and Sen): single jumps do not move it."""
    slopes = [(b - a) / (t - s) for (s, a), (t, b) in combinations(series, 2) if t > s]
    return median(slopes) if slopes else 0.0


def growth(series: Series) -> Growth:
    """How a value developed, which is asked of at least ten of them."""
    if len(series) < 10:
        raise ValueError(f"{len(series)} values tell no trend")
    values = [value for _, value in series]
    tenth = len(series) // 10
    half = series[len(series) // 2 :]
    rise = slope(half) * (half[-1][0] - half[0][0])
    return Growth(median(values[:tenth]), median(values[-tenth:]), max(values), round(rise, 3))
