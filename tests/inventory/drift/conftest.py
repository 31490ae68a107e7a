from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from necroscope.inventory.drift.compare import compare
from necroscope.inventory.drift.fact_table import FactTable
from necroscope.inventory.drift.host_sets import Groups
from necroscope.model.drift import Drift
from necroscope.model.snapshot import Snapshot

Facts = Mapping[str, Mapping[str, str]]
DriftOf = Callable[..., Drift]


@pytest.fixture
def drift_of() -> DriftOf:
    """The drift of single hosts (name=facts) or of groups (name=[facts, ...])."""

    def run(*snapshots: Snapshot, **groups: Sequence[Snapshot]) -> Drift:
        table = FactTable()
        sets: dict[str, int] = {}
        for snapshot in snapshots:
            sets[snapshot.host] = 1 << len(table.hosts)
            table.add(snapshot, snapshot.host)
        for name, members in groups.items():
            sets[name] = 0
            for snapshot in members:
                sets[name] |= 1 << len(table.hosts)
                table.add(snapshot, snapshot.host)
        return compare(table, Groups(sets, list(groups)[-1] if groups else None))

    return run
