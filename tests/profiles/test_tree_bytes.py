"""The tree as bytes has the numbers of the tree."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from necroscope.profiles.tree_bytes import tree_bytes
from necroscope.profiles.window import Selection, Window, flame, window
from necroscope.store.store import Store
from tests.diagnosis.sampled_seconds import Work, sampled_segment
from tests.stored import SECOND_NS, UTC_NS


def work(core: int, second: int) -> Work:
    return {"python": 0.5, f"kubelet: read > walk_{second}": 0.2 + core * 0.1}


def numbers(column: bytes | None) -> tuple[int, ...]:
    assert column is not None
    return tuple(array("I", column))


@pytest.fixture
def both(tmp_path: Path) -> tuple[Window, Window]:
    """Two windows of one second."""
    sampled_segment(tmp_path, work, seconds=range(3))
    segments = Store(tmp_path).segments()
    begins = (UTC_NS, UTC_NS + SECOND_NS)
    one, other = (window(segments, Selection(begin, begin + SECOND_NS)) for begin in begins)
    return one, other


@pytest.mark.parametrize("inverted", [False, True])
def test_the_same_tree(both: tuple[Window, Window], inverted: bool) -> None:
    tree, packed = flame(*both, inverted=inverted), tree_bytes(*both, inverted=inverted)
    assert tree.baseline is not None
    assert (numbers(packed.parent), numbers(packed.label), packed.labels) == (
        tree.parent,
        tree.label,
        tree.labels,
    )
    assert (numbers(packed.total), numbers(packed.own)) == (tree.window.total, tree.window.own)
    assert numbers(packed.baseline_total) == tree.baseline.total
    assert numbers(packed.baseline_own) == tree.baseline.own
    assert packed.nodes == len(tree.parent) > 5


def test_without_a_baseline_it_has_none(both: tuple[Window, Window]) -> None:
    packed = tree_bytes(both[0])
    assert (packed.baseline_total, packed.baseline_own) == (None, None)
    assert numbers(packed.total)[0] == both[0].samples
