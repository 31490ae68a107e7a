"""Units in full: what keeps each, what it runs and needs, and how it fares.

Reads    org.freedesktop.systemd1 over D-Bus: the system bus, else /run/systemd/private
Needs    systemd 230 or newer (235 for restart counts) as the host's first process
Costs    about 4 ms per service and 2 ms per other unit (measured with 150 services; 0.5 ms of it is
         systemd's own time, where asking for all properties at once would be 1.7 ms)

Only what systemd has loaded is told, under its own name and not under an alias. Nothing is loaded by
asking. Of other units than services, those without a file are left out: mounts and swaps that systemd
saw in the kernel, of which a node has thousands.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from necroscope.model.reading import Reading
from necroscope.sources.ask_systemd import ask_systemd
from necroscope.sources.host import Host

if TYPE_CHECKING:
    from necroscope.sources.systemd_bus import SystemdBus

KINDS = ("Service", "Socket", "Timer", "Path", "Mount", "Automount", "Swap", "Target")  # D-Bus interfaces

OF_UNIT = (
    *("RequiredBy", "RequisiteOf", "BoundBy", "WantedBy", "UpheldBy", "TriggeredBy"),
    *("Requires", "Requisite", "BindsTo", "Wants", "After"),
    *("Conditions", "Asserts", "DropInPaths"),
)
OF_KIND = {
    "Service": (
        *("Type", "Result", "ExecMainStatus", "NRestarts", "MainPID", "Environment", "EnvironmentFiles"),
        *("ExecStart", "ControlGroup", "CPUUsageNSec", "MemoryCurrent", "TasksCurrent"),
    ),
    "Socket": ("Result", "ControlGroup"),
    "Mount": ("Result", "ControlGroup"),
    "Swap": ("Result", "ControlGroup"),
    "Timer": ("Result",),
    "Path": ("Result",),
    "Automount": ("Result",),
    "Target": (),
}
NOT_COUNTED = 2**64 - 1
FAILED = -1  # of a condition; 0 is not looked at


@dataclass(frozen=True, slots=True)
class UnitDetail:
    """One unit as systemd has it. What does not apply to its kind is empty, 0 or None."""

    name: str
    description: str
    load_state: str
    active_state: str
    sub_state: str
    type: str  # of a service: simple, oneshot, ...
    result: str
    exit_status: int
    restarts: int | None  # None: this systemd does not count them
    main_pid: int | None
    control_group: str  # empty while it has none
    cpu_ns: int | None  # None where it is not accounted
    memory_bytes: int | None
    tasks: int | None
    needed_by: tuple[str, ...]  # these stop or fail without it
    wanted_by: tuple[str, ...]  # these start it along, or on their event
    needs: tuple[str, ...]
    wants: tuple[str, ...]
    after: tuple[str, ...]
    environment: tuple[str, ...]  # NAME=value, without those of the files
    environment_files: tuple[str, ...]  # with a "-" before those that need not exist
    commands: tuple[str, ...]  # of ExecStart=; words with blanks are quoted
    condition: str  # ConditionPathExists=/etc/ecs/ecs.config: what kept it from starting the last time
    file: str
    drop_ins: tuple[str, ...]


def read_unit_details(host: Host, names: Collection[str] | None = None) -> Reading[tuple[UnitDetail, ...]]:
    """All loaded units with a file, and all loaded services; or of these only the named."""
    return ask_systemd(host, lambda bus: tuple(_read(bus, names)))


def _read(bus: SystemdBus, names: Collection[str] | None) -> Iterator[UnitDetail]:
    patterns = [f"*.{kind.lower()}" for kind in KINDS]
    # Filtered here: as patterns, the names with a backslash would match nothing.
    (listed,) = bus.call("ListUnitsByPatterns", "asas", ([], patterns))
    rows = [row for row in listed if _is_there(row) and (names is None or row[0] in names)]
    files = bus.properties([(row[6], "Unit", "FragmentPath") for row in rows])
    kept = [(row, file) for row, file in zip(rows, files, strict=True) if file or _kind(row) == "Service"]
    wanted = [(row[6], *question) for row, _ in kept for question in _questions(_kind(row))]
    values = iter(bus.properties(wanted))
    for row, file in kept:
        yield _detail(row, file or "", {name: next(values) for _, name in _questions(_kind(row))})


def _is_there(row: Any) -> bool:
    """Not just a name in another unit's file."""
    return bool(row[2] != "not-found" or row[3] != "inactive")


def _kind(row: Any) -> str:
    return str(row[0]).rpartition(".")[2].capitalize()


def _questions(kind: str) -> list[tuple[str, str]]:
    return [*(("Unit", name) for name in OF_UNIT), *((kind, name) for name in OF_KIND[kind])]


def _detail(row: Any, file: str, values: Mapping[str, Any]) -> UnitDetail:
    def listed(*names: str) -> tuple[str, ...]:
        return tuple(sorted({unit for name in names for unit in values[name] or ()}))

    return UnitDetail(
        name=row[0],
        description=row[1],
        load_state=row[2],
        active_state=row[3],
        sub_state=row[4],
        type=values.get("Type") or "",
        result=values.get("Result") or "",
        exit_status=values.get("ExecMainStatus") or 0,
        restarts=values.get("NRestarts"),
        main_pid=values.get("MainPID") or None,
        control_group=values.get("ControlGroup") or "",
        cpu_ns=_counted(values.get("CPUUsageNSec")),
        memory_bytes=_counted(values.get("MemoryCurrent")),
        tasks=_counted(values.get("TasksCurrent")),
        needed_by=listed("RequiredBy", "RequisiteOf", "BoundBy"),
        wanted_by=listed("WantedBy", "UpheldBy", "TriggeredBy"),
        needs=listed("Requires", "Requisite", "BindsTo"),
        wants=listed("Wants"),
        after=listed("After"),
        environment=tuple(values.get("Environment") or ()),
        environment_files=tuple(
            f"-{path}" if may_lack else path for path, may_lack in values.get("EnvironmentFiles") or ()
        ),
        commands=tuple(_command(*command[:2]) for command in values.get("ExecStart") or ()),
        condition=_failed(values["Conditions"] or ()) or _failed(values["Asserts"] or ()),
        file=file,
        drop_ins=tuple(values["DropInPaths"] or ()),
    )


def _counted(value: int | None) -> int | None:
    return None if value == NOT_COUNTED else value


def _command(program: str, words: Iterable[str]) -> str:
    """The program, not the name it is told to have, and its words as they would be written."""
    quoted = (shlex.quote(word) if not word or set(word) & set(" \t\n'\"\\;") else word for word in words)
    return " ".join([program, *list(quoted)[1:]])


def _failed(conditions: Collection[tuple[str, bool, bool, str, int]]) -> str:
    """The first condition that failed; of those with a "|", one must hold: all, where none did."""
    triggers = []
    for kind, is_trigger, is_negated, parameter, result in conditions:
        text = f"{kind}={'|' * is_trigger}{'!' * is_negated}{parameter}"
        if is_trigger:
            triggers.append((text, result))
        elif result == FAILED:
            return text
    if all(result == FAILED for _, result in triggers):
        return ", ".join(text for text, _ in triggers)
    return ""
