"""The list of all sources, in the order in which a moment is read: the fast and the moving first."""

from __future__ import annotations

from typing import Any

from necroscope.sources.cgroup_ledger import CGROUP_LEDGER
from necroscope.sources.cores import CORES
from necroscope.sources.held_back_units import HELD_BACK_UNITS
from necroscope.sources.instance import INSTANCE
from necroscope.sources.interrupts import INTERRUPTS
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS
from necroscope.sources.nic_counters import NIC_COUNTERS
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS
from necroscope.sources.pressure import PRESSURE
from necroscope.sources.processes import PROCESSES
from necroscope.sources.reclaim import RECLAIM
from necroscope.sources.run_queues import RUN_QUEUES
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS
from necroscope.sources.softirqs import SOFTIRQS
from necroscope.sources.softnet import SOFTNET
from necroscope.sources.source import Source
from necroscope.sources.throttling import THROTTLING
from necroscope.sources.units import UNITS

SOURCES: tuple[Source[Any], ...] = (
    CORES,
    PROCESSES,
    RUN_QUEUES,
    SOFTIRQS,
    SOFTNET,
    SOFTIRQ_THREADS,
    INTERRUPTS,
    KERNEL_LOG,
    NIC_TIMEOUTS,
    NIC_COUNTERS,
    MEMORY_CGROUPS,
    CGROUP_LEDGER,
    RECLAIM,
    PRESSURE,
    NIC_QUEUES,
    THROTTLING,
    UNITS,
    HELD_BACK_UNITS,
    INSTANCE,
)
