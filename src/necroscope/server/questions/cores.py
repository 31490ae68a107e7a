"""How every core spent every column of a range."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass

from necroscope.model.timestamp import SECOND_NS
from necroscope.server.questions.recorded_store import Damaged, RecordedStore
from necroscope.server.questions.selection import US_NS, Range
from necroscope.signals.core_heat import CoreHeat, core_heat


@dataclass(frozen=True, slots=True)
class Cores:
    """For each mode cores x columns bytes, row by row, in base64.

    A byte is the percent of the fullest second in the column; 255 where nothing is recorded.
    """

    begin_us: int
    step_us: int  # a multiple of a second
    columns: int
    cores: list[int]
    user: str
    system: str  # with interrupts, without softirqs
    softirq: str
    steal: str
    wait: str  # for disks
    damaged: list[Damaged]


def ask_cores(store: RecordedStore, span: Range, columns: int) -> Cores:
    """At most so many columns, of whole seconds."""
    segments = store.recorded_in(span)
    begin_ns, step_ns = choose_columns(span.time.begin_ns, span.time.end_ns, columns)
    heat = core_heat(segments, begin_ns, span.time.end_ns, step_ns, store.seconds.of)
    return cores_answer(heat, store.damaged_in(span, heat.damaged))


def choose_columns(begin_ns: int, end_ns: int, most: int) -> tuple[int, int]:
    """Where the first column begins, and how long each is.

    They begin at multiples of their length where that fits, so that a pan shows the same columns again.
    """
    begin_ns -= begin_ns % SECOND_NS
    step_ns = -(-(end_ns - begin_ns) // (most * SECOND_NS)) * SECOND_NS
    for longer_ns in (step_ns, step_ns + SECOND_NS):
        aligned_ns = begin_ns - begin_ns % longer_ns
        if -(-(end_ns - aligned_ns) // longer_ns) <= most:
            return aligned_ns, longer_ns
    return begin_ns, step_ns


def cores_answer(heat: CoreHeat, damaged: list[Damaged]) -> Cores:
    """The heat as the page wants it."""
    return Cores(
        begin_us=heat.begin_ns // US_NS,
        step_us=heat.step_ns // US_NS,
        columns=heat.columns,
        cores=heat.cores,
        user=b64encode(heat.user).decode(),
        system=b64encode(heat.system).decode(),
        softirq=b64encode(heat.softirq).decode(),
        steal=b64encode(heat.steal).decode(),
        wait=b64encode(heat.wait).decode(),
        damaged=damaged,
    )
