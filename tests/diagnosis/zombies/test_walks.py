from __future__ import annotations

import pytest

from necroscope.diagnosis.zombies.walks import visits_zombies, walk_in, walk_of, walk_rules


@pytest.mark.parametrize(
    ("function", "id"),
    [
        ("mem_cgroup_nr_lru_pages", "numa-stat"),
        ("mem_cgroup_node_nr_lru_pages.isra.0", "numa-stat"),
        ("memcg_stat_show", "stat"),
        ("cgroup_rstat_flush_locked", "rstat-flush"),
        ("shrink_node_memcgs", "reclaim"),
        ("drop_slab_node", "slab"),
        ("mem_cgroup_iter", "any"),
    ],
)
def test_the_functions_that_betray_a_walk(function: str, id: str) -> None:
    walk = walk_of(function)
    assert walk and walk.id == id


@pytest.mark.parametrize("function", ["do_syscall_64", "mem_cgroup_iterate", "shrink_lruvec", "", "vfs_read"])
def test_other_functions_do_not(function: str) -> None:
    assert walk_of(function) is None


def test_the_outermost_says_whose_walk_it_is() -> None:
    stack = [
        "entry_SYSCALL_64",
        "vfs_read",
        "memcg_numa_stat_show",
        "mem_cgroup_iter",
        "css_next_descendant_pre",
    ]
    walk = walk_in(stack)
    assert walk and walk.id == "numa-stat"


def test_reclaim_of_pages_is_not_walking() -> None:
    assert walk_in(["kswapd", "shrink_node", "mem_cgroup_iter"])
    assert walk_in(["kswapd", "shrink_node", "shrink_lruvec", "shrink_folio_list"]) is None


def test_only_changed_cgroups_are_flushed() -> None:
    walk = walk_of("cgroup_rstat_flush")
    assert walk and not walk.zombies


def test_every_rule_says_what_it_stands_on() -> None:
    rules = walk_rules()
    assert all(walk.what and walk.kernels and walk.reference and walk.functions for walk in rules.walks)
    names = [name for walk in rules.walks for name in walk.functions]
    assert len(names) == len(set(names))
    assert not rules.work & set(names)


@pytest.mark.parametrize(
    ("function", "kernel", "visits"),
    [
        ("memcg_numa_stat_show", "4.19.0-27-amd64", True),
        ("memcg_numa_stat_show", "5.7.19", True),
        ("memcg_numa_stat_show", "5.8.0", False),
        ("memcg_numa_stat_show", "5.15.0-1051-aws", False),  # 15 is more than 7
        ("memcg_numa_stat_show", "6.1.0-18-amd64", False),
        ("memcg_numa_stat_show", "", False),
        ("memcg_numa_stat_show", "unknown", False),
        ("memcg_stat_show", "5.1.21", True),
        ("memcg_stat_show", "5.4.0-99-generic", False),
        ("mem_cgroup_iter", "6.18.5", True),
        ("shrink_node", "", True),
        ("drop_slab", "5.10.0", True),
        ("cgroup_rstat_flush", "5.15.0", False),
        ("cgroup_rstat_flush", "", False),
    ],
)
def test_on_which_kernels_a_walk_visits_zombies(function: str, kernel: str, visits: bool) -> None:
    walk = walk_of(function)
    assert walk and visits_zombies(walk, kernel) is visits


def test_the_newest_kernel_is_the_one_that_the_words_name() -> None:
    bounded = {walk.id: walk for walk in walk_rules().walks if walk.until}
    assert set(bounded) == {"numa-stat", "stat"}
    assert all(walk.kernels.startswith(f"up to {walk.until};") for walk in bounded.values())
