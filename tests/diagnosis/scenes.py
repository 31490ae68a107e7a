"""Scenes built by hand: two cores, a NIC whose transmit queue 0 is on core 0, and what happens in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from necroscope.diagnosis.fact import Facts
from necroscope.diagnosis.observe import observe
from necroscope.diagnosis.scene import Scene
from necroscope.diagnosis.words import root_words, words_of
from necroscope.model.culprit import Ranking, Suspect
from necroscope.model.event import Event
from necroscope.signals.thresholds import load_thresholds
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, CgroupLedger, LedgerGroup
from necroscope.sources.cores import CORES
from necroscope.sources.held_back_units import HELD_BACK_UNITS, HeldBackUnit
from necroscope.sources.interrupts import INTERRUPTS, CoreCount, Interrupt
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, HierarchyCount, MemoryCgroups
from necroscope.sources.nic_counters import NIC_COUNTERS, Counter, DeviceCounters
from necroscope.sources.nic_queues import NIC_QUEUES, NicQueue
from necroscope.sources.processes import PROCESSES, Processes, Task
from necroscope.sources.reclaim import RECLAIM, Reclaim
from necroscope.sources.softirq_threads import SOFTIRQ_THREADS, SoftirqThread
from necroscope.sources.softirqs import SOFTIRQS, CoreSoftirqs
from necroscope.sources.source import Source
from necroscope.sources.units import UNITS, Unit
from tests.segments import BEGIN_NS, core_seconds, segment_of

SECOND_NS = 10**9
THRESHOLDS = load_thresholds(None)
QUEUES = (
    NicQueue("eth0", "ena", "0000:00:05.0", 0, "both", 39, "eth0-Tx-Rx-0", (0,), ()),
    NicQueue("eth0", "ena", "0000:00:05.0", 1, "both", 40, "eth0-Tx-Rx-1", (1,), ()),
)
NIC_LINE = Event(
    kind="nic-reset",
    time_ns=BEGIN_NS + 8 * SECOND_NS,
    rule="ena-tx-queue-paused",
    text="ena 0000:00:05.0 eth0: TX q 0 is paused for too long (threshold 5000000). ...",
    phase="stall",
    device="eth0",
    driver="ena",
    queue=0,
    stall_seconds=5.1,
    napi_scheduled=True,
)
HELD_BACK = HeldBackUnit(
    *("ecs.service", "enabled", "multi-user.target", "node-setup.service", "exit-code", 1, ""),
    *("ConditionPathExists=/etc/ecs/ecs.config", "/etc/ecs/ecs.config", True),
)
KUBELET = Suspect("pair", "kubelet", "mem_cgroup_iter", "inclusive", 0.95, 0.0, None, 5, 1e-6, True)


def scene_of(
    core0: Sequence[str],
    core1: Sequence[str] | None = None,
    *,
    culprit: Suspect | None = None,
    suspects: Sequence[Suspect] = (),
    **sources: Any,
) -> Scene:
    """Seconds of two cores, who stands out in the samples, and the values of other sources by name."""
    series: dict[Source[Any], Sequence[Any]] = {NIC_QUEUES: [QUEUES, QUEUES], HELD_BACK_UNITS: [()]}
    if core0:
        series[CORES] = core_seconds(core0, core1 or ["idle"] * len(core0))
    by_name: dict[str, Source[Any]] = {
        "zombies": MEMORY_CGROUPS,
        "ledger": CGROUP_LEDGER,
        "units": UNITS,
        "held_back": HELD_BACK_UNITS,
        "tasks": PROCESSES,
        "delays": SOFTIRQ_THREADS,
        "reclaim": RECLAIM,
        "queues": NIC_QUEUES,
        "interrupts": INTERRUPTS,
        "softirqs": SOFTIRQS,
        "counters": NIC_COUNTERS,
    }
    series |= {by_name[name]: values for name, values in sources.items()}
    ranking = Ranking((0,), 5, 60, 1, 100, (*([culprit] if culprit else []), *suspects), culprit)
    rank = (lambda *_: ranking) if core0 else None
    return Scene(segment_of(series), (NIC_LINE,), THRESHOLDS, rank)


def zombies(*dying: int, in_use: int = 240) -> list[MemoryCgroups]:
    """So many zombies at every moment, and so many cgroups in use."""
    return [
        MemoryCgroups(HierarchyCount("memory (v1)", 1, in_use + n, in_use, n, "/proc/cgroups"), (), None)
        for n in dying
    ]


def ledger(
    *leaked: int, unit: str = "ecs.service", creator: str = "agent", began_ns: int = BEGIN_NS
) -> list[CgroupLedger]:
    """A ledger that began with the segment, by which a unit leaked so many until every moment."""
    return [
        CgroupLedger(began_ns, 0, 0, 0, n, n, (_group(n, unit, creator),) if n else (), (), ())
        for n in leaked
    ]


def _group(count: int, unit: str, creator: str) -> LedgerGroup:
    path = f"/system.slice/{unit}" if unit else "/user.slice"
    return LedgerGroup(
        "/leak/#", creator, path, unit, creator, unit, count, count, 0, count, count, "/leak/1"
    )


def units(*restarts: int, name: str = "ecs.service") -> list[tuple[Unit, ...]]:
    """One unit with so many restarts at every moment."""
    unit = Unit(name, "", "activating", "auto-restart", 0, "exit-code", "always", 1.0, 0, 1, "", "", "")
    return [(replace(unit, restarts=number),) for number in restarts]


def delays(*seconds: float) -> list[tuple[SoftirqThread, ...]]:
    """How long ksoftirqd/0 had waited in all at every moment."""
    return [(SoftirqThread(11, "ksoftirqd/0", 0, int(total * 1e9)),) for total in seconds]


def tasks(*names: str, core: int = 0) -> list[Processes]:
    """One process that has a core to itself, at every moment."""
    return [Processes(1, (Task(77, 77, name, core, 0, 100, f"{name}.service"),)) for name in names]


def reclaim(*pages: int, stalls: int = 0, available: int = 8 << 30) -> list[Reclaim]:
    """Pages that waiting tasks had scanned until every moment."""
    return [
        Reclaim(0, page, 0, 0, 0, 0, available, 16 << 30, stalls * number)
        for number, page in enumerate(pages)
    ]


def interrupts(*came: int, core: int = 0) -> list[tuple[Interrupt, ...]]:
    """Interrupts of queue 0 that a core took until every moment."""
    return [(Interrupt(39, "eth0-Tx-Rx-0", (CoreCount(core, count),)),) for count in came]


def softirqs(*ran: int) -> list[tuple[CoreSoftirqs, ...]]:
    """How often core 0 had run NET_RX until every moment."""
    return [(CoreSoftirqs(0, count, 0, 0),) for count in ran]


def sent(*packets: int) -> list[tuple[DeviceCounters, ...]]:
    """What eth0 had sent through queue 0 until every moment; it receives all the time."""
    return [
        (DeviceCounters("eth0", "ena", "", "", (Counter("rx_cnt", n), Counter("queue_0_tx_cnt", count))),)
        for n, count in enumerate(packets)
    ]


def facts_of(scene: Scene, event: Event) -> Facts:
    """All that is found out about an event."""
    return observe(scene, event).facts


def words_of_scene(scene: Scene, event: Event) -> dict[str, str]:
    """What its sentences are made with."""
    observed = observe(scene, event)
    return words_of(scene, observed) | {"root": root_words(observed, ())}
