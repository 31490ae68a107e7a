"""How a service is restarted and when systemd gives it up, by its files."""

from __future__ import annotations

import math
from dataclasses import dataclass

from necroscope.remedies.plan.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_files import Settings
from necroscope.sources.systemd.unit_settings import merge, parse_time_span, parse_unit_file, words_of

# The first that has a file of a name counts, and drop-ins count after the file itself.
SYSTEM_CONF = ("/etc/systemd/system.conf", "/run/systemd/system.conf", "/usr/lib/systemd/system.conf")
CONF_FOLDERS = tuple(f"{top}/systemd/system.conf.d" for top in ("/etc", "/run", "/usr/local/lib", "/usr/lib"))


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
    """Of a unit without a file, what systemd's defaults are."""
    settings = unit.file.settings if unit.file else {}
    defaults = _manager_settings(host)
    delay = _first(_span(settings, "Service.RestartSec"), _span(defaults, "Manager.DefaultRestartSec"))
    interval = _first(
        _span(settings, "Unit.StartLimitIntervalSec"),
        _span(settings, "Unit.StartLimitInterval"),
        _span(settings, "Service.StartLimitInterval"),
        _span(defaults, "Manager.DefaultStartLimitIntervalSec"),
        _span(defaults, "Manager.DefaultStartLimitInterval"),
    )
    burst = _first(
        _number(settings, "Unit.StartLimitBurst"),
        _number(settings, "Service.StartLimitBurst"),
        _number(defaults, "Manager.DefaultStartLimitBurst"),
    )
    longest = _span(settings, "Service.RestartMaxDelaySec")
    delays = [0.1 if delay is None else delay, *([longest] if longest and math.isfinite(longest) else [])]
    return RestartSettings(
        policy=_last(settings, "Service.Restart") or "no",
        longest_delay_seconds=max(delays),
        interval_seconds=10.0 if interval is None else interval,
        burst=5 if burst is None else int(burst),
        limit_action=_last(settings, "Unit.StartLimitAction") or _last(settings, "Service.StartLimitAction"),
        on_failure=words_of(settings.get("Unit.OnFailure", ())),
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


def _span(settings: Settings, name: str) -> float | None:
    try:
        return parse_time_span(_last(settings, name))
    except ValueError:
        return None


def _number(settings: Settings, name: str) -> float | None:
    text = _last(settings, name)
    return float(text) if text.isdigit() else None


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)
