from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.errors import CannotLookError
from necroscope.remedies.plan.upgrade_kernel import (
    Presence,
    kernel_changes,
    parse_release,
    plan_upgrade_kernel,
)
from necroscope.sources.host import Host


def host_of(root: Path, release: str) -> Host:
    place = root / release / "proc/sys/kernel"
    place.mkdir(parents=True)
    (place / "osrelease").write_text(f"{release}\n")
    return Host(root / release)


def test_each_change_says_how_it_is_known_and_how_to_measure_it() -> None:
    for change in kernel_changes():
        assert parse_release(change.absent) < parse_release(change.since), change.id
        assert len(change.known) > 20 and len(change.measure) > 20, change.id


def test_between_the_last_without_and_the_first_with_it_nothing_is_claimed() -> None:
    (change,) = [one for one in kernel_changes() if one.id == "no-zombies"]
    assert change.presence("7.0.3-generic") is Presence.LACKS
    assert change.presence("7.1.0") is Presence.NOT_ESTABLISHED
    assert change.presence("7.2.12") is Presence.HAS


def test_the_incidents_kernel_lacks_the_cheap_reads(tmp_path: Path) -> None:
    part = plan_upgrade_kernel(host_of(tmp_path, "5.4.0-1103-aws"), "")
    assert not part.steps
    advised = {advice.why.partition(":")[0] for advice in part.by_hand}
    assert {"no-zombies", "cheap-numa-stat", "slab-goes-to-parent"} <= advised
    assert "cheap-memory-stat" not in advised
    assert all("measure first" in advice.commands[1] for advice in part.by_hand)


def test_the_newest_needs_no_advice(tmp_path: Path) -> None:
    assert plan_upgrade_kernel(host_of(tmp_path, "7.2.12"), "").by_hand == ()


def test_an_image_has_no_running_kernel(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError):
        plan_upgrade_kernel(Host(tmp_path), "")
