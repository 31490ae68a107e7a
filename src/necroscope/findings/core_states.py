"""The state of every core in every second, in one letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from necroscope.findings.thresholds import Thresholds
from necroscope.recording.core_shares import Shares, shares_by_core
from necroscope.recording.segment import Segment

MISSING = " "
# Worst first: of several seconds in one column, the worst is shown.
LEGEND = {
    "S": "in the kernel nearly all the time",
    "Q": "in softirqs nearly all the time",
    "X": "taken away by the hypervisor",
    "U": "full of user-space work",
    "s": "a third or more in the kernel",
    "u": "half or more in user space",
    "w": "waiting for input or output",
    ".": "mostly free",
    MISSING: "not recorded",
}
RANK = {letter: rank for rank, letter in enumerate(LEGEND)}
HALF, THIRD = 0.5, 1 / 3
LONGEST_NS = 2_500_000_000


@dataclass(frozen=True, slots=True)
class CoreStates:
    """One letter a step of time for every core."""

    begin_ns: int  # UTC
    step_ns: int
    columns: int
    states: dict[int, str]  # by core

    @property
    def missing(self) -> int:
        """Steps of cores without a state."""
        return sum(row.count(MISSING) for row in self.states.values())


def state_of(shares: Shares, thresholds: Thresholds) -> str:
    """How a core spent an interval."""
    if shares.kernel >= thresholds["core-saturated.kernel_ratio"]:
        return "Q" if shares.softirq > shares.system else "S"
    if shares.steal >= HALF:
        return "X"
    if shares.busy >= thresholds["core-saturated.busy_ratio"]:
        return "U"
    if shares.kernel >= THIRD:
        return "s"
    if shares.user >= HALF:
        return "u"
    return "w" if shares.iowait >= HALF else "."


def core_states(
    stretches: Sequence[Segment], begin_ns: int, end_ns: int, step_ns: int, thresholds: Thresholds
) -> CoreStates:
    """The states between two times (UTC)."""
    columns = -(-(end_ns - begin_ns) // step_ns)
    rows: dict[int, list[str]] = {}
    for stretch in stretches:
        offset_ns = stretch.anchor.offset_ns
        for core, intervals in shares_by_core(stretch).items():
            row = rows.setdefault(core, [MISSING] * columns)
            for shares in intervals:
                middle_ns = (shares.begin_ns + shares.end_ns) // 2 + offset_ns
                column = (middle_ns - begin_ns) // step_ns
                # An interval over a hole says nothing of any one second in it.
                if 0 <= column < columns and shares.end_ns - shares.begin_ns <= LONGEST_NS:
                    row[column] = min(row[column], state_of(shares, thresholds), key=RANK.__getitem__)
    return CoreStates(begin_ns, step_ns, columns, {core: "".join(rows[core]) for core in sorted(rows)})
