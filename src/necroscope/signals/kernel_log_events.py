"""Kernel log lines turned into events, by rules that are data (rules/kernel_log.toml).

Any program that may write to /dev/kmsg can write such a line. It is no evidence, unless whoever reads the log
trusts programs, or the rule is of a line that programs are meant to write (a mark).
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

from necroscope.model.event import Event
from necroscope.model.finding import Evidence
from necroscope.sources.kernel_log import KERNEL_LOG, KernelLog, LogLine
from necroscope.sources.nic_queues import NIC_QUEUES
from necroscope.sources.nic_timeouts import NIC_TIMEOUTS
from necroscope.store.segment import Moment, Segment

# dev_printk and netdev_printk: driver, bus address, interface, its state, then the message.
PREFIX = re.compile(
    r"^(?P<driver>[A-Za-z0-9][\w.-]*) "
    r"(?P<bus>"
    r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"  # PCI
    r"|\d+-\d+(?:\.\d+)*(?::\d+\.\d+)?"  # USB
    r"|[0-9a-f]+\.[a-z][\w-]*"  # platform devices
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # Hyper-V
    r"|[a-z][\w.-]*\d"  # virtio2, vif-0, mlx5_core.sf.4
    r")"
    r"(?: (?P<device>[^\s:()]+))?(?: \([^)]*\))*: (?P<message>(?s:.*))$"
)
MOST_DIGITS = 18
SECONDS_PER = {"stall_us": 1e-6, "stall_ms": 1e-3, "stall_s": 1.0}


@dataclass(frozen=True, slots=True)
class Rule:
    """One kernel message we understand."""

    id: str
    event: str
    means: str
    pattern: re.Pattern[str]
    drivers: frozenset[str]
    phase: str
    cause: str  # device, network, planned; empty: not said, a starved core among others
    since: str
    starved: bool  # the line itself says that the core did not run the queue's NAPI
    by_programs: bool  # programs are meant to write it


@cache
def kernel_log_rules() -> tuple[Rule, ...]:
    """All rules, in the order of the file."""
    tables = tomllib.loads(files("necroscope.signals").joinpath("rules/kernel_log.toml").read_text())
    return tuple(
        Rule(
            id=name,
            event=row["event"],
            means=row["means"],
            pattern=re.compile(row["pattern"]),
            drivers=frozenset(row.get("drivers", ())),
            phase=row.get("phase", ""),
            cause=row.get("cause", ""),
            since=row.get("since", ""),
            starved=row.get("starved", False),
            by_programs=row.get("by_programs", False),
        )
        for name, row in tables.items()
    )


def rule_of(event: Event) -> Rule:
    """The rule that recognised an event."""
    return next(rule for rule in kernel_log_rules() if rule.id == event.rule)


@cache
def _rules_for(driver: str) -> tuple[Rule, ...]:
    """The rules that a line of this driver can match; most lines have few to try."""
    return tuple(rule for rule in kernel_log_rules() if not rule.drivers or driver in rule.drivers)


@dataclass(frozen=True, slots=True)
class FoundInLog:
    """What kernel log lines stand for, in the order of the log."""

    events: tuple[Event, ...] = ()
    userspace_lines: tuple[Event, ...] = ()  # what lines of programs say, which nobody trusts


def find_in_log(segment: Segment) -> FoundInLog:
    """Return the events in all kernel log lines of a segment, and what programs wrote beside them."""
    nics = KnownNics()
    for moment in segment.moments:
        nics.learn(moment)
    logs = [log.value for log in segment.series(KERNEL_LOG)]
    found = [match_lines(log, log.lines) for log in logs]
    events = [event for one in found for event in one.events]
    for event in events:
        nics.learn_line(event)
    return FoundInLog(
        tuple(map(nics.named, events)), tuple(event for one in found for event in one.userspace_lines)
    )


def match_lines(log: KernelLog, lines: Iterable[LogLine]) -> FoundInLog:
    """Return what some lines of a reading stand for, those that are no evidence apart."""
    events: list[Event] = []
    userspace_lines: list[Event] = []
    for line in lines:
        if event := match_line(line):
            is_evidence = log.trusts_programs or not line.is_by_program or rule_of(event).by_programs
            (events if is_evidence else userspace_lines).append(event)
    return FoundInLog(tuple(events), tuple(userspace_lines))


@dataclass(slots=True)
class KnownNics:
    """Which network device has which bus address and which driver, as far as anything has told."""

    _devices: dict[str, str] = field(default_factory=dict)  # by bus address
    _drivers: dict[str, str] = field(default_factory=dict)  # by device and by bus address

    def learn(self, moment: Moment) -> None:
        """Take what sysfs says now."""
        queues, timeouts = moment.value(NIC_QUEUES) or (), moment.value(NIC_TIMEOUTS) or ()
        for queue in queues:
            self._devices[queue.bus] = queue.device
            self._drivers[queue.bus] = self._drivers[queue.device] = queue.driver
        for row in timeouts:
            self._drivers[row.device] = row.driver

    def learn_line(self, event: Event) -> None:
        """Take what a line says: some lines of a driver name the device, others its bus address only."""
        if event.bus and event.device:
            self._devices[event.bus] = event.device

    def named(self, event: Event) -> Event:
        """Return the event with its device, and with the device's driver if the line names another."""
        device = event.device or self._devices.get(event.bus, "")
        own = [driver for name in (device, event.bus) if (driver := self._drivers.get(name))]
        is_foreign = bool(event.driver and own) and event.driver not in own
        return replace(event, device=device, device_driver=own[0] if is_foreign else "")


def match_line(line: LogLine) -> Event | None:
    """The event that a line stands for; None for an ordinary line."""
    prefix = split_prefix(line.text)
    for rule in _rules_for(prefix["driver"]):
        if groups := match_rule(rule, prefix):
            return _event(line, rule, groups)
    return None


def split_prefix(text: str) -> dict[str, str]:
    """The driver, bus address and interface that a line begins with, and the message behind them."""
    match = PREFIX.match(text)
    return {k: v or "" for k, v in match.groupdict().items()} if match else {"driver": "", "message": text}


def match_rule(rule: Rule, prefix: Mapping[str, str]) -> dict[str, str] | None:
    """What a rule reads from a line, or None; what the message says wins over the prefix."""
    if rule.drivers and prefix["driver"] not in rule.drivers:
        return None
    match = rule.pattern.search(prefix["message"])
    if not match:
        return None
    return {**prefix, **{name: text for name, text in match.groupdict().items() if text is not None}}


def _event(line: LogLine, rule: Rule, groups: Mapping[str, str]) -> Event:
    stalls = [float(groups[name]) * unit for name, unit in SECONDS_PER.items() if groups.get(name)]
    napi = groups.get("napi_scheduled")
    return Event(
        kind=rule.event,
        time_ns=line.time_ns,
        rule=rule.id,
        text=line.text,
        sequence=line.sequence,
        from_user_space=line.is_by_program,
        phase=rule.phase,
        bus=groups.get("bus", ""),
        device=groups.get("device", ""),
        driver=groups["driver"],
        queue=_number(groups.get("queue")),
        core=_number(groups.get("core")),
        process=groups.get("comm", ""),
        reason=groups.get("reason", ""),
        pid=_number(groups.get("pid")),
        # A program may write any number to the log.
        stall_seconds=stalls[0] if stalls and math.isfinite(stalls[0]) else None,
        napi_scheduled=None if napi is None else napi not in ("0", "false"),
    )


def _number(text: str | None) -> int | None:
    return None if text is None or len(text) > MOST_DIGITS else int(text)


def line_evidence(event: Event) -> Evidence:
    """The line behind an event; one that a program wrote is marked as such."""
    doubt = " (written by a program)" if event.from_user_space else ""
    return Evidence(f"{event.rule}{doubt}", event.text, "line", f"kernel log{doubt}")


def line_doubts(event: Event) -> str:
    """Return what speaks against a line, to be put behind it; empty if nothing does."""
    doubts = ["written by a program"] if event.from_user_space else []
    if event.device_driver:
        doubts.append(f"the driver of {event.device or event.bus} is {event.device_driver}")
    return f" ({'; '.join(doubts)})" if doubts else ""
