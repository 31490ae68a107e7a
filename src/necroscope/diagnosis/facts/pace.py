"""How often something came while it came, from a count that is read now and then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """So many between two times."""

    count: int
    begin_ns: int
    end_ns: int

    @property
    def seconds(self) -> float:
        """The time over which it was counted."""
        return (self.end_ns - self.begin_ns) / 1e9

    @property
    def per_minute(self) -> float:
        """The rate; a time of less than a second counts as one."""
        return self.count * 60 / max(self.seconds, 1.0)

    @property
    def words(self) -> str:
        """`over 15 s`, `over 10 min`."""
        return f"over {self.seconds:.0f} s" if self.seconds < 120 else f"over {self.seconds / 60:.0f} min"


def pace_of(counts: Sequence[tuple[int, int]]) -> Pace:
    """The pace of a count between the first and the last reading that saw it rise.

    A reading is a time, and how many there were until then. Quiet time before and after does not dilute it,
    nor does the part of the first interval in which it had not begun. Where only one reading saw a rise it
    is that interval.
    """
    rising = [n for n in range(1, len(counts)) if counts[n][1] > counts[n - 1][1]]
    if not rising:
        return Pace(0, counts[0][0], counts[-1][0]) if counts else Pace(0, 0, 0)
    first = rising[0] if len(rising) > 1 else rising[0] - 1
    (begin_ns, before), (end_ns, after) = counts[first], counts[rising[-1]]
    return Pace(after - before, begin_ns, end_ns)
