"""What a machine or an image runs: every unit that counts, what is behind it, and what it is good for."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from necroscope.model.examination import NotChecked


class Origin(enum.Enum):
    """Who put a unit file where it is."""

    PACKAGE = "package"  # a package of the distribution or of a vendor owns it
    IMAGE = "image"  # below /usr, and no package owns it: whoever built the image put it there
    LOCAL = "local"  # below /etc or /usr/local, and no package owns it
    GENERATED = "generated"  # made at boot from something else: fstab, an init script
    RUNTIME = "runtime"  # below /run: gone with the next boot
    UNKNOWN = "unknown"  # it cannot be told: no package database could be read


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that an agent needs to be of use, and whether it is there."""

    what: str
    met: bool | None  # None: it cannot be told here
    seen: str  # what was seen and where, or why it cannot be told


@dataclass(frozen=True, slots=True)
class Agent:
    """A program that we know, recognised in a unit."""

    id: str
    what: str
    recognised_by: str  # what gave it away: the unit's name, its program, its package
    needs: tuple[Need, ...]
    fails: str  # how it fails when a need is not met
    idles: bool  # it does nothing then, rather than fail
    removal: tuple[str, ...]  # the safe way to remove it, commands and advice in order


@dataclass(frozen=True, slots=True)
class Served:
    """A socket that a unit listens on, and who is connected to it."""

    address: str  # tcp 127.0.0.1:51678, unix /run/docker.sock
    clients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Running:
    """What the running systemd and the kernel say about a unit; None is not known."""

    active_state: str
    sub_state: str
    result: str
    exit_status: int
    restarts: int | None
    restarts_per_minute: float | None  # while looking
    cpu_ratio: float | None  # of one core, while looking
    memory_bytes: int | None
    cgroups_made: int | None  # while looking, by the ledger
    cgroups_leaked: int | None
    serves: tuple[Served, ...] | None
    calls: tuple[str, ...] | None  # whom it is connected to itself
    condition: str  # the condition that kept systemd from starting it; empty where none did
    is_looping: bool  # ends and is started again and again: what `unit-crash-loop` warns of
    is_failing: bool  # its ends are failures


@dataclass(frozen=True, slots=True)
class AuditedUnit:
    """One unit, from all that could be asked about it."""

    name: str
    description: str
    file: str
    origin: Origin
    package: str  # that owns the file; empty where none does
    state: str  # as `systemctl list-unit-files` says: enabled, disabled, static, masked, ...
    preset: str  # what the vendor's presets say: enabled, disabled; empty where nothing applies
    preset_rule: str  # FILE: LINE that decided
    enabled_by: tuple[str, ...]  # the links on disk
    drop_ins: tuple[str, ...]
    needed_by: tuple[str, ...]  # units that cannot do without it
    wanted_by: tuple[str, ...]  # units that start it along, targets included
    obstacles: tuple[str, ...]  # why it cannot do its job at all, as far as files tell
    conditions: tuple[str, ...]  # that do not hold: systemd skips it, and does not call that a failure
    agent: Agent | None
    running: Running | None  # None in an image


@dataclass(frozen=True, slots=True)
class Inventory:
    """All units of a machine that count, by name, and what could not be looked at."""

    is_live: bool
    seconds: float  # for how long we looked
    units: tuple[AuditedUnit, ...]
    not_checked: tuple[NotChecked, ...]
