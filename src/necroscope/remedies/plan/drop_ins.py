"""Where a drop-in of ours goes, and what it may say."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from necroscope.model.fix import State
from necroscope.model.plan import Step
from necroscope.remedies.plan.subject import SubjectUnit
from necroscope.sources.host import Host
from necroscope.sources.systemd.unit_settings import parse_unit_file
from necroscope.sources.systemd.unit_tree import PERSISTENT

NUMBERS = ("50-", "zz-")


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


def is_drop_in(path: str, unit: str, stem: str) -> bool:
    """Whether a drop-in of ours for a unit may lie there."""
    return path in [f"{PERSISTENT}/{unit}.d/{number}{stem}.conf" for number in NUMBERS]


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
