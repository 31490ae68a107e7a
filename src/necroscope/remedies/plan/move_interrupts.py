"""The plan of moving the interrupts of network devices off a core."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from necroscope.errors import CannotLookError, RefusedError, UsageError
from necroscope.model import remedy_ids as ids
from necroscope.model.fix import State
from necroscope.model.plan import Assumption, Step
from necroscope.model.shell_command import shell_command
from necroscope.remedies.actions.restart_unit import RESTART_UNIT
from necroscope.remedies.actions.set_affinity import SET_AFFINITY
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.remedies.plan.irqbalance import UNIT, leave_alone, why_not_left_alone
from necroscope.remedies.plan.remedy import Part, Remedy, only_for
from necroscope.sources.host import MOST_CORES, Host
from necroscope.sources.interrupt_affinity import (
    InterruptAffinity,
    cores_kept_free,
    cores_of_node,
    format_core_list,
    read_interrupt_affinity,
    read_online_cores,
    steered_receive_queues,
)
from necroscope.sources.nic_queues import NicQueue, open_nic_queues


@dataclass(frozen=True, slots=True)
class _Served:
    """A queue, and the cores of its interrupt."""

    queue: NicQueue
    affinity: InterruptAffinity

    @property
    def target(self) -> str:
        return f"{self.queue.irq} {self.queue.irq_name}"


def plan_move_interrupts(host: Host, subject: str) -> Part:
    """Move the interrupts of all network queues that a core serves to other cores.

    Does: lets each fire on one other core instead, on the NUMA node of its device where that has one, that
    with the fewest queues, the lowest number first. Never on cores that are kept free (isolcpus=,
    nohz_full=). The choice rests on how the machine is set up, not on the load of the moment.

    With irqbalance: it would undo this within ten seconds. It is told to leave the interrupts of all network
    queues alone (--banirq, since irqbalance 1.0.4) by a drop-in that ends with the next boot, and restarted.
    All of them, because it sees interrupts and no other load: to it, the starved core is an idle one.

    Does not: help against what starves the core. That may come to another core the next minute: end it, and
    then take this back. It does not last: numbers of interrupts are given anew at every boot.

    Cannot: move interrupts that the kernel manages itself, or what RPS hands to the core in software.

    Undo: the lists of cores as they were. Which core of its list the kernel picks is up to the kernel.
    """
    core = _core(subject)
    queues = _queues(host)
    online = _online(host, core)
    there = [each for each in queues if each.affinity.fires_on(core)]
    movable = [each for each in there if each.affinity.is_writable]
    targets = _choose(host, core, online, movable, queues)
    steps = [_step(each, core, targets[each.queue.irq]) for each in movable]
    tamed = leave_alone(host, [each.queue.irq for each in queues]) if steps else Part()
    return Part(
        steps=(*tamed.steps, *steps),
        by_hand=tamed.by_hand,
        assumptions=(*_assumptions(online, there), *tamed.assumptions),
        warnings=(*_warnings(host, core, there), *tamed.warnings),
        seen=(_seen(core, there), *tamed.seen),
    )


def _core(subject: str) -> int:
    if not subject.isdecimal() or len(subject) > len(str(MOST_CORES)):
        what = f"{subject[:20]!r} is no core" if subject else "which core is missing"
        raise UsageError(what, hint="necroscope fix move-interrupts 3")
    return int(subject)


def _queues(host: Host) -> list[_Served]:
    if not host.is_live:
        raise CannotLookError("cannot move interrupts in an offline image")
    queues = open_nic_queues(host)()
    if queues.value is None:
        raise CannotLookError(f"the queues of network devices: {queues.reason}")
    served = []
    for queue in {queue.irq: queue for queue in queues.value}.values():
        affinity = read_interrupt_affinity(host, queue.irq)
        if affinity.value is None:
            raise CannotLookError(f"interrupt {queue.irq}: {affinity.reason}")
        served.append(_Served(queue, affinity.value))
    return sorted(served, key=lambda each: each.queue.irq)


def _online(host: Host, core: int) -> tuple[int, ...]:
    online = read_online_cores(host)
    if online.value is None:
        raise CannotLookError(f"which cores are online: {online.reason}")
    if core not in online.value:
        raise UsageError(f"core {core} is not online", hint=f"online are {format_core_list(online.value)}")
    return online.value


def _choose(
    host: Host, core: int, online: Sequence[int], moving: Sequence[_Served], queues: Sequence[_Served]
) -> Mapping[int, int]:
    """A core for each interrupt that moves, by the interrupt's number."""
    free = {*online} - cores_kept_free(host) - {core}
    if moving and not free:
        kept = " that is not kept free of them" if len(online) > 1 else ""
        raise RefusedError(f"there is no other core{kept} to which interrupts of core {core} could move")
    serving = Counter(one for each in queues for one in each.affinity.effective)
    chosen = {}
    for each in moving:
        near = free & cores_of_node(host, each.affinity.node) if each.affinity.node is not None else free
        chosen[each.queue.irq] = min(near or free, key=lambda one: (serving[one], one))
        serving[chosen[each.queue.irq]] += 1
    return chosen


def _step(each: _Served, core: int, to: int) -> Step:
    file = f"/proc/irq/{each.queue.irq}/smp_affinity_list"
    return Step(
        action=SET_AFFINITY.id,
        target=each.target,
        value=str(to),
        command=shell_command(["echo", str(to)], into=file),
        why=f"{each.queue.name} is served by core {core}, where it has to wait. This is a stop-gap: what"
        " helps is to end what keeps the core busy",
        risk=f"what keeps core {core} busy may come to core {to}",
        cost=f"core {to} serves this queue as well",
        undo=shell_command(["echo", format_core_list(each.affinity.allowed)], into=file),
    )


def _assumptions(online: Iterable[int], there: Iterable[_Served]) -> Iterator[Assumption]:
    yield Assumption("cores online", format_core_list(online))
    for each in there:
        allowed, effective = (
            format_core_list(each.affinity.allowed),
            format_core_list(each.affinity.effective),
        )
        yield Assumption(f"interrupt {each.target}", f"may fire on {allowed}, fires on {effective}")


def _warnings(host: Host, core: int, there: Sequence[_Served]) -> Iterator[str]:
    for each in there:
        if not each.affinity.is_writable:
            yield f"interrupt {each.target} stays on core {core}: the kernel manages it, nobody can move it"
    for queue in steered_receive_queues(host, core):
        yield f"RPS goes on handing packets of {queue} to core {core}: take it out of the mask in rps_cpus"
    for each in there:
        if core in each.queue.xps_cores:
            yield f"XPS has core {core} send through {each.queue.name}, which another core then completes"


def _seen(core: int, there: Sequence[_Served]) -> str:
    if not there:
        return f"no interrupt of a network queue fires on core {core}: there is nothing to move"
    return f"core {core} serves {', '.join(each.queue.name for each in there)}"


def _why_not_moved(_host: Host, subject: str, step: Step, _before: State) -> str:
    if step.value.isdecimal() and step.value != subject:
        return ""
    return f"interrupts of core {subject} are not moved to {step.value[:80]}"


MOVE_INTERRUPTS = Remedy(
    ids.MOVE_INTERRUPTS,
    plan_move_interrupts,
    {
        SET_AFFINITY.id: _why_not_moved,
        RESTART_UNIT.id: only_for(lambda _subject: UNIT),
        WRITE_FILE.id: why_not_left_alone,
    },
)
