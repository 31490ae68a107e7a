"""A flame graph: the stacks of a window merged into a tree, or the difference of two windows."""

from __future__ import annotations

from collections.abc import Sequence
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
    seconds: float  # that the window lasted, above 0

    @property
    def samples(self) -> int:
        """All samples of the window."""
        return self.total[0] if self.total else 0

    def of(self, nodes: Sequence[int]) -> Side:
        """The samples of some nodes only."""
        total, own = (tuple(counts[node] for node in nodes) for counts in (self.total, self.own))
        return Side(total, own, self.seconds)


@dataclass(frozen=True, slots=True)
class Flame:
    """A tree in columns. Node 0 is the root `all`; a parent stands before its children.

    With a `baseline` it is a difference, by time: samples a second here less those in the baseline. 100 % is
    what the busier of the two has, so that the little that a quiet core does stays little.
    """

    parent: tuple[int, ...]  # the root is its own
    label: tuple[int, ...]
    labels: tuple[Label, ...]
    window: Side
    baseline: Side | None = None

    def name(self, node: int) -> str:
        """What is written on a node."""
        return self.labels[self.label[node]].name

    @property
    def is_busier(self) -> bool:
        """Whether the window, and not the baseline, is what 100 % is."""
        return self._whole(self.window) == self.window.samples

    def share(self, node: int) -> float:
        """The node's share of the window, or of the baseline's rate where that was busier."""
        return self._share(self.window, node)

    def change(self, node: int) -> float:
        """By how much the node's share is larger here than in the baseline; 0 without one."""
        if self.baseline is None:
            return 0.0
        return self.share(node) - self._share(self.baseline, node)

    def _share(self, side: Side, node: int) -> float:
        whole = self._whole(side)
        return side.total[node] / whole if whole else 0.0

    def _whole(self, side: Side) -> float:
        """The samples that a side would have if it were as busy as the busier one."""
        sides = (one for one in (self.window, self.baseline) if one)
        return max(one.samples * (side.seconds / one.seconds) for one in sides)

    def depths(self) -> list[int]:
        """How far each node is from the root."""
        depths = [0] * len(self.parent)
        for node in range(1, len(self.parent)):
            depths[node] = depths[self.parent[node]] + 1
        return depths

    def pruned(self, smallest: float) -> Flame:
        """The same without nodes that have a smaller share, here and in the baseline."""
        sides = [side for side in (self.window, self.baseline) if side]
        kept = [
            node
            for node in range(len(self.parent))
            if any(self._share(side, node) >= smallest for side in sides)
        ]
        place = {node: number for number, node in enumerate(kept)}
        return Flame(
            parent=tuple(place[self.parent[node]] for node in kept),
            label=tuple(self.label[node] for node in kept),
            labels=self.labels,
            window=self.window.of(kept),
            baseline=self.baseline.of(kept) if self.baseline else None,
        )
