"""What a host is, in words that can be compared across a fleet."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_LABELS = 500
LONGEST_NAME, LONGEST_VALUE = 400, 1000
# Values of such names are never shown. Facts also go through the whole of inventory/redaction.
SECRET = re.compile(
    r"pass(?:word|wd|phrase)|secret|token|credential|(?:api|access|private).?key", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Label:
    """A label of any name: of a Kubernetes node, or from a file."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Labels:
    """Where a recording comes from. An empty string is unknown, never a default."""

    hostname: str = ""
    kernel: str = ""
    boot_id: str = ""
    image: str = ""  # the operating system image
    cores_online: int = 0
    cores_possible: int = 0  # what per-CPU kernel memory is paid for
    provider: str = ""  # ec2, gcp, azure
    instance_id: str = ""
    instance_type: str = ""
    machine_image: str = ""  # the cloud's image id
    region: str = ""
    zone: str = ""
    address: str = ""  # by which others of its network know it
    others: tuple[Label, ...] = ()  # sorted by name


def fit_labels(found: dict[str, str]) -> tuple[Label, ...]:
    """Those that are fit to be labels, by name: short, of one line, and not called a secret."""
    fit = (
        Label(name, value)
        for name, value in sorted(found.items())
        if 0 < len(name) <= LONGEST_NAME
        and 0 < len(value) <= LONGEST_VALUE
        and f"{name}{value}".isprintable()
        and not SECRET.search(name)
    )
    return tuple(fit)[:MOST_LABELS]
