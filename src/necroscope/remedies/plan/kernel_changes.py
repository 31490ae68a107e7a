"""What newer kernels change about zombies, against the kernel that runs."""

from __future__ import annotations

import enum
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


class Presence(enum.Enum):
    """Whether a kernel has a change, by its release alone."""

    HAS = "has it"
    LACKS = "lacks it"
    NOT_ESTABLISHED = "not established"  # between the last release without and the first with it


@dataclass(frozen=True, slots=True)
class KernelChange:
    """One change, and how it is known."""

    id: str
    since: str
    absent: str
    changes: str
    known: str
    measure: str

    def presence(self, release: str) -> Presence:
        """Whether the kernel of that release has it; its vendor may have added it."""
        running = parse_release(release)
        if running >= parse_release(self.since):
            return Presence.HAS
        return Presence.LACKS if running <= parse_release(self.absent) else Presence.NOT_ESTABLISHED


def parse_release(text: str) -> tuple[int, int]:
    """Series of a release: (5, 4) of 5.4.0-1103-aws. Raises ValueError."""
    match = re.match(r"(\d+)\.(\d+)", text)
    if not match:
        raise ValueError(f"no kernel release: {text}")
    return int(match[1]), int(match[2])


@cache
def kernel_changes() -> tuple[KernelChange, ...]:
    """All that are known, from rules/kernels.toml."""
    rows = tomllib.loads(files("necroscope.remedies").joinpath("rules/kernels.toml").read_text())
    return tuple(KernelChange(id=id, **row) for id, row in rows.items())
