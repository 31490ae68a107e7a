"""Who cannot be a holder: those that are sure leave too little to be explained by anybody else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from necroscope.model.zombie_holder import ZombieHolder
from necroscope.sources.page_owners import PAGE_BYTES
from necroscope.sources.zombie_holders import ZombieHolders, memory_kind
from necroscope.sources.zombie_parents import KINDS, ZombieParent

SHARED = KINDS[1]


def clear_innocent(found: ZombieHolders, parents: Sequence[ZombieParent], error_bytes: int) -> ZombieHolders:
    """The same without those who are not sure, and not needed to explain what is held or too large for it."""
    sure = [holder for holder in found.holders if holder.is_sure]
    left = {
        (parent.cgroup, kind): _unexplained_bytes(parent, kind, sure)
        for parent in parents
        for kind in parent.kinds
    }

    def may_hold(size_bytes: int, unexplained_bytes: int) -> bool:
        return unexplained_bytes > error_bytes and size_bytes <= unexplained_bytes + error_bytes

    most_shared_bytes = max((size for (_, kind), size in left.items() if kind == SHARED), default=0)
    return replace(
        found,
        holders=tuple(
            holder
            for holder in found.holders
            if holder.is_sure or may_hold(holder.held_bytes, left[holder.cgroup, memory_kind(holder.kind)])
        ),
        segments=tuple(one for one in found.segments if may_hold(one.resident_bytes, most_shared_bytes)),
    )


def _unexplained_bytes(parent: ZombieParent, kind: str, sure: Iterable[ZombieHolder]) -> int:
    named = [one for one in sure if one.cgroup == parent.cgroup and memory_kind(one.kind) == kind]
    if parent.held:
        return parent.held.by_kind()[kind] - sum(one.held_bytes for one in named)
    # v2 where less than the error is held: each zombie by a page at least.
    return ((parent.zombies or 0) - len(named)) * PAGE_BYTES
