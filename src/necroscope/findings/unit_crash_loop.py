"""Services that systemd starts again and again."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.findings.detector import Case, detector
from necroscope.model.finding import Evidence, Finding, Severity
from necroscope.sources.units import UNITS, Unit

RESTARTED_ON_FAILURE_ONLY = frozenset({"on-failure", "on-abnormal", "on-abort", "on-watchdog"})


@detector("unit-crash-loop", needs=(UNITS,), readings_needed=1)
def unit_crash_loop(case: Case) -> Iterator[Finding]:
    """A service keeps failing and being restarted, one finding for each such service.

    Fires when systemd restarted it at least once while we looked and several times in all; or when
    it has restarts behind it and is waiting for the next one, or was started again just now, or was
    given up by systemd (start-limit-hit). A restart that is long over does not count.

    Each start may leave something behind: a container, a mount, a memory cgroup. It does not say
    that this unit leaks, nor that it is not needed; the unit file's origin and whether a vendor
    preset enabled it are given as a lead.

    To do: `journalctl -u UNIT` for the reason. If nothing needs it: `systemctl disable --now UNIT`.
    An override of ExecStart with /bin/true does not end the loop.
    """
    series = case.segment.series(UNITS)
    first = {unit.name: unit for unit in series[0].value}
    for unit in series[-1].value:
        before = first.get(unit.name)
        rise = (unit.restarts or 0) - ((before.restarts if before else unit.restarts) or 0)
        if _is_looping(case, unit, rise):
            yield _finding(case, unit, before, rise)


def _is_looping(case: Case, unit: Unit, rise: int) -> bool:
    if unit.restarts is None:
        return unit.result == "start-limit-hit"
    if unit.restarts < case.limit("unit-crash-loop.restarts"):
        return False
    seconds_since_change = (case.segment.end_ns - unit.state_changed_ns) / 1e9
    return (
        rise > 0
        or unit.sub_state.startswith("auto-restart")
        or unit.active_state == "failed"
        or seconds_since_change < case.limit("unit-crash-loop.recent_seconds")
    )


def _fails(unit: Unit, before: Unit | None) -> bool:
    """Whether its ends are failures: systemd forgets how it ended as soon as it is started again."""
    if unit.restart_policy in RESTARTED_ON_FAILURE_ONLY:
        return True
    readings = [unit, before] if before else [unit]
    return any(one.exit_status or one.result != "success" for one in readings)


def _finding(case: Case, unit: Unit, before: Unit | None, rise: int) -> Finding:
    where = f"systemd, {unit.name}"
    seconds = case.segment.seconds
    evidence = [
        Evidence(
            "restarts", unit.restarts if unit.restarts is not None else "not counted", "restarts", where
        ),
        Evidence("restarts while looking", rise, "restarts", where),
        Evidence("state", f"{unit.active_state} ({unit.sub_state})", "", where),
        Evidence("result", unit.result, "", where),
        Evidence("exit status", unit.exit_status or (before.exit_status if before else 0), "", where),
        Evidence(
            "restart policy", f"{unit.restart_policy} after {unit.restart_delay_seconds:g} s", "", where
        ),
        Evidence("enabled", f"{unit.enabled or 'unknown'} (preset: {unit.preset or 'unknown'})", "", where),
        Evidence("unit file", unit.file, "", where),
    ]
    if rise and seconds:
        evidence.insert(2, Evidence("restart rate", round(rise / seconds * 60, 2), "restarts/min", where))
    loop = "is crash-looping" if _fails(unit, before) else "is restarted again and again"
    now = f", {rise} of them in the last {seconds:.0f} s" if rise else ""
    return Finding(
        id="unit-crash-loop",
        severity=Severity.WARNING,
        summary=f"{unit.name} {loop}: {unit.restarts or 'many'} restarts{now}",
        evidence=tuple(evidence),
        advice=(
            f"see why: journalctl -u {unit.name} -n 50",
            f"if nothing on this node needs it: systemctl disable --now {unit.name}",
        ),
    )
