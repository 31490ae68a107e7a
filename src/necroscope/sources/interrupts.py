"""Interrupts taken by every core.

Reads    /proc/interrupts
Needs    nothing
Costs    one read: 0.2 ms on 2 cores; it grows with cores x interrupts

               CPU0       CPU1
     38:          0        806  PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
    NMI:          0          0  Non-maskable interrupts
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from necroscope.model.reading import Reading
from necroscope.sources.host import Host, whole_lines
from necroscope.sources.source import Read, Source


class CoreCount(NamedTuple):
    """How often one core took an interrupt since boot."""

    core: int
    taken: int


@dataclass(frozen=True, slots=True)
class Interrupt:
    """One device interrupt: how often each core took it since boot, and the name its driver gave."""

    irq: int
    name: str
    counts: tuple[CoreCount, ...]  # cores that never took it left out


Interrupts = tuple[Interrupt, ...]


def parse_interrupts(text: str) -> Interrupts:
    """Parse /proc/interrupts: the numbered rows, which belong to devices."""
    head, *rows = whole_lines(text)
    cores = [int(name.removeprefix("CPU")) for name in head.split()]
    if not cores:
        raise ValueError("no head line that names the cores")
    interrupts = []
    for row in rows:
        label, _, rest = row.partition(":")
        if not label.strip().isdigit():
            continue
        fields = rest.split(None, len(cores))
        if len(fields) < len(cores):
            raise ValueError(f"interrupt {label.strip()} has {len(fields)} counts for {len(cores)} cores")
        counts = tuple(CoreCount(core, int(n)) for core, n in zip(cores, fields, strict=False) if n != "0")
        # After the counts: chip, hardware number and trigger, then the names, which may hold spaces.
        description = fields[len(cores)] if len(fields) > len(cores) else ""
        interrupts.append(Interrupt(int(label), _name(description), counts))
    return tuple(interrupts)


def _name(description: str) -> str:
    words = description.split()
    for index, word in enumerate(words):
        if word.endswith(("-edge", "-level", "-fasteoi")) or word in ("Edge", "Level"):
            return " ".join(words[index + 1 :])
    return words[-1] if words else ""


def open_interrupts(host: Host) -> Read[Interrupts]:
    """A reader of the interrupt counts of every core."""

    def read() -> Reading[Interrupts]:
        return host.read("/proc/interrupts").parsed(parse_interrupts)

    return read


INTERRUPTS = Source("interrupts", open_interrupts)
