"""A flame graph as bytes, for a page that draws it: of a large tree, Python need not see the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from necroscope.profiles.flame import Label
from necroscope.profiles.window import Window

NUMBER_BYTES = 4


@dataclass(frozen=True, slots=True)
class TreeBytes:
    """The columns of a `Flame`, each number in 32 bits, little-endian; what is above is the largest."""

    parent: bytes
    label: bytes
    total: bytes
    own: bytes
    baseline_total: bytes | None
    baseline_own: bytes | None
    labels: tuple[Label, ...]

    @property
    def nodes(self) -> int:
        """How many there are, the root among them."""
        return len(self.parent) // NUMBER_BYTES


def tree_bytes(found: Window, baseline: Window | None = None, *, inverted: bool = False) -> TreeBytes:
    """The window's stacks merged into a tree, beside a baseline's where there is one."""
    other = baseline.stacks if baseline else None
    parent, label, total, own, base_total, base_own, labels = found.stacks.tree_bytes(other, inverted)
    return TreeBytes(
        parent, label, total, own, base_total, base_own, labels=tuple(Label(*row) for row in labels)
    )
