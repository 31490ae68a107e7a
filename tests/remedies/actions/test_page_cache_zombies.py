from __future__ import annotations

from pathlib import Path

import pytest

from necroscope.model.zombie_holder import HolderKind, ZombieHolder
from necroscope.remedies.actions.holding import Holding
from necroscope.remedies.actions.page_cache_zombies import choose_parents, most_by_dropping, too_few_to_drop
from necroscope.sources.host import Host
from necroscope.sources.zombie_holders import ZombieHolders
from necroscope.sources.zombie_parents import KINDS, NOTHING, ZombieParent
from necroscope.sources.zombie_pins import PinnedMemory, ZombiePins

PAGE = 4096
OWN_PAGES = 20
PAGE_CACHE, SHARED, _ = KINDS
FLOOR = 58


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


def parent(cgroup: str, pages: int = 1000, kind: str = PAGE_CACHE) -> ZombieParent:
    """On v1, where pages of removed children show."""
    cache, shared, anonymous = (pages * PAGE if kind == one else 0 for one in KINDS)
    held = PinnedMemory(cache, shared, anonymous, None, None)
    return ZombieParent(cgroup, 1, None, held, (kind,), NOTHING)


def counted(cgroup: str, zombies: int) -> ZombieParent:
    """On v2, where zombies are counted."""
    return ZombieParent(cgroup, 1, zombies, None, KINDS, NOTHING)


def choose(*parents: ZombieParent, zombies: int = 2000, named: int = 0) -> list[str]:
    files = [ZombieHolder(HolderKind.TMPFS_FILE, str(one), "/tmpfs", PAGE, True, ()) for one in range(named)]
    found = ZombieHolders(tuple(files), (), False, 0.1)
    return choose_parents(Holding(None, parents, found, ""), zombies, FLOOR)


def test_only_where_page_cache_may_hold_them_and_never_the_root() -> None:
    assert choose(parent("/"), parent("/b"), parent("/a"), parent("/tmpfs", kind=SHARED)) == ["/a", "/b"]


def test_a_name_that_cannot_be_typed_keeps_no_other_from_being_purged() -> None:
    """Whoever may make cgroups may give them any name."""
    strange = ("/a b", "/a\nb", "/\x1b[2J", "/\udcff", "/\u202e")
    assert choose(*map(parent, strange), parent("/a")) == ["/a"]


def test_the_one_that_may_hold_most_is_first_so_that_others_may_not_be_needed() -> None:
    assert choose(parent("/a", 100), parent("/b", 2000)) == ["/b", "/a"]


def test_what_is_below_another_is_reached_with_it() -> None:
    paths = ("/pods/burstable", "/pods", "/pods-of-others", "/pods/a/b")
    assert choose(*map(parent, paths)) == ["/pods", "/pods-of-others"]


def test_a_bystander_that_can_hold_next_to_nothing_keeps_its_cache() -> None:
    leaking = parent("/ecs", 20_000)
    assert choose(leaking, parent("/system.slice", 332), zombies=20_270) == ["/ecs"]
    assert choose(leaking, parent("/system.slice", 2_000), zombies=20_270) == ["/ecs", "/system.slice"]
    assert choose(parent("/ecs", 200), parent("/x", FLOOR - 1), zombies=200) == ["/ecs"]


def test_many_that_are_small_by_themselves_are_not_forgotten() -> None:
    pods = [parent(f"/kubepods/pod{number}", 100) for number in range(300)]
    assert choose(*pods, zombies=30_000) == ["/kubepods"]


def test_where_tmpfs_files_explain_them_nobody_loses_page_cache() -> None:
    parents = parent("/tmpfs", 2_000, SHARED), parent("/other", 12_000)
    assert choose(*parents, zombies=2_040, named=2_000) == []
    assert choose(*parents, zombies=2_040, named=1_000) == ["/other"]


def test_on_v2_a_few_zombies_are_not_worth_the_cache_of_the_living() -> None:
    assert choose(counted("/few", 9), counted("/ten", 10), zombies=19) == ["/ten"]
    assert choose(counted("/few", 19), counted("/many", 900), zombies=1_000) == ["/many"]


def test_a_hundred_pods_are_told_by_what_they_are_in() -> None:
    pods = [parent(f"/kubepods/besteffort/pod{number}") for number in range(100)]
    assert choose(*pods, parent("/system.slice")) == ["/kubepods", "/system.slice"]
