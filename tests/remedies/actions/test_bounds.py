from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.zombie_holder import HolderKind, ZombieHolder
from necroscope.remedies.actions.bounds import most_by_dropping, too_few_to_drop
from necroscope.remedies.actions.holding import Holding
from necroscope.sources.host import Host
from necroscope.sources.zombie_holders import ZombieHolders
from necroscope.sources.zombie_parents import KINDS, ZombieParent
from necroscope.sources.zombie_pins import PinnedMemory, ZombiePins

PAGE = 4096
OWN_PAGES = 20


def holding(
    cache_pages: int, *holders: ZombieHolder, shared_pages: int = 0, early: bool = False, read: int = 5
) -> Holding:
    """Below the root, which has some page cache of its own."""
    held = PinnedMemory(cache_pages * PAGE, shared_pages * PAGE, 0, None, None)
    own = PinnedMemory(OWN_PAGES * PAGE, 0, 0, None, None)
    pins = ZombiePins(held, (("/", held),), 128 * PAGE, 0, read, 5, True)
    parent = ZombieParent("/", 1, None, held, KINDS, own)
    return Holding(pins, (parent,), ZombieHolders(holders, (), early, 0.1), "")


def files(count: int, kind: HolderKind = HolderKind.TMPFS_FILE, pages: int = 1) -> list[ZombieHolder]:
    return [ZombieHolder(kind, str(number), "/", pages * PAGE, True, ()) for number in range(count)]


def test_a_page_holds_one() -> None:
    assert most_by_dropping(holding(300), 20_000) == 300
    assert most_by_dropping(holding(30_000), 20_000) == 20_000


def test_mapped_pages_stay_unless_they_may_be_the_living_parents_own() -> None:
    mapped = files(1, HolderKind.MAPPED_FILE, pages=100)
    assert most_by_dropping(holding(300, *mapped), 20_000) == 300 - (100 - OWN_PAGES)


def test_what_tmpfs_files_hold_page_cache_does_not() -> None:
    assert most_by_dropping(holding(30_000, *files(19_900)), 20_000) == 100


def test_where_the_search_ended_early_the_others_are_taken_to_be_alike() -> None:
    assert most_by_dropping(holding(30_000, *files(10_000), shared_pages=19_900, early=True), 20_000) == 100


def test_a_large_file_of_one_cgroup_hides_nobody() -> None:
    large = files(1, pages=16_384)
    assert most_by_dropping(holding(30_000, *large, shared_pages=16_384), 16_000) == 15_999


def test_what_cannot_be_told_may_be_all_of_them() -> None:
    assert most_by_dropping(holding(0, read=3), 20_000) == 20_000, "not every cgroup was read"
    assert most_by_dropping(holding(0), 100) == 100, "so few would not show"


@pytest.mark.parametrize(("pages", "is_worth_it"), [(2_000, False), (2_001, True)])
def test_the_whole_node_is_not_cooled_for_a_tenth(tmp_path: Path, pages: int, is_worth_it: bool) -> None:
    why = too_few_to_drop(Host(tmp_path), holding(pages), 20_000)
    assert why == ("" if is_worth_it else "it would cool the whole node for at most 2,000 of 20,000 zombies")
