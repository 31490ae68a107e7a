"""Labels from a file of its owner: /etc/necroscope/labels.toml, or the one that NECROSCOPE_LABELS names.

    zone = "hall-2"
    rack = "b17"

Flat: a name, and text, a number or true and false. In a pod, NECROSCOPE_LABELS names a file of the pod.
"""

from __future__ import annotations

import os
import tomllib

from necroscope.model.labels import Label, fit_labels
from necroscope.model.reading import Absence
from necroscope.sources.host import Host

DEFAULT = "/etc/necroscope/labels.toml"
NAMED_BY = "NECROSCOPE_LABELS"
MOST_BYTES = 1 << 20


def read_owners_labels(host: Host) -> tuple[tuple[Label, ...], str]:
    """The labels, and why there are none although there should be."""
    # A recorded tree or an image has its own file; what is named is about the machine that runs.
    named = os.environ.get(NAMED_BY, "") if host.is_live else ""
    door = Host() if named else host
    reading = door.read_regular(named or DEFAULT, most_bytes=MOST_BYTES)
    if reading.absence is Absence.NOT_SUPPORTED and not named:
        return (), ""
    labels = reading.parsed(parse_owners_labels)
    return labels.value or (), labels.reason


def parse_owners_labels(text: str) -> tuple[Label, ...]:
    """The labels in TOML. ValueError: it is none, or not flat."""
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    found = {}
    for name, value in document.items():
        if isinstance(value, bool):
            found[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            found[name] = str(value).strip()
        else:
            raise ValueError(f"{name} is neither text nor a number")
    return fit_labels(found)
