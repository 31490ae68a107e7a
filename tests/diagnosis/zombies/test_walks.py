from __future__ import annotations

import pytest

from necroscope.diagnosis.zombies.walks import walk_in, walk_of, walk_rules


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
