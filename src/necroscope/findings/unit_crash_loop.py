"""Services that systemd starts again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from necroscope.findings.detector import Case, detector
from necroscope.model.advice import Advice, fix_command, journal_command
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.model.remedy_ids import DISABLE_UNIT, LIMIT_CRASH_LOOP
from necroscope.signals.unit_restarts import count_restarts
from necroscope.sources.units import UNITS, Unit, Units

RESTARTED_ON_FAILURE_ONLY = frozenset({"on-failure", "on-abnormal", "on-abort", "on-watchdog"})


@detector("unit-crash-loop", needs=(UNITS,), readings_needed=1)
def unit_crash_loop(case: Case) -> Iterator[Finding]:
    """A service keeps failing and being restarted, one finding for each such service.

    Fires when systemd restarted it at least once while we looked and several times in all; or when
    it has restarts behind it and is waiting for the next one, or was started again just now, or was
    given up by systemd (start-limit-hit). Info only, if it has been up since, for longer than we looked
    and than a few of its restart delays. A restart that is long over does not count.

    Each start may leave something behind: a container, a mount, a memory cgroup. It does not say
    that this unit leaks, nor that it is not needed; the unit file's origin and whether a vendor
    preset enabled it are given as a lead.

    To do: `journalctl -u UNIT` for the reason. If nothing needs it: `necroscope fix disable-unit UNIT`;
    if it has to stay: `necroscope fix limit-crash-loop UNIT`. An override of ExecStart with /bin/true does
    not end the loop.
    """
    series = [timed.value for timed in case.segment.series(UNITS)]
    rises = count_restarts(case.segment)
    for unit in series[-1]:
        rise = rises.get(unit.name, 0)
        if severity := _severity(case, unit, rise):
            yield _finding(case, series, unit, rise, severity)


def ends_in_failure(series: Sequence[Units], name: str) -> bool:
    """Whether its ends are failures: systemd forgets how it ended as soon as it is started again."""
    readings = [unit for units in series for unit in units if unit.name == name]
    return any(
        unit.restart_policy in RESTARTED_ON_FAILURE_ONLY or unit.exit_status or unit.result != "success"
        for unit in readings
    )


def _severity(case: Case, unit: Unit, rise: int) -> Severity | None:
    if unit.restarts is None:
        return Severity.WARNING if unit.result == "start-limit-hit" else None
    if unit.restarts < case.limit("unit-crash-loop.restarts") and rise < case.limit(
        "unit-crash-loop.restarts"
    ):
        return None
    if rise > 0 or unit.sub_state.startswith("auto-restart") or unit.active_state == "failed":
        return Severity.WARNING
    seconds_up = _seconds_up(case, unit)
    delays = case.limit("unit-crash-loop.settled_delays") * (unit.restart_delay_seconds + 1)
    if seconds_up < max(delays, case.segment.seconds):
        return Severity.WARNING
    return Severity.INFO if seconds_up < case.limit("unit-crash-loop.recent_seconds") else None


def _finding(case: Case, series: Sequence[Units], unit: Unit, rise: int, severity: Severity) -> Finding:
    where = f"systemd, {unit.name}"
    seconds = case.segment.seconds
    statuses = [one.exit_status for units in series for one in units if one.name == unit.name]
    restarts = unit.restarts if unit.restarts is not None else "not counted"
    evidence = [
        Evidence("restarts", restarts, "restarts", where),
        Evidence("restarts while looking", rise, "restarts", where),
        Evidence("state", f"{unit.active_state} ({unit.sub_state})", "", where),
        Evidence("result", unit.result, "", where),
        Evidence("exit status", next(filter(None, reversed(statuses)), 0), "", where),
        Evidence(
            "restart policy", f"{unit.restart_policy} after {unit.restart_delay_seconds:g} s", "", where
        ),
        Evidence("enabled", f"{unit.enabled or 'unknown'} (preset: {unit.preset or 'unknown'})", "", where),
        Evidence("unit file", unit.file, "", where),
    ]
    if rise and seconds:
        evidence.insert(2, Evidence("restart rate", round(rise / seconds * 60, 2), "restarts/min", where))
    loops = severity is Severity.WARNING
    how = _looping(case, series, unit, rise) if loops else _settled(case, unit)
    return Finding(
        id="unit-crash-loop",
        severity=severity,
        summary=f"{unit.name} {how}",
        evidence=tuple(evidence),
        advice=(
            Advice("see why", journal_command(unit.name)),
            Advice("if nothing on this node needs it", fix_command(DISABLE_UNIT, unit.name)),
            Advice("if it has to stay", fix_command(LIMIT_CRASH_LOOP, unit.name)),
        ),
        subject=unit.name,
        remedy=LIMIT_CRASH_LOOP,
    )


def _looping(case: Case, series: Sequence[Units], unit: Unit, rise: int) -> str:
    loop = "is crash-looping" if ends_in_failure(series, unit.name) else "is restarted again and again"
    now = f", {rise} of them in the last {case.segment.seconds:.0f} s" if rise else ""
    return f"{loop}: {unit.restarts or 'many'} restarts{now}"


def _settled(case: Case, unit: Unit) -> str:
    seconds_up = _seconds_up(case, unit)
    return f"was restarted {unit.restarts} times, and has been up for {seconds_up:.0f} s since"


def _seconds_up(case: Case, unit: Unit) -> float:
    return (case.segment.end_ns - unit.state_changed_ns) / 1e9
