"""A network device stalled or was reset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice
from necroscope.model.event import Event
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import MOVE_INTERRUPTS
from necroscope.model.shell_command import shell_command
from necroscope.signals import queue_cpus
from necroscope.signals.episodes import over
from necroscope.signals.kernel_log_events import line_evidence, rule_of
from necroscope.signals.reset_reason import was_starved
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.sources.nic_counters import NIC_COUNTERS
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS

EVENTS_NAMED = 5
CORE_OF = "core of queue"
# What to do next, by what the newest line says of the cause.
ADVICE = {
    "": "look at the core that serves the queue: core-saturated and softirq-starved tell what held it",
    "device": "the device or its firmware failed: look at its vendor's log and health state",
    "network": "the network held it up: look at pause frames and at the switch",
    "planned": "nothing to do: the reset was asked for",
}
# Driver counters that mean a reset or its cause; the names are those of `ethtool -S`.
RESET_COUNTERS = frozenset(
    {
        "tx_timeout",
        "total_resets",
        "reset_fail",
        "wd_expired",
        "suspected_poll_starvation",
        "missing_tx_cmpl",
        "missing_intr",
        "os_netdev_wd",
        "admin_to",
        "device_request_reset",
    }
)


@detector(
    "nic-reset",
    needs=(KERNEL_LOG, NIC_TIMEOUTS, NIC_COUNTERS),
    uses=(NIC_QUEUES,),
    readings_needed=1,
    any_suffices=True,
)
def nic_reset(case: Case) -> Iterator[Finding]:
    """A network device saw a queue stuck, was reset, or could not be reset.

    Fires on lines of the kernel log that drivers write about it (`necroscope list rules` has them
    all), one finding per device, and on the kernel's and the driver's own counters rising while we
    looked. Connections through the device stall or break; training jobs report "network errors".

    A stalled queue is not a broken network: a driver that says `napi scheduled: 1` with an old last
    run was kept from running by its core. Where the line names no core, the core that serves the
    queue's interrupt is given. A line that a program wrote to /dev/kmsg counts only with --trust-kmsg
    (userspace-kernel-lines), and is marked. A line of a driver that the device does not have is marked,
    and is a warning at most.

    Lines already overwritten in the kernel's ring buffer, or cleared with dmesg, are not seen.

    To do: look at what its core did at that time (core-saturated, softirq-starved). Where a full core
    starved it, and only until that is mended: `necroscope fix move-interrupts CORE`.
    """
    by_device: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in case.recent_events("nic-reset", hours=case.limit("nic-reset.hours")):
        by_device[(event.device or event.bus, event.driver)].append(event)
    for (device, driver), events in by_device.items():
        if any(event.phase != "done" for event in events):
            yield _from_log(case, device, driver, events)
    yield from _from_timeouts(case)
    yield from _from_counters(case)


def _from_log(case: Case, device: str, driver: str, events: list[Event]) -> Finding:
    trouble = [event for event in events if event.phase != "done"]
    newest = trouble[-1]
    rule = rule_of(newest)
    when = case.segment.anchor.iso(newest.time_ns) if case.segment.is_live else "recorded"
    evidence: list[Evidence] = [
        Evidence("lines", len(trouble), "lines", "kernel log"),
        Evidence("episodes", len(over(events, case.thresholds)), "episodes", "kernel log"),
        Evidence("last", when, "UTC", "kernel log"),
        *map(line_evidence, trouble[-EVENTS_NAMED:]),
        Evidence("which means", rule.means, "", "kernel log rules"),
    ]
    queues = sorted({event.queue for event in trouble if event.queue is not None})
    for queue in queues:
        evidence.append(Evidence("queue", queue, "", "kernel log"))
        evidence.extend(_cores_of(case, device, queue, trouble))
    longest = max((event.stall_seconds for event in trouble if event.stall_seconds is not None), default=None)
    if longest is not None:
        evidence.append(Evidence("longest stall reported", round(longest, 3), "seconds", "kernel log"))
    if any(was_starved(event, case.limit("nic-reset.starved_seconds")) for event in trouble):
        evidence.append(
            Evidence("NAPI scheduled but not run", "yes: its core was busy elsewhere", "", "kernel log")
        )
    if case.segment.is_live and not _is_present(case, device):
        evidence.append(Evidence("device present", "no", "", "/sys/class/net"))
    foreign = _foreign_driver(trouble)
    if foreign:
        drivers = f"{foreign}, and the line is one of {driver}"
        evidence.append(Evidence(f"driver of {device or newest.bus}", drivers, "", "/sys/class/net"))
    name = f"{device or 'a network device'} ({driver})" if driver else device or "a network device"
    where = f" on queue{'s' if len(queues) > 1 else ''} {', '.join(map(str, queues))}" if queues else ""
    lines = "a line" if len(trouble) == 1 else f"{len(trouble)} lines"
    by_program = ", written by a program" if all(event.from_user_space for event in trouble) else ""
    not_own = f"; its driver is {foreign}, not {driver}" if foreign else ""
    core = "" if foreign else _only_core(evidence)  # what is not its driver's line moves no interrupt
    return Finding(
        id="nic-reset",
        severity=_severity(case, device, trouble),
        summary=f"{name} stalled or was reset{where}: {lines} in the kernel log{by_program}{not_own}",
        evidence=tuple(evidence),
        advice=(Advice(ADVICE[rule.cause]),),
        subject=core,
        remedy=MOVE_INTERRUPTS if core and not rule.cause else "",
    )


def _severity(case: Case, device: str, trouble: list[Event]) -> Severity:
    age_hours = (case.segment.end_ns - trouble[-1].time_ns) / 3600e9
    if all(rule_of(event).cause == "planned" for event in trouble):
        return Severity.INFO
    by_program = case.segment.is_live and all(event.from_user_space for event in trouble)
    if _foreign_driver(trouble) or (by_program and not _is_present(case, device)):
        return Severity.WARNING
    recent = case.segment.is_live and age_hours <= case.limit("nic-reset.critical_hours")
    failed = any(event.phase == "failed" for event in trouble)
    return Severity.CRITICAL if recent or failed else Severity.WARNING


def _foreign_driver(trouble: list[Event]) -> str:
    """The device's driver, if all lines are of another one."""
    return trouble[-1].device_driver if all(event.device_driver for event in trouble) else ""


def _is_present(case: Case, device: str) -> bool:
    timeouts = case.segment.last(NIC_TIMEOUTS) or ()
    queues = case.segment.last(NIC_QUEUES) or ()
    return device in {row.device for row in timeouts} | {row.device for row in queues}


def _cores_of(case: Case, device: str, queue: int, events: list[Event]) -> Iterator[Evidence]:
    for core in sorted({e.core for e in events if e.queue == queue and e.core is not None}):
        yield Evidence(f"{CORE_OF} {queue}", core, "", "kernel log")
    for one in queue_cpus.over(case.segment.moments).serving(device, queue):
        cores = ",".join(map(str, one.cores))
        yield Evidence(
            f"{CORE_OF} {queue} (irq {one.irq})",
            cores,
            "",
            f"/proc/irq/{one.irq}/effective_affinity_list",
        )


def _only_core(evidence: Sequence[Evidence]) -> str:
    """The core that serves all stalled queues; empty where there are several, or none is known."""
    cores = {str(one.value) for one in evidence if one.name.startswith(CORE_OF)}
    return core if len(cores) == 1 and (core := cores.pop()).isdigit() else ""


def _from_timeouts(case: Case) -> Iterator[Finding]:
    step = case.segment.span(NIC_TIMEOUTS)
    if not step:
        return
    before = {(q.device, q.queue): q.timeouts for q in step.before.value}
    for queue in step.after.value:
        rise = queue.timeouts - before.get((queue.device, queue.queue), queue.timeouts)
        if rise > 0:
            where = f"/sys/class/net/{queue.device}/queues/tx-{queue.queue}/tx_timeout"
            core_evidence = tuple(_cores_of(case, queue.device, queue.queue, []))
            yield Finding(
                id="nic-reset",
                severity=Severity.CRITICAL,
                summary=f"{queue.device} ({queue.driver}) queue {queue.queue} hit the watchdog just now",
                evidence=(
                    Evidence("timeouts while looking", rise, "timeouts", where),
                    Evidence("timeouts since boot", queue.timeouts, "timeouts", where),
                    *core_evidence,
                ),
                subject=_only_core(core_evidence),
                remedy=MOVE_INTERRUPTS if _only_core(core_evidence) else "",
            )


def _from_counters(case: Case) -> Iterator[Finding]:
    step = case.segment.span(NIC_COUNTERS)
    if not step:
        return
    before = {device.device: dict(device.values) for device in step.before.value}
    for device in step.after.value:
        old = before.get(device.device, {})
        # Before ENA 2.16 a reset sets the counters back: only a rise is a rise.
        rises = {n: v - old[n] for n, v in device.values if n in RESET_COUNTERS and v > old.get(n, v)}
        if rises:
            yield Finding(
                id="nic-reset",
                severity=Severity.CRITICAL,
                summary=f"{device.device} ({device.driver}) counted resets or their causes just now",
                evidence=tuple(
                    Evidence(
                        name, rise, "events while looking", shell_command(["ethtool", "-S", device.device])
                    )
                    for name, rise in rises.items()
                ),
            )
