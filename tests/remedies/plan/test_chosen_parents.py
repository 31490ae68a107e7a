from __future__ import annotations

from necroscope.model.zombie_holder import HolderKind, ZombieHolder
from necroscope.remedies.actions.holding import Holding
from necroscope.remedies.plan.chosen_parents import choose_parents
from necroscope.sources.zombie_holders import ZombieHolders
from necroscope.sources.zombie_parents import KINDS, NOTHING, ZombieParent
from necroscope.sources.zombie_pins import PinnedMemory

PAGE = 4096
PAGE_CACHE, SHARED, _ = KINDS
FLOOR = 58


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
