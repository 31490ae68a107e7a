"""Take secrets out of every fact of a snapshot.

By the fact's name, by its shape and by chance (`secret_values`), by names inside its text (`assignments`);
and by source, since some files are never opened. The rules are `rules/redaction.toml`. A secret that has an
ordinary name and looks like a word cannot be told from a setting.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from necroscope.inventory.redaction.assignments import redact_assignments, redact_options
from necroscope.inventory.redaction.redaction_rules import redaction_rules
from necroscope.inventory.redaction.secret_values import (
    REDACTED,
    is_digest,
    is_secret,
    is_secret_fact,
    may_be_secret,
    replace_random,
    replace_shapes,
)
from necroscope.model.reading import Absence, Reading
from necroscope.sources.host import Host, missing

IS_SHORT = re.compile(r"\w{0,9}")  # one word that no pattern matches, as most values are
LARGEST_OPENED_BYTES = 1 << 20  # of configuration: a larger one is none, and patterns take time


def redact_facts(section: str, facts: Mapping[str, str]) -> dict[str, str]:
    """The facts of a section without their secrets, sorted by name."""
    redacted: dict[str, str] = {}
    for name, value in sorted(facts.items()):
        clean = printable(redact_text(name, section))
        # Two names that were told apart by a secret only become one.
        redacted[clean] = REDACTED if clean in redacted else printable(redact_fact(section, name, value))
    return redacted


def printable(text: str) -> str:
    """Text that can be written as UTF-8; a file's name may hold any bytes."""
    return text.encode(errors="replace").decode()


def redact_fact(section: str, name: str, value: str) -> str:
    """The value of one fact without its secrets."""
    rules = redaction_rules()
    if rules.exempt_facts.fullmatch(f"{section}/{name}"):
        return redact_symbol(value)
    if is_secret_fact(section, name, value):
        return REDACTED
    return value if is_digest(name.rpartition("/")[2], value) else redact_text(value, section)


def redact_value(name: str, value: str) -> str:
    """The value of a setting without its secrets: all of it where the name says so."""
    return REDACTED if is_secret(name, value) else redact_text(value)


def redact_items(items: Iterable[str]) -> list[str]:
    """The items of a list without secrets: of `NAME=value`, and what follows an option."""
    redacted: list[str] = []
    before = ""
    for item in items:
        name, equals, value = item.partition("=")
        if before.startswith("-") and not item.startswith("-") and may_be_secret(before):
            redacted.append(REDACTED)
        elif equals and is_secret(name, value):
            redacted.append(f"{name}={REDACTED}")
        else:
            redacted.append(redact_text(item))
        before = item
    return redacted


def redact_text(text: str, section: str = "") -> str:
    """Text without the values of secret names in it, without known keys and without random words."""
    if IS_SHORT.fullmatch(text):
        return text
    rules = redaction_rules()
    # What goes over several lines, or has names in it that are none, goes first.
    text = replace_shapes(text, rules.first_shapes, REDACTED)
    text = redact_options(redact_assignments(text))
    text = replace_shapes(text, rules.shapes, REDACTED)
    return text if section in rules.exempt_sections else replace_random(text, REDACTED)


def redact_symbol(name: str) -> str:
    """The name of a function or a process without known keys; the hashes that compilers add stay."""
    rules = redaction_rules()
    return replace_shapes(name, (*rules.first_shapes, *rules.shapes), REDACTED)


def is_closed(path: str) -> bool:
    """Whether a file of this name is never opened, because it is there to hold secrets."""
    return bool(redaction_rules().never.fullmatch(path))


def read_openly(host: Host, name: str) -> Reading[str]:
    """The text of a configuration file that is not there to hold secrets, wherever its name leads to."""
    try:
        path = host.path(name)  # behind another root, all links have been followed by now
        real = os.path.realpath(path) if host.is_own else "/" + str(path.relative_to(host.root))
    except OSError as error:
        return missing(name, error)
    if is_closed(name) or is_closed(real):
        return Reading(absence=Absence.SWITCHED_OFF, detail=f"{name} holds secrets and is never opened")
    if real == "/dev/null":  # somebody's word for nothing
        return Reading("", detail=name)
    return host.read_regular(name, most_bytes=LARGEST_OPENED_BYTES)
