"""Bound the restarts of a unit that has to stay enabled."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from necroscope.model import remedy_ids as ids
from necroscope.model.plan import Step
from necroscope.model.shell_command import shell_command
from necroscope.remedies.actions.vital import vital_reasons
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.remedies.plan.remedy import Part, Remedy
from necroscope.remedies.plan.steps import drop_in_path, file_step, only_drop_in
from necroscope.remedies.plan.subject import SubjectUnit, file_assumptions, find_unit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import Settings, systemd_version
from necroscope.sources.systemd.unit_settings import merge, parse_time_span, parse_unit_file, words_of

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
# The first that has a file of a name counts, and drop-ins count after the file itself.
SYSTEM_CONF = ("/etc/systemd/system.conf", "/run/systemd/system.conf", "/usr/lib/systemd/system.conf")
CONF_FOLDERS = tuple(f"{top}/systemd/system.conf.d" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib"))


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


LIMIT_CRASH_LOOP = Remedy(
    ids.LIMIT_CRASH_LOOP, plan_limit_crash_loop, {WRITE_FILE.id: only_drop_in(STEM, ALLOWED)}
)


@dataclass(frozen=True, slots=True)
class RestartSettings:
    """What a service's files and systemd's defaults say, together."""

    policy: str  # Restart=
    longest_delay_seconds: float  # RestartSec=, or RestartMaxDelaySec= where that grows
    interval_seconds: float  # 0: no limit
    burst: int  # 0: no limit
    limit_action: str
    on_failure: tuple[str, ...]


def read_restart_settings(host: Host, unit: SubjectUnit) -> RestartSettings:
    """Return how a unit is restarted; of one without a file, systemd's defaults."""
    own = unit.file.settings if unit.file else {}
    known = {name: values for name, values in own.items() if not name.startswith("Manager.")}
    known |= _manager_settings(host)
    delay = _first(known, parse_time_span, "Service.RestartSec", "Manager.DefaultRestartSec")
    interval = _first(
        known,
        parse_time_span,
        "Unit.StartLimitIntervalSec",
        "Unit.StartLimitInterval",
        "Service.StartLimitInterval",
        "Manager.DefaultStartLimitIntervalSec",
        "Manager.DefaultStartLimitInterval",
    )
    burst = _first(
        known,
        _parse_count,
        "Unit.StartLimitBurst",
        "Service.StartLimitBurst",
        "Manager.DefaultStartLimitBurst",
    )
    longest = _first(known, parse_time_span, "Service.RestartMaxDelaySec")
    delays = [0.1 if delay is None else delay, *([longest] if longest and math.isfinite(longest) else [])]
    return RestartSettings(
        policy=_last(known, "Service.Restart") or "no",
        longest_delay_seconds=max(delays),
        interval_seconds=10.0 if interval is None else interval,
        burst=5 if burst is None else int(burst),
        limit_action=_last(known, "Unit.StartLimitAction") or _last(known, "Service.StartLimitAction"),
        on_failure=words_of(known.get("Unit.OnFailure", ())),
    )


def _manager_settings(host: Host) -> Settings:
    """What system.conf and its drop-ins say."""
    files: dict[str, str] = {}
    for folder in CONF_FOLDERS:
        for name in host.names(folder).value or ():
            files.setdefault(name, f"{folder}/{name}")
    main = next((text for path in SYSTEM_CONF if (text := _text(host, path)) is not None), "")
    texts = [main, *(_text(host, files[name]) or "" for name in sorted(files) if name.endswith(".conf"))]
    parsed = []
    for text in texts:
        try:
            parsed.append(parse_unit_file(text))
        except ValueError:
            continue  # systemd too goes on without it
    return merge(parsed)


def _text(host: Host, path: str) -> str | None:
    return host.read_regular(path, "replace").value


def _last(settings: Settings, name: str) -> str:
    return settings.get(name, ("",))[-1]


def _first(settings: Settings, parse: Callable[[str], float], *names: str) -> float | None:
    """Return the first of these settings that is there and can be read."""
    for name in names:
        with suppress(ValueError):
            return parse(_last(settings, name))
    return None


def _parse_count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text} is not a count")
    return int(text)
