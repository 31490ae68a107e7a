"""What the units of a running machine do: seen over some seconds, by systemd, the kernel and the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from necroscope.findings.detector import Case
from necroscope.findings.unit_crash_loop import ends_in_failure, unit_crash_loop
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Finding, Severity
from necroscope.model.inventory import Running, Served
from necroscope.model.reading import Reading
from necroscope.signals.cgroup_leaks import groups_by_owner
from necroscope.signals.thresholds import Thresholds
from necroscope.signals.unit_restarts import count_restarts
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER
from necroscope.sources.host import Host
from necroscope.sources.instance import INSTANCE
from necroscope.sources.processes import PROCESSES, TICKS_PER_SECOND
from necroscope.sources.sockets.unit_sockets import UnitSockets, read_unit_sockets
from necroscope.sources.source import Source
from necroscope.sources.systemd.unit_details import UnitDetail, read_unit_details
from necroscope.sources.units import UNITS
from necroscope.store.segment import Segment

AUDIT_SOURCES: tuple[Source[Any], ...] = (PROCESSES, CGROUP_LEDGER, UNITS, INSTANCE)
RUNNING_SYSTEM = "a host run by systemd; in a container, mount the host's /run and use --root /host"
JUDGED = ("unit-crash-loop", "unit-orphaned-agent", "unit-default-enabled")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """All that was seen of running units, by name."""

    seconds: float
    details: Mapping[str, UnitDetail]
    sockets: UnitSockets | None
    loops: tuple[Finding, ...]  # of `unit-crash-loop`
    restarts: Mapping[str, int]  # while looking
    failing: frozenset[str]  # whose ends are failures
    cpu_ratio: Mapping[str, float]
    cgroups: Mapping[str, tuple[int, int]] | None  # made and leaked; None: there was no ledger
    not_checked: tuple[NotChecked, ...]

    def states(self) -> dict[str, str]:
        """The active state of every loaded unit."""
        return {name: detail.active_state for name, detail in self.details.items()}

    def of(self, name: str) -> Running | None:
        """What is known of one unit; None where systemd has not loaded it."""
        detail = self.details.get(name)
        if detail is None:
            return None
        made, leaked = (None, None) if self.cgroups is None else self.cgroups.get(name, (0, 0))
        rose = self.restarts.get(name)
        return Running(
            active_state=detail.active_state,
            sub_state=detail.sub_state,
            result=detail.result,
            exit_status=detail.exit_status,
            restarts=detail.restarts,
            restarts_per_minute=None if rose is None or not self.seconds else rose * 60 / self.seconds,
            # The time of a process that has ended is its parent's: of one that restarts it is not known.
            cpu_ratio=None if rose or not self.seconds else self.cpu_ratio.get(name, 0.0),
            memory_bytes=detail.memory_bytes,
            cgroups_made=made,
            cgroups_leaked=leaked,
            serves=self._serves(name),
            calls=None if self.sockets is None else self.sockets.calls.get(name),
            condition=detail.condition,
            is_looping=any(loop.subject == name and loop.severity is Severity.WARNING for loop in self.loops),
            is_failing=name in self.failing,
        )

    def _serves(self, name: str) -> tuple[Served, ...] | None:
        """None also where nobody is seen, and the kernel does not tell who sends to it (UDP)."""
        if self.sockets is None:
            return None
        served = self.sockets.serves.get(name)
        is_seen = any(one.clients for one in served or ())
        return None if name in self.sockets.may_have_unseen_clients and not is_seen else served


def see_behaviour(
    host: Host, segment: Segment, thresholds: Thresholds, only: Collection[str] | None = None
) -> Reading[Behaviour]:
    """What all units, or only some, did during a look (`segment`), and whom they are connected to now."""
    details = read_unit_details(host, only)
    if details.value is None:
        return details.without_value()
    named = {detail.name: detail for detail in details.value}
    sockets = read_unit_sockets(host, [name for name in named if name.endswith((".service", ".socket"))])
    case = Case(segment, (), thresholds)
    series = [timed.value for timed in segment.series(UNITS)]
    return Reading(
        Behaviour(
            seconds=segment.seconds,
            details=named,
            sockets=sockets.value,
            loops=tuple(unit_crash_loop.look(case)) if series else (),
            restarts=count_restarts(segment),
            failing=frozenset(name for name in named if ends_in_failure(series, name)),
            cpu_ratio=_cpu_ratio(segment),
            cgroups=_cgroups(segment, named),
            not_checked=tuple(_not_seen(segment, sockets)),
        )
    )


def _cpu_ratio(segment: Segment) -> dict[str, float]:
    """Of one core, by the threads that used most on each core and the children that ended meanwhile."""
    ticks: Counter[str] = Counter()
    for reading in segment.series(PROCESSES)[1:]:
        for task in reading.value.tasks:
            ticks[task.unit] += task.user_ticks + task.system_ticks
        for ended in reading.value.ended:
            ticks[ended.unit] += ended.ticks
    return {unit: count / TICKS_PER_SECOND / max(segment.seconds, 1) for unit, count in ticks.items()}


def _cgroups(segment: Segment, units: Collection[str]) -> dict[str, tuple[int, int]] | None:
    series = segment.series(CGROUP_LEDGER)
    if not series:
        return None
    return {
        owner: (sum(group.made for group in groups), sum(group.zombies for group in groups))
        for owner, groups in groups_by_owner(series[-1].value).items()
        if owner in units
    }


def _not_seen(segment: Segment, sockets: Reading[UnitSockets]) -> list[NotChecked]:
    rows = []
    sources: tuple[Source[Any], ...] = (UNITS, CGROUP_LEDGER)
    for source in sources:
        absent = segment.absence(source)
        if not segment.series(source) and absent and absent.absence:
            affects = ("unit-crash-loop",) if source is UNITS else ()
            rows.append(NotChecked(source.id, absent.reason, source.hint(absent.absence), affects))
    if sockets.value is None or sockets.value.partial:
        reason = sockets.value.partial if sockets.value else sockets.reason
        hint = "run as root, in the network namespace of the host"
        rows.append(NotChecked("unit-sockets", reason, hint, JUDGED[1:]))
    return rows
