"""Steps that set a host up at boot: which succeeded, which failed, and what each is about.

Reads    unit files of services that run once; systemd over D-Bus; the scripts that they run;
         /run/cloud-init, /var/lib/cloud/data, /var/lib/cloud/instance/sem
Needs    the right to read the scripts
Costs    one read per script: 1.4 ms with one step

`NAME/names` are the units and files that a step mentions. That says what it is about, not that it would have
changed them. Of logs and of user data nothing is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Set
from typing import Any

from necroscope.inventory.redaction.redact import read_openly, redact_text
from necroscope.inventory.sections.flat import parse_json
from necroscope.inventory.sections.gathered import Facts, Gathered
from necroscope.inventory.sections.subject import Subject
from necroscope.inventory.sections.unit_runs import Demand, failed_condition, is_looping
from necroscope.inventory.sections.unit_times import UnitTimes
from necroscope.model.reading import Absence, Reading
from necroscope.sources.failed_steps import failure_words
from necroscope.sources.host import Host
from necroscope.sources.script_files import (
    LARGEST_SCRIPT_BYTES,
    parse_names,
    parse_scripts,
    parse_sourced,
)
from necroscope.sources.systemd.unit_details import UnitDetail
from necroscope.sources.systemd.unit_files import UnitFile

MOST_NAMES = 200
COMMANDS = ("Service.ExecStartPre", "Service.ExecStart", "Service.ExecStartPost")
WORD = re.compile(r"(?<![\w./@-])[a-z][\w@-]{2,}(?![\w@-])")
STAGES = ("init-local", "init", "modules-config", "modules-final")


def read_bootstrap(subject: Subject) -> Reading[Facts]:
    """NAME = how the step ended; NAME/names; cloud-init/STAGE and its modules."""
    gathered = Gathered()
    _add_cloud_init(subject.host, gathered)
    details = subject.unit_details
    enabled = {unit.name for unit in subject.lasting_units if unit.state.startswith("enabled")}
    # Not the enabled ones only: what a step mentions must not change with what it does.
    services = {unit.name for unit in subject.lasting_units if unit.state.startswith(("enabled", "disabled"))}
    steps = [unit for unit in subject.lasting_units if is_step(unit, enabled)]
    if steps and details.value is None:
        gathered.say(f"how the steps ended: {details.detail or details.reason}")
    for unit in steps:
        if details.value is not None:
            detail, times = details.value.get(unit.name), subject.times.get(unit.name)
            demand, condition = subject.demand[unit.name], failed_condition(subject.host, unit)
            gathered.add(unit.name, outcome(detail, times, demand, condition))
        names = names_of(subject.host, unit, services, gathered)
        gathered.add_known(f"{unit.name}/names", " ".join(names))
    return gathered.reading(subject.why_nothing)


def is_step(unit: UnitFile, enabled: Set[str]) -> bool:
    """A service that runs once, is enabled or started along by one that is, and is not systemd's own."""
    starters = [name for name in (*unit.wanted_by, *unit.needed_by) if name.endswith(".service")]
    return (
        unit.name.endswith(".service")
        and (unit.name in enabled or (unit.state == "static" and not enabled.isdisjoint(starters)))
        and not unit.name.startswith("systemd-")
        and unit.settings.get("Service.Type", ("",))[-1] == "oneshot"
    )


def outcome(detail: UnitDetail | None, times: UnitTimes | None, demand: Demand, condition: str) -> str:
    """succeeded, failed (...), running, not run, repeated; `condition` keeps systemd from starting it.

    While a step runs again, nobody knows how it ended before: what a timer repeats is only told to be so.
    """
    not_run = f"not run ({condition})" if condition else "not run"
    if detail is None:
        return not_run
    if demand is not Demand.NONE and detail.active_state != "active":
        return "repeated"
    if is_looping(detail, times):  # the exit code is there now and gone again
        return "failed (again and again)"
    if detail.active_state == "failed" or detail.result not in ("", "success", "exec-condition"):
        return f"failed ({failure_words(detail.result, detail.exit_status)})"
    if detail.active_state == "inactive" and not (times and times.has_begun):
        return not_run
    return "succeeded" if detail.active_state in ("active", "inactive") else "running"


def names_of(host: Host, unit: UnitFile, services: Collection[str], gathered: Gathered) -> list[str]:
    """What a step mentions: in its command lines, in the scripts that these name and in what they include.

    A service that can be enabled counts also by its bare name, as in `for unit in ecs docker`.
    """
    commands = "\n".join(line for setting in COMMANDS for line in unit.settings.get(setting, ()))
    texts = [commands]
    for place in parse_scripts(commands):
        script = _script(host, place, gathered)
        texts += [script, *(_script(host, part, gathered) for part in parse_sourced(script))]
    text = redact_text("\n".join(texts))
    bare = {f"{word}.service" for word in WORD.findall(text)}
    return sorted(parse_names(text) | (bare & {*services} - {unit.name}))[:MOST_NAMES]


def _script(host: Host, place: str, gathered: Gathered) -> str:
    """The text of a script; empty for a program, and for what is not there."""
    try:
        is_script = host.path(place).is_file() and host.path(place).stat().st_size <= LARGEST_SCRIPT_BYTES
    except OSError:
        return ""
    if not is_script:
        return ""
    text = read_openly(host, place)
    if text.absence is Absence.NOT_PERMITTED:  # what is not text is a program
        gathered.miss(text)
    return text.value or ""


def _add_cloud_init(host: Host, gathered: Gathered) -> None:
    status = read_openly(host, "/run/cloud-init/status.json").parsed(parse_json)
    if status.value is None:
        status = read_openly(host, "/var/lib/cloud/data/status.json").parsed(parse_json)
    gathered.miss(status)
    stages = _table(status.value, "v1")
    for stage in STAGES:
        if stage in stages:
            gathered.add(f"cloud-init/{stage}", _stage_outcome(_table(stages, stage)))
    result = read_openly(host, "/run/cloud-init/result.json").parsed(parse_json)
    if result.value is None:
        result = read_openly(host, "/var/lib/cloud/data/result.json").parsed(parse_json)
    gathered.miss(result)
    found = _table(result.value, "v1")
    if found:
        gathered.add("cloud-init", _failed_with(found.get("errors")) or "succeeded")
        gathered.add_known("cloud-init/datasource", str(found.get("datasource") or "").split(" ")[0])
    for name in host.names("/var/lib/cloud/instance/sem").value or ():
        gathered.add(f"cloud-init/modules/{name.removeprefix('config_')}", "ran")


def _stage_outcome(stage: Mapping[str, Any]) -> str:
    failed = _failed_with(stage.get("errors"))
    if failed:
        return failed
    return "succeeded" if stage.get("finished") else "running" if stage.get("start") else "not run"


def _failed_with(errors: Any) -> str:
    """The number of errors: their text is a log, and may hold anything."""
    if not isinstance(errors, list) or not errors:
        return ""
    return f"failed ({len(errors)} error{'s' if len(errors) > 1 else ''})"


def _table(document: Any, name: str) -> Mapping[str, Any]:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}
