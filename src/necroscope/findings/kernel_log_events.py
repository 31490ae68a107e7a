"""Kernel log lines turned into events, by rules that are data (rules/kernel_log.toml)."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from necroscope.model.event import Event
from necroscope.model.finding import Evidence
from necroscope.recording.segment import Segment
from necroscope.sources.kernel_log import KERNEL_LOG, LogLine
from necroscope.sources.nic_queues import NIC_QUEUES

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


@cache
def kernel_log_rules() -> tuple[Rule, ...]:
    """All rules, in the order of the file."""
    tables = tomllib.loads(files("necroscope.findings").joinpath("rules/kernel_log.toml").read_text())
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


def find_events(segment: Segment) -> tuple[Event, ...]:
    """The events in all kernel log lines of a segment, in the order of the log."""
    lines = (line for log in segment.series(KERNEL_LOG) for line in log.value.lines)
    events = [event for line in lines if (event := match_line(line))]
    # Some lines of a driver name the bus address only; others, or the queue map, tell whose it is.
    devices = {queue.bus: queue.device for queue in segment.last(NIC_QUEUES) or ()}
    devices |= {event.bus: event.device for event in events if event.bus and event.device}
    return tuple(replace(event, device=event.device or devices.get(event.bus, "")) for event in events)


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
        from_user_space=line.facility != 0,
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
    by_program = " (written by a program)" if event.from_user_space else ""
    return Evidence(f"{event.rule}{by_program}", event.text, "line", f"kernel log{by_program}")
