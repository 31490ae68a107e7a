"""Which cgroups to tell to let go, so that as few of the living as possible lose their cache."""

from __future__ import annotations

from collections.abc import Iterable

from necroscope.remedies.actions.bounds import most_below, most_by_page_cache
from necroscope.remedies.actions.holding import Holding, is_below
from necroscope.remedies.actions.purge_limits import limit
from necroscope.sources.zombie_parents import ZombieParent


def choose_parents(holding: Holding, zombies: int, floor: int) -> list[str]:
    """The cgroups whose removed children page cache may hold, the one that may hold most first.

    The root cannot be told. What is below another is left out, since that is reached with it, and so are
    those that can hold next to nothing, unless there are many such.
    """
    unexplained = most_by_page_cache(holding, zombies)
    most = {one.cgroup: most_below(one, unexplained) for one in holding.parents if _can_be_told(one)}
    few = {
        one.cgroup: limit("parent_zombies") if one.zombies is not None else floor for one in holding.parents
    }
    large = {path for path in most if most[path] >= max(few[path], limit("parent_share") * zombies)}
    together = min(sum(most[path] for path in most.keys() - large), unexplained)
    wanted = large if together < max(floor, limit("small_rest") * zombies) else most.keys()
    chosen = _topmost(wanted)
    if len(chosen) > limit("most_parents"):
        chosen = _topmost("/" + path.split("/")[1] for path in chosen)
    reach = {outer: sum(most[path] for path in wanted if is_below(path, outer)) for outer in chosen}
    return sorted(chosen, key=lambda path: (-reach[path], path))


def _can_be_told(parent: ZombieParent) -> bool:
    # A subject has blanks between cgroups, and a record has no names that cannot be seen.
    return parent.cgroup != "/" and len(parent.cgroup.split()) == 1 and parent.cgroup.isprintable()


def _topmost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(paths):
        if not any(is_below(path, outer) for outer in kept):
            kept.append(path)
    return kept
