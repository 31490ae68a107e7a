from __future__ import annotations

import pytest

from tests.profiles.export.flames import DIFFERENCE, ONE, tree


def test_a_pruned_graph_has_the_same_shares_and_no_narrow_nodes() -> None:
    pruned = ONE.pruned(0.25)
    kept = {pruned.name(node): pruned.share(node) for node in range(len(pruned.parent))}
    whole = {ONE.name(node): ONE.share(node) for node in range(len(ONE.parent)) if ONE.share(node) >= 0.25}
    assert kept == whole and len(pruned.parent) < len(ONE.parent)
    assert all(pruned.parent[node] < node for node in range(1, len(pruned.parent)))


def test_what_has_vanished_is_not_pruned() -> None:
    pruned = DIFFERENCE.pruned(0.4)
    names = {pruned.name(node) for node in range(len(pruned.parent))}
    assert {"new", "gone"} <= names
    assert pruned.baseline and pruned.baseline.samples == DIFFERENCE.baseline.samples  # type: ignore[union-attr]


def test_a_difference_is_by_time() -> None:
    """Ten samples in 100 s are all that the quiet side has, and still next to nothing."""
    quiet = tree({"kubelet": 500}, {"sshd": 10}, (5.0, 100.0))
    change = {quiet.name(node): quiet.change(node) for node in range(len(quiet.parent))}
    assert change == {"all": pytest.approx(0.999), "kubelet": 1.0, "sshd": pytest.approx(-0.001)}
    assert quiet.is_busier and quiet.share(1) == 1.0
    assert "sshd" not in {quiet.pruned(0.005).name(node) for node in range(2)}


def test_a_baseline_that_was_busier_is_what_100_percent_is() -> None:
    now = tree({"sshd": 10}, {"kubelet": 90, "sshd": 10}, (5.0, 5.0))
    change = {now.name(node): now.change(node) for node in range(len(now.parent))}
    assert not now.is_busier
    assert change == {"all": pytest.approx(-0.9), "sshd": 0.0, "kubelet": pytest.approx(-0.9)}
