"""What is worth saying about a unit that a finding names, whichever finding it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from necroscope.model.finding import Evidence
from necroscope.model.inventory import AuditedUnit, Origin, Running

ENABLED = frozenset({"enabled", "enabled-runtime"})
# Reached at every boot of a machine that serves: what these want is started.
BOOT_TARGETS = frozenset(
    f"{name}.target"
    for name in ("default", "multi-user", "graphical", "basic", "sysinit", "sockets", "timers", "paths")
)
VENDOR = frozenset({Origin.PACKAGE, Origin.IMAGE})


def is_enabled(unit: AuditedUnit) -> bool:
    """Whether somebody decided that it is started; a generated unit by what it was generated from."""
    return unit.state in ENABLED or (unit.state == "generated" and bool(unit.wanted_by or unit.needed_by))


def starters(unit: AuditedUnit, units: Mapping[str, AuditedUnit]) -> tuple[str, ...]:
    """What starts it at every boot or by and by: itself where it is enabled, else enabled units that want it.

    A unit without an [Install] section cannot be enabled, and is started by a timer, a socket or a target.
    """
    if is_enabled(unit):
        return (unit.name,)
    if unit.state != "static":
        return ()
    wanting = (*unit.wanted_by, *unit.needed_by)
    return tuple(
        name for name in wanting if name in BOOT_TARGETS or (name in units and is_enabled(units[name]))
    )


def is_default(unit: AuditedUnit, units: Mapping[str, AuditedUnit]) -> bool:
    """Whether it is started because a vendor said so, and not by a decision made on this machine.

    Where no preset file has a rule for a unit, systemd enables it: that is a default only if somebody else
    brought the unit here.
    """
    if is_enabled(unit):
        return unit.preset == "enabled" and (bool(unit.preset_rule) or unit.origin in VENDOR)
    by = starters(unit, units)
    return any(name in BOOT_TARGETS and unit.origin in VENDOR for name in by) or any(
        is_default(units[name], units) for name in by if name in units and name not in BOOT_TARGETS
    )


def clients_of(running: Running) -> tuple[str, ...]:
    """Who is connected to any of its sockets."""
    return tuple(dict.fromkeys(client for one in running.serves or () for client in one.clients))


def for_image(step: str) -> str:
    """Advice for a running machine as it has to be for an image: as it stands it would act on the builder."""
    return step.replace("systemctl disable --now ", "systemctl --root=IMAGE disable ").replace(
        "systemctl mask ", "systemctl --root=IMAGE mask "
    )


def unit_evidence(unit: AuditedUnit) -> Iterator[Evidence]:
    """Where it comes from, what it does and who has a use for it."""
    where = unit.file or "unit files"
    owner = f"{unit.origin.value} {unit.package}".strip()
    yield Evidence("origin", owner, "", where)
    preset = unit.preset_rule or ("no rule, and then systemd enables" if unit.preset else "none")
    yield Evidence("enabled", f"{unit.state} (preset: {preset})", "", ", ".join(unit.enabled_by) or where)
    for obstacle in unit.obstacles:
        yield Evidence("cannot work", obstacle, "", where)
    yield Evidence("needed by", ", ".join(unit.needed_by) or "no unit", "", "unit files and systemd")
    if unit.running:
        yield from _behaviour(unit.name, unit.running)


def _behaviour(name: str, running: Running) -> Iterator[Evidence]:
    where = f"systemd, {name}"
    yield Evidence("state", f"{running.active_state} ({running.sub_state})", "", where)
    if running.result not in ("", "success"):
        yield Evidence("result", f"{running.result}, exit status {running.exit_status}", "", where)
    if running.restarts:
        yield Evidence("restarts", running.restarts, "restarts", where)
    if running.restarts_per_minute:
        yield Evidence("restart rate", round(running.restarts_per_minute, 2), "restarts/min", where)
    if running.cgroups_made:
        yield Evidence("memory cgroups made", running.cgroups_made, "cgroups", "cgroup ledger")
    if running.cgroups_leaked:
        yield Evidence("memory cgroups leaked", running.cgroups_leaked, "cgroups", "cgroup ledger")
    if running.serves is None:
        yield Evidence("serves", "not known", "", "sockets of its processes")
    else:
        yield Evidence("serves", ", ".join(clients_of(running)) or "nobody", "", "sockets of its processes")
