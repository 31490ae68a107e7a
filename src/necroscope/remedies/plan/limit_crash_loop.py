"""Bound the restarts of a unit that has to stay enabled."""

from __future__ import annotations

import math
import re

from necroscope.model import remedy_ids as ids
from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.model.shell_command import shell_command
from necroscope.remedies.actions.vital import vital_reasons
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.remedies.plan.assumptions import file_assumptions
from necroscope.remedies.plan.drop_ins import drop_in_path, is_drop_in, why_not_settings
from necroscope.remedies.plan.remedy import Part, Remedy
from necroscope.remedies.plan.restart_settings import RestartSettings, read_restart_settings
from necroscope.remedies.plan.steps import file_step
from necroscope.remedies.plan.subject import SubjectUnit, find_unit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import systemd_version

STARTS = 5  # as many as systemd allows by default, in 10 s
# A crash within a minute of its start counts as part of a loop.
RUN_SECONDS = 60
STEM = "necroscope-limit"
KEYS = ("StartLimitIntervalSec", "StartLimitInterval", "StartLimitBurst", "StartLimitAction")
SPAN, NUMBER = re.compile(r"[0-9a-z. ]*", re.ASCII), re.compile(r"\d*", re.ASCII)
# What such a drop-in may set, ours or one that somebody has adapted.
ALLOWED = {
    "Unit.StartLimitIntervalSec": SPAN,
    "Unit.StartLimitInterval": SPAN,
    "Unit.StartLimitBurst": NUMBER,
    "Unit.StartLimitAction": re.compile(r"none"),
    "Service.StartLimitInterval": SPAN,
    "Service.StartLimitBurst": NUMBER,
}
# Before this release the settings stood in [Service], and the interval had a shorter name.
IN_UNIT_SECTION = 230


def plan_limit_crash_loop(host: Host, subject: str) -> Part:
    """Have systemd give up a service that keeps failing, rather than start it again without an end.

    A drop-in sets StartLimitIntervalSec= and StartLimitBurst= to 5 starts in a time in which 5 restarts fit,
    at the unit's own RestartSec= and with up to a minute of running each. systemd's default of 5 starts in
    10 s is never reached by a unit that waits 10 s before each restart.

    The unit stays enabled. Once the limit is hit it is failed and stays so until the next boot, or until
    somebody says `systemctl reset-failed UNIT` and starts it; until then a start by hand is refused, too.
    Starts count from the daemon-reload on: a loop goes on for 5 more of them. It does not end a loop whose
    runs last longer than a minute, and does not repair what fails. Where the time between restarts may grow
    instead, systemd 254 has RestartSteps= and RestartMaxDelaySec=.
    """
    unit = find_unit(host, subject)
    restarts = read_restart_settings(host, unit)
    if reason := _why_not(unit, restarts):
        assumptions = tuple(file_assumptions(host, unit))
        return Part(assumptions=assumptions, seen=(f"{unit.name} {reason}",), subject=unit.name)
    warnings = [
        f"{name} is started once {unit.name} is given up (OnFailure=)" for name in restarts.on_failure
    ]
    return Part(
        steps=(_step(host, unit, restarts),),
        assumptions=tuple(file_assumptions(host, unit)),
        warnings=tuple(warnings),
        vital=vital_reasons(host, (unit.name,)),  # once it is given up, it is off
        seen=(f"{unit.name}: {_limit(restarts)}",),
        subject=unit.name,
    )


def _why_not(unit: SubjectUnit, restarts: RestartSettings) -> str:
    """Why there is nothing to do, as the end of a sentence; empty where there is."""
    if not unit.name.endswith(".service") or unit.file is None:
        return "is no service with a file of its own, and is not restarted"
    if unit.state.startswith("masked"):
        return "is masked, and is not restarted"
    if restarts.policy == "no":
        return "has Restart=no, and is not restarted"
    if restarts.burst and restarts.interval_seconds >= _interval_seconds(restarts, restarts.burst):
        return f"is given up already when it keeps failing: {_limit(restarts)}"
    return ""


def _interval_seconds(restarts: RestartSettings, starts: int) -> int:
    """Whole minutes in which so many restarts fit, and are over."""
    return math.floor(starts * (restarts.longest_delay_seconds + RUN_SECONDS) / 60 + 1) * 60


def _limit(restarts: RestartSettings) -> str:
    if not restarts.burst or not restarts.interval_seconds:
        return "no limit to its restarts"
    return f"at most {restarts.burst} starts in {restarts.interval_seconds:g} s"


def _step(host: Host, unit: SubjectUnit, restarts: RestartSettings) -> Step:
    interval = _interval_seconds(restarts, STARTS)
    lines = ["[Unit]", f"StartLimitIntervalSec={interval}", f"StartLimitBurst={STARTS}"]
    if restarts.limit_action not in ("", "none"):
        lines.append("StartLimitAction=none")
    version = systemd_version(host)
    if version is None or version < IN_UNIT_SECTION:
        lines += ["[Service]", f"StartLimitInterval={interval}", f"StartLimitBurst={STARTS}"]
    why = (
        f"it is restarted after {restarts.longest_delay_seconds:g} s: {STARTS} restarts with up to"
        f" {RUN_SECONDS} s of running each fit into {interval} s, so that a loop does reach the limit"
        f" (now: {_limit(restarts)})"
    )
    if "StartLimitAction=none" in lines:
        why += f"; its StartLimitAction={restarts.limit_action} would then act on the whole machine"
    risk = (
        f"after {STARTS} failures in that time it is failed and not started again, by nobody, until"
        f" `{shell_command(['systemctl', 'reset-failed'], [unit.name])}`"
    )
    path = drop_in_path(host, unit, STEM, KEYS)
    return file_step(host, path, "\n".join([*lines, ""]), why, risk)


def _why_not_planned(_host: Host, subject: str, step: Step, before: State) -> str:
    if not is_drop_in(step.target, subject, STEM):
        return f"{step.target} is not the drop-in that limits the restarts of {subject}"
    return why_not_settings(step, before, ALLOWED)


LIMIT_CRASH_LOOP = Remedy(ids.LIMIT_CRASH_LOOP, plan_limit_crash_loop, {WRITE_FILE.id: _why_not_planned})
