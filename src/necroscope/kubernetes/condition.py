"""A condition of the node, as we want it to stand in the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Condition:
    """True is bad: the type names a problem. When it became so is kept by the API server."""

    type: str  # necroscope.dev/MemoryCgroupLeak
    status: Status
    reason: str  # CamelCase
    message: str

    @property
    def fingerprint(self) -> tuple[str, str, str]:
        """What makes it another one: the numbers in a message change all the time."""
        return self.type, self.status, self.reason
