"""What was seen whether or not anything is wrong: a quiet verdict needs numbers behind it."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.model.finding import Evidence
from necroscope.signals import softirq_delay
from necroscope.signals.cpu_usage import usage_by_cpu
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.pressure import PRESSURE
from necroscope.sources.units import UNITS
from necroscope.store.segment import Segment


def seen(segment: Segment) -> Iterator[Evidence]:
    """The most telling numbers of a segment, each only where it could be read."""
    yield from _busiest_second(segment)
    yield from _softirq_delay(segment)
    yield from _pressure(segment)
    if cgroups := segment.last(MEMORY_CGROUPS):
        for count in (cgroups.memory, *cgroups.others):
            text = f"{count.tracked:,} tracked, {count.in_use:,} in use, {count.dying:,} dying"
            yield Evidence(f"cgroups, {count.hierarchy}", text, "", count.read_from)
    if queues := segment.last(NIC_QUEUES):
        cores = sorted({core for queue in queues for core in queue.cores})
        names = ",".join(sorted({queue.device for queue in queues}))
        text = f"{len(queues)} interrupts of {names}, on cores {','.join(map(str, cores))}"
        yield Evidence("NIC queues", text, "", "/proc/interrupts")
    if logs := segment.series(KERNEL_LOG):
        lines = sum(len(log.value.lines) for log in logs)
        yield Evidence("kernel log", lines, "lines", logs[-1].value.way)
        if lost := sum(log.value.lost for log in logs):
            yield Evidence("kernel log overruns", lost, "times", logs[-1].value.way)
    if units := segment.last(UNITS):
        yield Evidence("services running, starting or failed", len(units), "services", "systemd")


def _busiest_second(segment: Segment) -> Iterator[Evidence]:
    seconds = [(usage, core) for core, usages in usage_by_cpu(segment).items() for usage in usages]
    if seconds:
        usage, core = max(seconds, key=lambda item: item[0].ratio("kernel"))
        modes = ", ".join(
            f"{usage.ratio(mode):.0%} {mode}" for mode in ("system", "softirq", "user", "steal")
        )
        yield Evidence("second with the most kernel time", f"core {core}: {modes}", "", "/proc/stat")


def _pressure(segment: Segment) -> Iterator[Evidence]:
    if (step := segment.span(PRESSURE)) and step.seconds:
        shares = []
        for resource in ("cpu", "io", "memory"):
            before, after = getattr(step.before.value, resource), getattr(step.after.value, resource)
            if before.some_us is not None and after.some_us is not None:
                shares.append(f"{resource} {(after.some_us - before.some_us) / 1e6 / step.seconds:.0%}")
        yield Evidence("time some task waited for", ", ".join(shares), "", "/proc/pressure")


def _softirq_delay(segment: Segment) -> Iterator[Evidence]:
    if delays := softirq_delay.over(segment):
        longest = max(delays, key=lambda delay: delay.delay_ns)
        text = f"{longest.delay_ns / 1e6:.1f} ms ({longest.thread.name})"
        yield Evidence("longest wait of a softirq thread", text, "", "/proc/PID/schedstat")
