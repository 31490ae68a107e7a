"""Look at the units of a machine for some seconds, or at those of an image as they lie there.

The inventory has every unit, from all that can be asked about it.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from necroscope.errors import CannotLookError
from necroscope.findings.agents import recognise
from necroscope.inventory.agent_needs.needs import check_needs
from necroscope.inventory.agent_needs.needs_of_files import Surroundings
from necroscope.inventory.behaviour import AUDIT_SOURCES, JUDGED, Behaviour, see_behaviour
from necroscope.inventory.judge import judge
from necroscope.inventory.policy import Policy
from necroscope.inventory.sections.origin import origin_of
from necroscope.model.examination import NotChecked
from necroscope.model.finding import Finding
from necroscope.model.inventory import Agent, AuditedUnit, Inventory, Running
from necroscope.model.judgement import Judgement
from necroscope.model.reading import Absence, Reading
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.host import Host
from necroscope.sources.packaging.packages import find_owners
from necroscope.sources.systemd.unit_environment import read_environment
from necroscope.sources.systemd.unit_files import UnitFile, read_unit_files
from necroscope.sources.systemd.unit_obstacles import find_obstacles
from necroscope.sources.unit_conditions import failed_conditions
from necroscope.sources.units import open_units
from necroscope.store.sampler import Progress, sample
from necroscope.store.segment import Segment

NO_SYSTEMD = "look where systemd runs; until then the unit files are judged as those of an image"
ALL = ("unit-orphaned-agent", "unit-default-enabled")
NO_DATABASE = "origin is told by place only; dpkg and RPM databases are read where they are there"


@dataclass(frozen=True, slots=True)
class Look:
    """The inventory, the crash loops that were seen, and whether Ctrl-C ended it early."""

    inventory: Inventory
    loops: tuple[Finding, ...] = ()
    interrupted: bool = False


def look_at_units(host: Host, seconds: float, thresholds: Thresholds, progress: Progress) -> Look:
    """The running system where there is one; else the files alone, and why there is no more to see."""
    if not host.is_live:
        return Look(take_inventory(host, None))
    answering = open_units(host)()
    if answering.value is None:
        return _files_only(host, answering.reason)
    segment = sample(host, seconds, progress, AUDIT_SOURCES)
    seen = see_behaviour(host, segment, thresholds)
    if seen.value is None:
        return _files_only(host, seen.reason)
    return Look(take_inventory(host, seen.value), seen.value.loops, segment.interrupted)


def judge_units(
    host: Host, segment: Segment, thresholds: Thresholds, names: Collection[str]
) -> Judgement | None:
    """What is to be said about some units at the end of a look; None where systemd does not answer."""
    seen = see_behaviour(host, segment, thresholds, names)
    if seen.value is None:
        return None
    inventory = take_inventory(host, seen.value, names)
    return judge(inventory, (), Policy(), datetime.date.min)


def _files_only(host: Host, reason: str) -> Look:
    # The /proc that is mounted in an image while it is built is that of the building machine.
    inventory = take_inventory(host.as_image(), None)
    row = NotChecked("units", reason, NO_SYSTEMD, JUDGED)
    return Look(replace(inventory, not_checked=(row, *inventory.not_checked)))


@dataclass(slots=True)
class _Desk:
    """What all units are looked at with."""

    host: Host
    owners: Reading[Mapping[str, str]]
    behaviour: Behaviour | None
    file_states: Mapping[str, str]  # enabled, masked, ...; of units without a file, active and the like
    states: Mapping[str, str]  # active and the like; of units that are not loaded, enabled, masked, ...
    not_checked: list[NotChecked] = field(default_factory=list)


def take_inventory(host: Host, behaviour: Behaviour | None, only: Collection[str] | None = None) -> Inventory:
    """All units, or only some.

    `behaviour` is what was seen of the running ones; None: an image, where nothing runs.
    """
    files = read_unit_files(host)
    if files.value is None:
        raise CannotLookError(
            f"no unit files: {files.reason}",
            hint="run as root" if files.absence is Absence.NOT_PERMITTED else "--root names a whole system",
        )
    chosen = [file for file in files.value if only is None or file.name in only]
    owners = find_owners(host, [file.path for file in chosen])
    on_disk = {file.name: file.state for file in files.value}
    in_memory = behaviour.states() if behaviour else {}
    desk = _Desk(host, owners, behaviour, in_memory | on_disk, on_disk | in_memory)
    if files.detail:
        desk.not_checked.append(NotChecked("unit-files", files.detail, "run as root", ALL))
    if owners.absence is not None:
        desk.not_checked.append(NotChecked("packages", owners.detail or owners.reason, NO_DATABASE, ()))
    if behaviour:
        desk.not_checked += behaviour.not_checked
    units = [_audited(desk, file) for file in chosen]
    units += _without_file(desk, {file.name: file for file in files.value})
    return Inventory(
        is_live=behaviour is not None,
        seconds=behaviour.seconds if behaviour else 0.0,
        units=tuple(sorted(units, key=lambda unit: unit.name)),
        not_checked=_once(desk.not_checked),
    )


def _audited(desk: _Desk, file: UnitFile) -> AuditedUnit:
    package = (desk.owners.value or {}).get(file.path, "")
    running = desk.behaviour.of(file.name) if desk.behaviour else None
    detail = desk.behaviour.details.get(file.name) if desk.behaviour else None
    return AuditedUnit(
        name=file.name,
        description=" ".join(file.settings.get("Unit.Description", ())),
        file=file.path,
        origin=origin_of(file.path, file.state, package, desk.owners),
        package=package,
        state=file.state,
        preset=file.preset,
        preset_rule=file.preset_rule,
        enabled_by=file.enabled_by,
        drop_ins=file.drop_ins,
        needed_by=_both(file.needed_by, detail.needed_by if detail else ()),
        wanted_by=_both(file.wanted_by, detail.wanted_by if detail else ()),
        obstacles=find_obstacles(desk.host, file, desk.file_states),
        conditions=tuple(failed_conditions(desk.host, file.settings)),
        agent=_agent(desk, file, package, running),
        running=running,
    )


def _agent(desk: _Desk, file: UnitFile, package: str, running: Running | None) -> Agent | None:
    commands = tuple(file.settings.get("Service.ExecStart", ()))
    found = recognise(file.name, commands, package, file.settings.get("Service.EnvironmentFile", ()))
    if found is None:
        return None
    rule, recognised_by = found
    environment, unread = read_environment(desk.host, file.settings)
    desk.not_checked += unread
    around = Surroundings(environment, desk.states, running.calls if running else None, commands)
    return Agent(
        id=rule.id,
        what=rule.what,
        recognised_by=recognised_by,
        needs=check_needs(desk.host, rule, around),
        fails=rule.fails,
        idles=rule.idles,
        removal=rule.removal_of(file.name),
    )


def _without_file(desk: _Desk, known: Mapping[str, UnitFile]) -> Iterable[AuditedUnit]:
    """Units that systemd has and no file has the name of: instances, and what was made at run time."""
    for name, detail in desk.behaviour.details.items() if desk.behaviour else ():
        if name in known or not name.endswith(".service") or detail.active_state == "inactive":
            continue
        if template := known.get(_template_of(name)):
            state = template.state if template.state in ("static", "masked") else "disabled"
            yield _audited(desk, replace(template, name=name, state=state, enabled_by=()))
            continue
        yield AuditedUnit(
            name=name,
            description=detail.description,
            file=detail.file,
            origin=origin_of(detail.file, "transient", "", desk.owners),
            package="",
            state="transient" if detail.file.startswith("/run/") else "",
            preset="",
            preset_rule="",
            enabled_by=(),
            drop_ins=detail.drop_ins,
            needed_by=detail.needed_by,
            wanted_by=detail.wanted_by,
            obstacles=(),
            conditions=(),
            agent=None,
            running=desk.behaviour.of(name) if desk.behaviour else None,
        )


def _template_of(name: str) -> str:
    """user@.service of user@0.service; of what is no instance, nothing that there is."""
    return f"{name.partition('@')[0]}@.{name.rpartition('.')[2]}"


def _both(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*one, *other}))


def _once(rows: Iterable[NotChecked]) -> tuple[NotChecked, ...]:
    return tuple(dict.fromkeys(rows))
