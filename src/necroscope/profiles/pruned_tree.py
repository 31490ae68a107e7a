"""A tree in bytes made smaller, and made numbers: what is done to few trees, or to small ones."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace

from necroscope.profiles.flame import Flame, Side
from necroscope.profiles.tree_bytes import TreeBytes

NUMBER = "I"  # 32 bits


def pruned(tree: TreeBytes, seconds: float, baseline_seconds: float, most: int) -> TreeBytes:
    """At most so many nodes: those with the most samples a second, here or in the baseline."""
    if tree.nodes <= most:
        return tree
    weights = _weights(tree, seconds, baseline_seconds)
    least = sorted(weights, reverse=True)[most]
    # A parent has at least the samples of its children, so that it stays where one of them does.
    return _of(tree, [0, *(node for node in range(1, tree.nodes) if weights[node] > least)])


def flame_of(tree: TreeBytes, seconds: float, baseline_seconds: float) -> Flame:
    """The same as numbers, for the formats of other programs."""
    before = None
    if tree.baseline_total is not None and tree.baseline_own is not None:
        before = _side(tree.baseline_total, tree.baseline_own, baseline_seconds)
    return Flame(
        parent=tuple(_numbers(tree.parent)),
        label=tuple(_numbers(tree.label)),
        labels=tree.labels,
        window=_side(tree.total, tree.own, seconds),
        baseline=before,
    )


def _weights(tree: TreeBytes, seconds: float, baseline_seconds: float) -> list[float]:
    here = [count / seconds for count in _numbers(tree.total)]
    if tree.baseline_total is None:
        return here
    there = (count / baseline_seconds for count in _numbers(tree.baseline_total))
    return [max(pair) for pair in zip(here, there, strict=True)]


def _of(tree: TreeBytes, kept: Sequence[int]) -> TreeBytes:
    place = {node: number for number, node in enumerate(kept)}
    parents, labels = _numbers(tree.parent), _numbers(tree.label)
    used = sorted({labels[node] for node in kept})
    name = {label: number for number, label in enumerate(used)}
    return replace(
        tree,
        parent=_bytes(place[parents[node]] for node in kept),
        label=_bytes(name[labels[node]] for node in kept),
        total=_some(tree.total, kept),
        own=_some(tree.own, kept),
        baseline_total=None if tree.baseline_total is None else _some(tree.baseline_total, kept),
        baseline_own=None if tree.baseline_own is None else _some(tree.baseline_own, kept),
        labels=tuple(tree.labels[label] for label in used),
    )


def _side(total: bytes, own: bytes, seconds: float) -> Side:
    return Side(tuple(_numbers(total)), tuple(_numbers(own)), seconds)


def _some(column: bytes, kept: Sequence[int]) -> bytes:
    numbers = _numbers(column)
    return _bytes(numbers[node] for node in kept)


def _numbers(column: bytes) -> array[int]:
    numbers = array(NUMBER, column)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _bytes(values: Iterable[int]) -> bytes:
    numbers = array(NUMBER, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
