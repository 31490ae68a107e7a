"""Which cores serve the queues of network devices.

Reads    what sources/nic_queues.py reads; /proc/irq, /sys/class/net/DEVICE/queues
Needs    nothing
Costs    some reads per queue, and one per process: 2 ms with 2 queues and 100 processes

Where irqbalance runs, it moves interrupts as the load goes, so they are not told: only that it runs. Numbers
of interrupts differ with every boot and are left out, and so is the core that the kernel has picked where an
interrupt may fire on all.
"""

from __future__ import annotations

from necroscope.inventory.sections.cpu import SYSTEM
from necroscope.inventory.sections.daemons import IRQBALANCE
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.model.reading import Reading
from necroscope.sources.host import Host, parse_core_list
from necroscope.sources.nic_queues import hardware_devices, open_nic_queues, parse_core_mask


def read_interrupts(subject: Subject) -> Reading[Facts]:
    """DEVICE/queue N = cores; DEVICE/rx-N/rps and DEVICE/tx-N/xps = masks; irqbalance; the default."""
    host = subject.host
    gathered = Gathered()
    gathered.add_reading("default", host.read("/proc/irq/default_smp_affinity"))
    gathered.miss(subject.daemons)
    if not host.is_live:
        gathered.say("which programs run: not running")
    is_balanced = IRQBALANCE in (subject.daemons.value or ())
    if subject.daemons.value is not None:
        gathered.add("irqbalance", "running" if is_balanced else "not running")
    queues = open_nic_queues(host)()
    gathered.miss(queues)
    usual = _usual_cores(host)
    for queue in queues.value or ():
        name = queue.name.replace(" ", "/", 1)
        if is_balanced:
            gathered.add(name, "left to irqbalance")
            continue
        allowed = host.read(f"/proc/irq/{queue.irq}/smp_affinity_list")
        gathered.add_reading(f"{name}/allowed", allowed)
        if usual - {*(allowed.parsed(parse_core_list).value or ())}:
            gathered.add_known(name, " ".join(map(str, queue.cores)))
    for device, _, _ in hardware_devices(host).value or ():
        _add_masks(host, device, gathered)
    return gathered.reading("no interrupts")


def _usual_cores(host: Host) -> set[int]:
    """The cores that interrupts may fire on where nobody has set anything."""
    online = host.read(f"{SYSTEM}/online").parsed(parse_core_list).value or ()
    default = host.read("/proc/irq/default_smp_affinity").parsed(parse_core_mask).value or online
    return {*online} & {*default}


def _add_masks(host: Host, device: str, gathered: Gathered) -> None:
    place = f"/sys/class/net/{device}/queues"
    for queue in host.names(place).value or ():
        for name in ("rps_cpus", "rps_flow_cnt", "xps_cpus"):
            # A device with one queue refuses xps_cpus, so an error here is no news.
            if (value := host.word(f"{place}/{queue}/{name}")) and value.strip("0,"):
                gathered.add(f"{device}/{queue}/{name.removesuffix('_cpus')}", value)
