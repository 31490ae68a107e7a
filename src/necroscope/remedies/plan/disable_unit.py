"""Disable a unit: stop it, remove the links that start it, and mask it where something still could."""

from __future__ import annotations

import re
from collections.abc import Sequence

from necroscope.findings.agents import recognise
from necroscope.model import remedy_ids as ids
from necroscope.model.fix import State
from necroscope.model.plan import ByHand, Step
from necroscope.model.shell_command import shell_comment
from necroscope.remedies.actions.make_link import MAKE_LINK
from necroscope.remedies.actions.remove_links import REMOVE_LINKS, links_of
from necroscope.remedies.actions.restart_unit import RESTART_UNIT, WHEN_UNDONE
from necroscope.remedies.actions.stop_unit import STOP_UNIT
from necroscope.remedies.actions.vital import foresee_stop, stop_warnings, vital_effects, vital_reasons
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.remedies.plan.remedy import Part, Remedy, only_for
from necroscope.remedies.plan.starters import find_links, find_starters, names_by_links, who_need
from necroscope.remedies.plan.steps import (
    file_step,
    mask_step,
    start_when_undone_step,
    stop_step,
    texts_of,
    unlink_step,
    why_not_settings,
    why_not_text,
)
from necroscope.remedies.plan.subject import SubjectUnit, find_triggers, find_unit, unit_assumptions
from necroscope.sources.host import Host
from necroscope.sources.packaging.packages import find_owners
from necroscope.sources.systemd.stop_effects import StopEffects
from necroscope.sources.systemd.unit_activity import read_outdated
from necroscope.sources.systemd.unit_files import UnitFile
from necroscope.sources.systemd.unit_names import parse_unit_name
from necroscope.sources.systemd.unit_settings import words_of
from necroscope.sources.systemd.unit_tree import PERSISTENT, PRESETS, SEARCH_PATH

OFF = "zz-necroscope-off.conf"
PRESET_PREFIXES = ("", "00-")
ANY_CONDITION = re.compile(r".*")
# The root folder is always there, so this never holds.
OFF_TEXT = "# The unit is switched off: this condition never holds.\n[Unit]\nConditionPathExists=!/\n"


def plan_disable_unit(host: Host, subject: str) -> Part:
    """Switch a unit off, now and for every boot to come.

    It is stopped as its file says, while systemd still knows its ExecStop=, after the sockets and timers that
    would start it again at once; the links that enable it are removed, those of units that it names in Also=
    are not; and it is masked where something could start it again: a socket, a timer, another unit, a link
    of the vendor's, D-Bus, udev. Sockets and timers stay enabled, and a warning names them. A unit whose own
    file lies in /etc/systemd/system cannot be masked by a link of that name; it gets a drop-in with a
    condition that never holds. So does one that another unit upholds (Upholds=), before it is stopped. Its
    ExecStart= is not touched: with /bin/true there, ExecStartPre= and restarts remain.

    In an image files and links alone are changed, and a preset is written where one would enable the unit at
    the first boot. It does not remove the package: that is advised where we know the agent.
    """
    unit = find_unit(host, subject)
    links = {} if unit.state in ("generated", "transient") else find_links(host, unit)
    triggers = _running_triggers(unit)
    stopped = (*triggers, unit.name) if unit.is_on or triggers else ()
    effects = foresee_stop(host, stopped) if stopped else StopEffects()
    steps = _steps(host, unit, links, triggers, effects)
    vital = (unit.name, *stopped, *effects.along, *who_need(host, unit, links)) if steps else ()
    return Part(
        steps=steps,
        by_hand=_advise_removal(host, unit),
        assumptions=tuple(unit_assumptions(host, unit, links)),
        warnings=(*stop_warnings(unit.name, effects), *_warnings(unit, steps), *_loaded_along(host, steps)),
        vital=(*vital_effects(effects), *vital_reasons(host, vital)),
        seen=(_seen(unit, steps),),
        subject=unit.name,
    )


def _steps(
    host: Host,
    unit: SubjectUnit,
    links: dict[str, str],
    triggers: tuple[str, ...],
    effects: StopEffects,
) -> tuple[Step, ...]:
    steps = []
    is_fixed = unit.state in ("masked", "transient")
    upholders = () if is_fixed else effects.upheld.get(unit.name, ())
    if upholders:
        start = f"{', '.join(upholders)} would start it right after the stop (Upholds=)"
        why = f"{start}, and a mask would take its ExecStop= away"
        steps += [start_when_undone_step(unit.name, upholders), _off_step(host, unit, why)]
    if unit.is_on or triggers:
        steps.append(stop_step(host, unit.name, triggers, effects))
    if is_fixed:
        return tuple(steps)
    if links:
        steps.append(unlink_step(host, unit.name, links, _is_all_of_disable(unit, links)))
    if not upholders and (starters := _starters(host, unit, tuple(links))):
        why = f"something could start it again: {'; '.join(starters)}"
        steps.append(_lasting_step(host, unit, links, why))
    if not host.is_live and (preset := _preset_step(host, unit)):
        steps.append(preset)
    return tuple(steps)


def _starters(host: Host, unit: SubjectUnit, links: tuple[str, ...]) -> tuple[str, ...]:
    found = find_starters(host, unit, links)
    if unit.state == "generated" and unit.file:
        found = (f"systemd makes it from {unit.file.path} at every boot", *found)
    if unit.state == "masked-runtime":
        found = ("its mask in /run is gone with the next boot", *found)
    if not host.is_live and _is_preset_instance(unit):
        found = (*found, "a preset enables this instance of its template at the first boot")
    return found


def _is_preset_instance(unit: SubjectUnit) -> bool:
    """Whether presets enable it together with its template: no preset can name an instance to disable it."""
    parts = parse_unit_name(unit.name)
    if unit.file is None or unit.file.preset != "enabled" or parts is None or not parts.is_instance:
        return False
    named = words_of((*unit.file.settings.get("Install.DefaultInstance", ()), unit.file.preset_rule))
    return parts.instance in named


def _running_triggers(unit: SubjectUnit) -> tuple[str, ...]:
    """What would start it right after the stop."""
    triggers = find_triggers(unit)
    return tuple(name for name in triggers if name in unit.activity and unit.activity[name].is_on)


def _is_all_of_disable(unit: SubjectUnit, links: dict[str, str]) -> bool:
    """Whether `systemctl disable` would remove just these links."""
    settings = unit.file.settings if unit.file else {}
    return "Install.Also" not in settings and all(path.startswith(f"{PERSISTENT}/") for path in links)


def _lies_above_masks(file: UnitFile, name: str, links: dict[str, str]) -> bool:
    """Whether a unit's own file counts before a mask in /etc, or lies where the mask would be."""
    folder, _, base = file.path.rpartition("/")
    if base != name or f"{PERSISTENT}/{name}" in links:
        return False
    return folder in SEARCH_PATH[: SEARCH_PATH.index(PERSISTENT) + 1]


def _lasting_step(host: Host, unit: SubjectUnit, links: dict[str, str], why: str) -> Step:
    """Keep it from being started: by a mask, or by a condition if its own file would count before that."""
    if unit.file and _lies_above_masks(unit.file, unit.name, links):
        place = f"Its own file {unit.file.path} lies where a mask would have to be, or counts before it"
        return _off_step(host, unit, f"{why}. {place}")
    needing = ", ".join(unit.file.needed_by) if unit.file else ""
    return mask_step(host, unit.name, why, f"{needing} cannot start without it" if needing else "")


def _off_step(host: Host, unit: SubjectUnit, because: str) -> Step:
    why = (
        f"{because}: so it gets a condition that never holds. systemd then skips it, and who requires it"
        " starts without it"
    )
    return file_step(host, f"{PERSISTENT}/{unit.name}.d/{OFF}", OFF_TEXT, why)


def _preset_step(host: Host, unit: SubjectUnit) -> Step | None:
    if unit.file is None or unit.file.preset != "enabled" or "@" in unit.name:
        return None
    rule = unit.file.preset_rule or "no preset file names it, and systemd then enables it"
    name = _preset_name(unit.name)
    decides = unit.file.preset_rule.partition(": ")[0].rpartition("/")[2]
    return file_step(
        host,
        # The first file by name counts.
        f"{PRESETS}/{PRESET_PREFIXES[bool(decides and decides < name)]}{name}",
        f"disable {unit.name}\n",
        f"a machine that boots this image for the first time would enable it again: {rule}",
    )


def _preset_name(unit: str) -> str:
    return f"00-necroscope-{unit}.preset"


def _warnings(unit: SubjectUnit, steps: tuple[Step, ...]) -> list[str]:
    found = []
    actions = {step.action for step in steps}
    if also := words_of(unit.file.settings.get("Install.Also", ())) if unit.file else ():
        found.append(f"{', '.join(also)}: named in Also= of {unit.name}, and left as it is")
    if actions & {MAKE_LINK.id, WRITE_FILE.id}:
        found += [
            f"{name} stays as it is on disk, and will fail to start {unit.name}: disable it too"
            for name in find_triggers(unit)
        ]
    return found


def _loaded_along(host: Host, steps: tuple[Step, ...]) -> list[str]:
    """Return what else a daemon-reload does."""
    if not host.is_live or not {step.action for step in steps} - {STOP_UNIT.id}:
        return []
    outdated = read_outdated(host).value or ()
    return [
        f"{name}: its files have changed, and the daemon-reload has systemd take them" for name in outdated
    ]


def _seen(unit: SubjectUnit, steps: tuple[Step, ...]) -> str:
    running = unit.activity.get(unit.name)
    now = f", {running.active_state} ({running.sub_state})" if running else ""
    end = "" if steps else "; nothing could start it, and there is nothing to do"
    return f"{unit.name} is {unit.state}{now}{end}"


def _advise_removal(host: Host, unit: SubjectUnit) -> tuple[ByHand, ...]:
    """Return what the rule of the agent says besides what we do ourselves; nothing if the unit is not known.

    Each line offers a choice, or is a sentence: all are comments, so that nobody pastes one as it stands.
    """
    if unit.file is None:
        return ()
    package = (find_owners(host, [unit.file.path]).value or {}).get(unit.file.path, "")
    commands = unit.file.settings.get("Service.ExecStart", ())
    environment = unit.file.settings.get("Service.EnvironmentFile", ())
    found = recognise(unit.name, commands, package, environment)
    if found is None:
        return ()
    rule, _ = found
    left = [line for line in rule.removal_of(unit.name) if not line.startswith("systemctl ")]
    if not left:
        return ()
    return (
        ByHand(
            tuple(map(shell_comment, left)), f"{unit.name} is {rule.what}; its package can bring it back", ""
        ),
    )


def _why_not_written(_host: Host, subject: str, step: Step, before: State) -> str:
    if step.target == f"{PERSISTENT}/{subject}.d/{OFF}":
        return why_not_settings(step, before, {"Unit.ConditionPathExists": ANY_CONDITION})
    if step.target in [f"{PRESETS}/{prefix}{_preset_name(subject)}" for prefix in PRESET_PREFIXES]:
        return why_not_text(step, before) or _why_not_preset(subject, texts_of(step, before))
    return f"{step.target} does not switch off {subject}"


def _why_not_preset(subject: str, texts: Sequence[str]) -> str:
    lines = [line for text in texts for line in text.split("\n") if line and not line.startswith("#")]
    strange = [line for line in lines if line != f"disable {subject}"]
    return f"a preset of ours does not say {strange[0][:80]!r}" if strange else ""


def _why_not_unlinked(host: Host, subject: str, step: Step, _before: State) -> str:
    links = links_of(step)
    names = names_by_links(host, subject, links)
    if others := [path for path in links if path.rpartition("/")[2] not in names]:
        return f"{others[0]} does not enable {subject}"
    return "" if step.target == subject else f"{step.target} is not {subject}"


def _why_not_restarted(_host: Host, subject: str, step: Step, _before: State) -> str:
    is_planned = (step.target, step.value) == (subject, WHEN_UNDONE)
    return "" if is_planned else f"{step.target} is not restarted {step.value}"


DISABLE_UNIT = Remedy(
    ids.DISABLE_UNIT,
    plan_disable_unit,
    {
        RESTART_UNIT.id: _why_not_restarted,
        WRITE_FILE.id: _why_not_written,
        STOP_UNIT.id: only_for(lambda subject: subject),
        REMOVE_LINKS.id: _why_not_unlinked,
        MAKE_LINK.id: only_for(lambda subject: f"{PERSISTENT}/{subject}"),
    },
)
