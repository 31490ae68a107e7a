"""Recorded segments with samples of known work in every second, for tests of who stands out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from necroscope import _native
from necroscope.model.event import Event
from necroscope.profiles.idle import idle_rule
from necroscope.sources.cores import CORES
from necroscope.store.seal import seal_recorded
from necroscope.store.store import StoredSegment, read_segment
from tests.segments import BEGIN_NS, core_seconds
from tests.stored import SECOND_NS, moment_of, open_segment

HERTZ = 50
# What a core did in a second: work and its share. Work is `process`, in user space, or
# `process: outer > inner`, in kernel functions; nothing at all is what a hardware clock sees of an idle core.
Work = Mapping[str, float]
Plan = Callable[[int, int], Work]
IDLE = "swapper: do_idle > default_idle"


def sampled_segment(
    root: Path,
    plan: Plan,
    *,
    seconds: range,
    cores: Sequence[int] = (0, 1),
    events: Sequence[Event] = (),
    core0: Sequence[str] = (),
) -> StoredSegment:
    """A sealed segment of some seconds after BEGIN_NS; what a plan leaves of a core is idle.

    `core0` are the counters of core 0, a mode for every second.
    """
    counted = [{CORES: value} for value in core_seconds(core0)] if core0 else [{}] * (len(seconds) + 1)
    moments = [
        moment_of(second, values) for second, values in zip((*seconds, seconds.stop), counted, strict=True)
    ]
    segment = open_segment(root, moments, events, ended="full")
    samples = [
        (second * SECOND_NS + tick * SECOND_NS // HERTZ, core, work)
        for second in seconds
        for core in cores
        for tick, work in enumerate(_ticks(plan(core, second)))
        if work
    ]
    segment.capture.write_text("".join(_sample(*sample) for sample in sorted(samples)))
    seal_recorded(segment, _seal_text)
    return read_segment(segment.folder)


def _ticks(work: Work) -> list[str]:
    """What each sample of a second shows."""
    shown = [name for name, share in work.items() for _ in range(round(share * HERTZ))]
    return (shown + [IDLE] * HERTZ)[:HERTZ]


def _sample(time_ns: int, core: int, work: str) -> str:
    process, _, functions = work.partition(": ")
    pid = 0 if process == "swapper" else 1000 + sum(process.encode())
    seconds = f"{(BEGIN_NS + time_ns) // SECOND_NS}.{time_ns % SECOND_NS // 1000:06d}"
    frames = [
        f"\tffffffff81200010 {name}+0x10 ([kernel.kallsyms])" for name in functions.split(" > ")[::-1] if name
    ]
    main = [] if process == "swapper" else ["\t          47a3c1 main+0x11 (/usr/bin/program)"]
    head = f"{process} {pid}/{pid} [{core:03d}] {seconds}:   10101010 cpu-clock:"
    return "\n".join([head, *frames, *main, "", ""])


def _seal_text(capture: Path, folder: Path, *_: object) -> dict[str, Any]:
    rule = idle_rule()
    folder.mkdir(exist_ok=True)
    return _native.import_perf_script(capture, folder, idle=list(rule.idle), interrupt=list(rule.interrupt))
