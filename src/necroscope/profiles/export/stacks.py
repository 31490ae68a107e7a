"""The stacks of a flame graph, one by one, as the text formats want them."""

from __future__ import annotations

from collections.abc import Iterator

from necroscope.profiles.flame import Flame, Side


def stacks(flame: Flame, side: Side) -> Iterator[tuple[list[int], int]]:
    """Every stack that was sampled: its labels from the root's child on, and how often.

    Samples without any frame stand as the root alone, so that the counts add up to `side.samples`.
    """
    for node, own in enumerate(side.own):
        if own:
            yield path(flame, node), own


def path(flame: Flame, node: int) -> list[int]:
    """The labels from the root's child to a node; the root's own label for the root."""
    labels = [flame.label[node]]
    while (parent := flame.parent[node]) != 0:
        labels.append(flame.label[parent])
        node = parent
    return labels[::-1]
