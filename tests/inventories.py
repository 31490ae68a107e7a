"""Inventories for tests: an ordinary unit, changed where a test says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from necroscope.model.inventory import Agent, AuditedUnit, Inventory, Need, Origin, Running

UP = Running(
    active_state="active",
    sub_state="running",
    result="success",
    exit_status=0,
    restarts=0,
    restarts_per_minute=0.0,
    cpu_ratio=0.0,
    memory_bytes=1 << 20,
    cgroups_made=0,
    cgroups_leaked=0,
    serves=(),
    calls=(),
    condition="",
    is_looping=False,
    is_failing=False,
)
LOOPING = replace(
    UP,
    active_state="activating",
    sub_state="auto-restart",
    result="exit-code",
    exit_status=1,
    restarts=900,
    restarts_per_minute=6.0,
    is_looping=True,
    is_failing=True,
)
FAILED = replace(UP, active_state="failed", sub_state="failed", result="exit-code", exit_status=1)
STOPPED = replace(UP, active_state="inactive", sub_state="dead", memory_bytes=None)

RULE = "/usr/lib/systemd/system-preset/90-vendor.preset: enable agent.service"
UNIT = AuditedUnit(
    name="agent.service",
    description="An agent",
    file="/usr/lib/systemd/system/agent.service",
    origin=Origin.PACKAGE,
    package="agent",
    state="enabled",
    preset="enabled",
    preset_rule=RULE,
    enabled_by=("/etc/systemd/system/multi-user.target.wants/agent.service",),
    drop_ins=(),
    needed_by=(),
    wanted_by=("multi-user.target",),
    obstacles=(),
    conditions=(),
    agent=None,
    running=UP,
)


def unit(**changes: Any) -> AuditedUnit:
    """A unit that is enabled by a vendor's preset, and well."""
    return replace(UNIT, **changes)


def agent(*met: bool | None) -> Agent:
    """A known agent, each of whose needs is met, not met, or unknown."""
    needs = tuple(
        Need(f"a thing {number}", one, f"/etc/agent/{number}") for number, one in enumerate(met, start=1)
    )
    return Agent(
        "some-agent", "an agent of tests", "its program agentd", needs, "it exits with 1", False, ("stop it",)
    )


def inventory(*units: AuditedUnit, is_live: bool = True) -> Inventory:
    """Units of a running machine, or of an image."""
    rows = units if is_live else [replace(one, running=None) for one in units]
    return Inventory(is_live, 5.0 if is_live else 0.0, tuple(rows), ())
