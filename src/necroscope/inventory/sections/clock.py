"""The clock: where the kernel takes its time from, and who sets it.

Reads    /sys/devices/system/clocksource, /etc/localtime, what sections/daemons.py reads
Needs    nothing
Costs    two reads; the list of processes is shared with `interrupts`
"""

from __future__ import annotations

from necroscope.inventory.sections.daemons import CLOCK_SETTERS
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading

PLACE = "/sys/devices/system/clocksource/clocksource0"


def read_clock(subject: Subject) -> Reading[Facts]:
    """The clock source, those there are, the daemons that set the clock, the time zone."""
    host = subject.host
    gathered = Gathered()
    gathered.add_reading("clocksource", host.read(f"{PLACE}/current_clocksource"))
    gathered.add_reading("available", host.read(f"{PLACE}/available_clocksource"))
    gathered.miss(subject.daemons)
    if not host.is_live:
        gathered.say("which programs run: not running")
    if subject.daemons.value is not None:
        gathered.add("daemons", " ".join(sorted(subject.daemons.value & CLOCK_SETTERS)) or "none")
    gathered.add_known("time-zone", host.word("/etc/timezone") or host.link_name("/etc/localtime"))
    return gathered.reading("no clock source")
