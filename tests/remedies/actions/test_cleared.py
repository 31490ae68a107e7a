from __future__ import annotations

from necroscope.model.zombie_holder import HolderKind, ZombieHolder
from necroscope.remedies.actions.holding import clear_innocent
from necroscope.sources.process_mappings import SharedSegment
from necroscope.sources.zombie_holders import ZombieHolders
from necroscope.sources.zombie_parents import KINDS, NOTHING, ZombieParent
from necroscope.sources.zombie_pins import PinnedMemory

PAGE = 4096
ERROR_BYTES = 128 * PAGE
SHARED = KINDS[1]
SEGMENT = SharedSegment(7, 1 << 20, PAGE, 0)


def file(name: str, pages: int, sure: bool) -> ZombieHolder:
    return ZombieHolder(HolderKind.TMPFS_FILE, name, "/pods", pages * PAGE, sure, ())


def remaining(held_pages: int, *files: ZombieHolder, segment: SharedSegment = SEGMENT) -> list[str]:
    held = PinnedMemory(0, held_pages * PAGE, 0, None, None)
    parent = ZombieParent("/pods", 1, None, held, (SHARED,), NOTHING)
    found = clear_innocent(ZombieHolders(files, (segment,), False, 0.1), [parent], ERROR_BYTES)
    return [*(one.name for one in found.holders), *(str(one.id) for one in found.segments)]


def test_nobody_else_is_suspected_where_those_that_are_sure_explain_all() -> None:
    sure, unsure = file("sure", 600, True), file("unsure", 10, False)
    assert remaining(600, sure, unsure) == ["sure"]
    assert remaining(600 + 128, sure, unsure) == ["sure"], "the rest is within the error"
    assert remaining(600 + 129, sure, unsure) == ["sure", "unsure", "7"]


def test_what_is_larger_than_all_that_is_held_there_does_not_hold_it() -> None:
    large = SharedSegment(8, 1 << 30, 1 << 30, 0)
    assert remaining(600, file("large", 729, False), file("fits", 728, False), segment=large) == ["fits"]


def test_on_v2_zombies_that_hold_less_than_the_error_are_counted() -> None:
    few = ZombieParent("/pods", 1, 300, None, KINDS, NOTHING)
    found = ZombieHolders((file("sure", 1, True), file("unsure", 1, False)), (SEGMENT,), False, 0.1)
    assert len(clear_innocent(found, [few], ERROR_BYTES).holders) == 2
    one = ZombieParent("/pods", 1, 1, None, KINDS, NOTHING)
    assert len(clear_innocent(found, [one], 0).holders) == 1
