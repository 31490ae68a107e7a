"""The steps that units are changed by, each with its command, its reason and what takes it back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.model.shell_command import shell_command, shell_comment, write_file_command
from necroscope.remedies.actions.make_link import MAKE_LINK
from necroscope.remedies.actions.remove_links import REMOVE_LINKS, links_text
from necroscope.remedies.actions.restart_unit import RESTART_UNIT, WHEN_UNDONE
from necroscope.remedies.actions.stop_unit import STOP_UNIT
from necroscope.remedies.actions.write_file import WRITE_FILE
from necroscope.remedies.plan.remedy import WhyNotPlanned
from necroscope.remedies.plan.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.systemd.stop_effects import StopEffects
from necroscope.sources.systemd.unit_settings import parse_unit_file
from necroscope.sources.systemd.unit_tree import MASK, PERSISTENT, PRESETS

RELOAD = "systemctl daemon-reload"
NOTHING_NOW = "# nothing now: an undo restarts it"
NUMBERS = ("50-", "zz-")  # of drop-ins


def _systemctl(host: Host, verb: str, units: Collection[str]) -> str:
    """The line that a person would type; for an image, on the machine that has it mounted."""
    where = [] if host.is_live else [f"--root={host.root}"]
    return shell_command(["systemctl", *where, verb], units)


def _path(host: Host, path: str) -> str:
    """A path of the machine as that person sees it."""
    return path if host.is_live else f"{str(host.root).rstrip('/')}{path}"


def restart_command(unit: str) -> str:
    """Return the command that restarts a unit by its files as they are now."""
    return f"{RELOAD} && {shell_command(['systemctl', 'restart'], [unit])}"


def stop_step(host: Host, unit: str, triggers: tuple[str, ...], effects: StopEffects) -> Step:
    """Stop a unit as its file says, after what would start it again."""
    names = (*triggers, unit)
    first = f", after {', '.join(triggers)}, which would start it again" if triggers else ""
    return Step(
        action=STOP_UNIT.id,
        target=unit,
        value=" ".join(names),
        command=_systemctl(host, "stop", names),
        why=f"it is stopped{first}, while systemd still knows its ExecStop=; with a mask it would not",
        risk=f"{', '.join(effects.along)} will be stopped along" if effects.along else "",
        cost="what it does for others ends; it is given the time that its TimeoutStopSec= allows",
        undo="\n".join(_undo_of_stop(host, names, effects)),
    )


def _undo_of_stop(host: Host, names: tuple[str, ...], effects: StopEffects) -> Iterator[str]:
    if back := [name for name in (*names, *effects.along) if name not in effects.lost]:
        yield _systemctl(host, "start", back)
    if effects.started:
        yield _systemctl(host, "stop", sorted(effects.started))
    for name, why in effects.lost.items():
        yield shell_comment(f"{name} cannot be started again: {why}")


def start_when_undone_step(unit: str, upholders: Sequence[str]) -> Step:
    """Start a unit again at the end of an undo, once nothing keeps it from starting."""
    return Step(
        action=RESTART_UNIT.id,
        target=unit,
        value=WHEN_UNDONE,
        command=NOTHING_NOW,
        why=f"{', '.join(upholders)} would start it right after a stop (Upholds=): the next step keeps it"
        " from starting, and an undo starts it once that is gone",
        risk="",
        cost="",
        undo=restart_command(unit),
    )


def unlink_step(host: Host, unit: str, links: Mapping[str, str], is_all_of_disable: bool) -> Step:
    """Remove links that enable a unit."""
    rm = "\n".join(shell_command(["rm"], [_path(host, path)]) for path in sorted(links))
    ln = "\n".join(
        shell_command(["ln", "-s"], [text, _path(host, path)]) for path, text in sorted(links.items())
    )
    reload = f"\n{RELOAD}" if host.is_live else ""
    return Step(
        action=REMOVE_LINKS.id,
        target=unit,
        value=links_text(links),
        command=_systemctl(host, "disable", [unit]) if is_all_of_disable else rm + reload,
        why="these links have it started, at every boot or by its other names",
        risk="",
        cost="",
        undo=ln + reload,
    )


def mask_step(host: Host, unit: str, why: str, risk: str) -> Step:
    """Have nothing at all start a unit."""
    return Step(
        action=MAKE_LINK.id,
        target=f"{PERSISTENT}/{unit}",
        value=MASK,
        command=_systemctl(host, "mask", [unit]),
        why=why,
        risk=risk,
        cost="",
        undo=_systemctl(host, "unmask", [unit]),
    )


def file_step(host: Host, path: str, text: str, why: str, risk: str = "") -> Step:
    """Write a file: a drop-in of a unit, a preset."""
    folder, _, _ = path.rpartition("/")
    lines = [
        shell_command(["mkdir", "-p"], [_path(host, folder)]),
        write_file_command(_path(host, path), text),
        *([RELOAD] if host.is_live and folder != PRESETS else []),
    ]
    return Step(
        action=WRITE_FILE.id,
        target=path,
        value=text,
        command="\n".join(lines),
        why=why,
        risk=risk,
        cost="",
        undo="\n".join([shell_command(["rm"], [_path(host, path)]), *lines[2:]]),
    )


def drop_in_path(host: Host, unit: SubjectUnit, stem: str, keys: Collection[str]) -> str:
    """50-STEM.conf, as is the custom; last of all where a later drop-in has one of these settings.

    `systemctl edit` writes override.conf, which counts after every number.
    """
    folder = f"{PERSISTENT}/{unit.name}.d"
    usual, last = (f"{number}{stem}.conf" for number in NUMBERS)
    for path in unit.file.drop_ins if unit.file else ():
        name = path.rpartition("/")[2]
        if name > usual and stem not in name:
            text = host.read_regular(path, "replace").value or ""
            if any(key in text for key in keys):
                return f"{folder}/{last}"
    return f"{folder}/{usual}"


def only_drop_in(stem: str, allowed: Mapping[str, re.Pattern[str]]) -> WhyNotPlanned:
    """Return the check of steps that write a drop-in of ours for the subject, with these settings alone."""

    def why_not(_host: Host, unit: str, step: Step, before: State) -> str:
        if step.target not in [f"{PERSISTENT}/{unit}.d/{number}{stem}.conf" for number in NUMBERS]:
            return f"{step.target} is not a drop-in {stem}.conf of {unit}"
        return why_not_settings(step, before, allowed)

    return why_not


def texts_of(step: Step, before: State) -> tuple[str, ...]:
    """What a step writes into a file, and what an undo would."""
    return (step.value, before["text"]) if "text" in before else (step.value,)


def why_not_text(step: Step, before: State) -> str:
    """Why a file, or the one before it, is read by systemd in another way than by a person, or by us."""
    is_plain = all(text.translate({9: None, 10: None}).isprintable() for text in texts_of(step, before))
    return "" if is_plain else f"{step.target} would have characters that cannot be seen"


def why_not_settings(step: Step, before: State, allowed: Mapping[str, re.Pattern[str]]) -> str:
    """Why a drop-in, or the one before it, sets anything but `Section.Key` with a value of this pattern."""
    if why := why_not_text(step, before):
        return why
    for text in texts_of(step, before):
        try:
            assignments = parse_unit_file(text)
        except ValueError as error:
            return f"{step.target}: {error}"
        for section, key, value in assignments:
            pattern = allowed.get(f"{section}.{key}")
            if pattern is None or not pattern.fullmatch(value):
                return f"{step.target} would set {section}.{key}={value[:80]!r}"
    return ""
