"""In which of many seconds CPUs were in the kernel, and the runs of them: for hours of recorded time.

The seconds come from the native grid, the runs from the fold of signals/cpu_saturation.py.

Costs    70 ms for 20 minutes of 96 cores (measured)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.core_states import CoreStates, core_letters
from necroscope.signals.cpu_saturation import CpuSaturation, Load, Run, SaturationRule
from necroscope.store.store import StoredSegment

IN_KERNEL, OTHERWISE = "S", "."
LOADS = {IN_KERNEL: Load.KERNEL, OTHERWISE: Load.FREE}


def kernel_seconds(
    segments: Sequence[StoredSegment], begin_ns: int, end_ns: int, rule: SaturationRule
) -> CoreStates:
    """Return a letter for every second between two times: IN_KERNEL, OTHERWISE, or MISSING."""
    rules = [(IN_KERNEL, "kernel", rule.kernel_ratio), (OTHERWISE, "any", 0.0)]
    return core_letters(segments, begin_ns, end_ns, SECOND_NS, rules)


def runs_in(seconds: CoreStates, rule: SaturationRule) -> Iterator[Run]:
    """Return the runs in the kernel of these seconds, CPU by CPU."""
    for cpu, row in seconds.states.items():
        saturation = CpuSaturation(rule)
        end_ns = seconds.begin_ns
        for letter, alike in groupby(row):
            begin_ns, end_ns = end_ns, end_ns + SECOND_NS * sum(1 for _ in alike)
            if load := LOADS.get(letter):
                yield from saturation.feed(cpu, begin_ns, end_ns, load)
        yield from saturation.close()
