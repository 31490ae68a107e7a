from __future__ import annotations

from array import array

from necroscope.profiles.flame import Label
from necroscope.profiles.pruned_tree import flame_of, pruned
from necroscope.profiles.tree_bytes import TreeBytes

NAMES = ("all", "main", "rare", "read", "gone")


def column(*numbers: int) -> bytes:
    return array("I", numbers).tobytes()


# all > main (> read), rare, gone; in the baseline `gone` is what runs.
TREE = TreeBytes(
    parent=column(0, 0, 1, 0, 0),
    label=column(0, 1, 3, 2, 4),
    total=column(100, 90, 80, 10, 0),
    own=column(0, 10, 80, 10, 0),
    baseline_total=column(50, 5, 0, 5, 40),
    baseline_own=column(0, 5, 0, 5, 40),
    labels=tuple(Label(name, "user", "") for name in NAMES),
)


def names(tree: TreeBytes) -> list[str]:
    flame = flame_of(tree, 1.0, 1.0)
    return [flame.name(node) for node in range(tree.nodes)]


def test_the_rarest_go_first_on_whichever_side_they_are() -> None:
    small = pruned(TREE, 1.0, 1.0, 4)
    assert names(small) == ["all", "main", "read", "gone"]
    assert flame_of(small, 1.0, 1.0).parent == (0, 0, 1, 0)
    assert [label.name for label in small.labels] == ["all", "main", "read", "gone"]


def test_sides_are_compared_by_samples_a_second() -> None:
    assert names(pruned(TREE, 1.0, 100.0, 4)) == ["all", "main", "read", "rare"]


def test_a_small_tree_stays_as_it_is() -> None:
    assert pruned(TREE, 1.0, 1.0, 5) is TREE


def test_nodes_that_are_alike_go_together() -> None:
    alike = TreeBytes(
        column(0, 0, 0), column(0, 1, 2), column(2, 1, 1), column(0, 1, 1), None, None, TREE.labels
    )
    assert pruned(alike, 1.0, 1.0, 2).nodes == 1


def test_the_same_as_numbers() -> None:
    flame = flame_of(TREE, 2.0, 4.0)
    assert flame.window.total == (100, 90, 80, 10, 0) and flame.window.seconds == 2.0
    assert flame.baseline and flame.baseline.own == (0, 5, 0, 5, 40) and flame.baseline.seconds == 4.0
    alone = TreeBytes(TREE.parent, TREE.label, TREE.total, TREE.own, None, None, TREE.labels)
    assert flame_of(alone, 2.0, 4.0).baseline is None
