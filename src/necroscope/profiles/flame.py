"""A flame graph: the stacks of a window merged into a tree, or the difference of two windows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """What is written on a node."""

    name: str
    kind: str  # kernel, user, jit, unknown, root
    module: str


@dataclass(frozen=True, slots=True)
class Side:
    """Samples of every node from one window: in it and below it, and in it alone."""

    total: tuple[int, ...]
    own: tuple[int, ...]

    @property
    def samples(self) -> int:
        """All samples of the window."""
        return self.total[0] if self.total else 0


@dataclass(frozen=True, slots=True)
class Flame:
    """A tree in columns. Node 0 is the root `all`; a parent stands before its children.

    With a `baseline` it is a difference: positive where the window has more than the baseline, each
    measured as a share of its own samples.
    """

    parent: tuple[int, ...]  # the root is its own
    label: tuple[int, ...]
    labels: tuple[Label, ...]
    window: Side
    baseline: Side | None = None

    def name(self, node: int) -> str:
        """What is written on a node."""
        return self.labels[self.label[node]].name

    def share(self, node: int) -> float:
        """The node's share of the window."""
        return self.window.total[node] / self.window.samples if self.window.samples else 0.0

    def change(self, node: int) -> float:
        """By how much the node's share is larger here than in the baseline; 0 without one."""
        if self.baseline is None:
            return 0.0
        before = self.baseline.total[node] / self.baseline.samples if self.baseline.samples else 0.0
        return self.share(node) - before

    def depths(self) -> list[int]:
        """How far each node is from the root."""
        depths = [0] * len(self.parent)
        for node in range(1, len(self.parent)):
            depths[node] = depths[self.parent[node]] + 1
        return depths
