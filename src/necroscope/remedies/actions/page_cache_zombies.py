"""How many zombies page cache can hold at most: a page holds one, and what other memory holds it does not.

Each thing that is named (a tmpfs file, a segment, a process) is taken to hold one. Its pages are no measure:
a tmpfs file of 100 MiB is mostly of one cgroup, and would hide 25,000 others that page cache holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from necroscope.remedies.actions.counting import limit, noise_floor
from necroscope.remedies.actions.holding import Holding, is_below, read_holding
from necroscope.sources.host import Host
from necroscope.sources.page_owners import PAGE_BYTES
from necroscope.sources.zombie_holders import memory_kind
from necroscope.sources.zombie_parents import KINDS, ZombieParent
from necroscope.sources.zombie_pins import ZombiePins, read_zombie_pins

PAGE_CACHE = KINDS[0]


def most_by_page_cache(holding: Holding, zombies: int) -> int:
    """Of so many zombies, those that no other memory is known to hold."""
    return max(zombies - sum(_held_otherwise(holding).values()), 0)


def most_by_dropping(holding: Holding, zombies: int) -> int:
    """Those of them that may be free once caches are dropped; pages that a process has mapped stay."""
    most = most_by_page_cache(holding, zombies)
    return min(most, _droppable_pages(holding, zombies))


def most_below(parent: ZombieParent, zombies: int) -> int:
    """Those of them that page cache of a parent's removed children may hold."""
    if PAGE_CACHE not in parent.kinds:
        return 0
    pages = parent.held.page_cache_bytes // PAGE_BYTES if parent.held else zombies
    return min(zombies, parent.zombies if parent.zombies is not None else pages)


def why_not_drop(host: Host, zombies: int) -> str:
    """Why dropping caches is not worth it for so many zombies; empty where it may be."""
    if page_cache_holds_none(host, zombies):  # quick: no names are needed
        return f"page cache holds none of {zombies:,} zombies"
    return too_few_to_drop(host, read_holding(host), zombies)


def too_few_to_drop(host: Host, holding: Holding, zombies: int) -> str:
    """That the caches of the node would be lost for next to nothing; empty where it may be for more."""
    most = most_by_dropping(holding, zombies)
    if most > max(noise_floor(host), limit("small_rest") * zombies):
        return ""
    return f"it would cool the whole node for at most {most:,} of {zombies:,} zombies"


def page_cache_holds_none(host: Host, zombies: int, cgroup: str = "") -> bool:
    """Whether it is sure that page cache holds no zombies of a cgroup and below it, or of the machine."""
    pins = read_zombie_pins(host, (cgroup,)).value
    if not pins or not _shows(pins, zombies):
        return False
    if not cgroup:
        return pins.root_is_known and pins.total.page_cache_bytes <= pins.error_bytes
    held = [one.page_cache_bytes for path, one in pins.by_parent if is_below(path, cgroup)]
    return max(held, default=0) <= pins.error_bytes


def _shows(pins: ZombiePins, zombies: int) -> bool:
    """Whether so many zombies would show if they were held by page cache: each holds a page at least."""
    is_whole = not pins.error_bytes_each and pins.cgroups_read >= pins.cgroups_in_use
    return is_whole and zombies * PAGE_BYTES > pins.error_bytes


def _held_otherwise(holding: Holding) -> dict[str, int]:
    """By parent: things that are sure to hold zombies by other memory than page cache."""
    found = holding.holders
    things: dict[tuple[str, str], list[int]] = defaultdict(list)
    for holder in found.holders if found else ():
        if holder.is_sure and (kind := memory_kind(holder.kind)) != PAGE_CACHE:
            things[holder.cgroup, kind].append(holder.held_bytes)
    held: dict[str, int] = defaultdict(int)
    for parent in holding.parents:
        for kind in parent.kinds:
            sizes = things.get((parent.cgroup, kind), [])
            total = parent.held.by_kind()[kind] if parent.held else 0
            # Where the search ended early, the others are taken to be like those that were seen.
            is_part = found and found.stopped_early and sizes
            held[parent.cgroup] += round(len(sizes) * max(total / sum(sizes), 1)) if is_part else len(sizes)
        if parent.zombies is not None:
            held[parent.cgroup] = min(held[parent.cgroup], parent.zombies)
    return held


def _droppable_pages(holding: Holding, zombies: int) -> int:
    """As many pages as dropping caches may take from zombies; all zombies, where that is not known."""
    pins = holding.pins
    if not pins or not _shows(pins, zombies):
        return zombies
    if not pins.root_is_known:
        return sum(most_below(parent, zombies) for parent in holding.parents)
    mapped_bytes = sum(_mapped_bytes(holding, parent) for parent in holding.parents)
    return max(pins.total.page_cache_bytes - mapped_bytes, 0) // PAGE_BYTES


def _mapped_bytes(holding: Holding, parent: ZombieParent) -> int:
    """Page cache of a parent's removed children that processes have mapped, at least."""
    found = holding.holders.holders if holding.holders else ()
    mapped_bytes = sum(
        one.held_bytes for one in found if one.cgroup == parent.cgroup and memory_kind(one.kind) == PAGE_CACHE
    )
    return max(mapped_bytes - parent.own.page_cache_bytes, 0) if parent.own else 0


def choose_parents(holding: Holding, zombies: int, floor: int) -> list[str]:
    """The cgroups whose removed children page cache may hold, the one that may hold most first.

    The root cannot be reclaimed. What is below another is left out, since that is reached with it, and so are
    those that can hold next to nothing, unless there are many such.
    """
    unexplained = most_by_page_cache(holding, zombies)
    most = {one.cgroup: most_below(one, unexplained) for one in holding.parents if _can_be_named(one)}
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


def _can_be_named(parent: ZombieParent) -> bool:
    # A subject has blanks between cgroups, and a record has no names that cannot be seen.
    return parent.cgroup != "/" and len(parent.cgroup.split()) == 1 and parent.cgroup.isprintable()


def _topmost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(paths):
        if not any(is_below(path, outer) for outer in kept):
            kept.append(path)
    return kept
