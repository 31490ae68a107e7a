"""A store with samples of known work: kubelet walks on core 0 for the five seconds before a reset."""

from __future__ import annotations

from pathlib import Path

from necroscope.model.timestamp import SECOND_US
from necroscope.server.questions.recorded_store import RecordedStore
from necroscope.server.questions.selection import Range
from tests.diagnosis.sampled_seconds import Work, sampled_segment
from tests.stored import HOST, UTC_NS, event_of

WALK = "kubelet: do_syscall_64 > seq_read > memcg_numa_stat_show > mem_cgroup_nr_lru_pages"
RESET = 40
LENGTH = 45  # of a segment, so that the range of a question touches two
BEGIN_US = UTC_NS // 1000


def plan(core: int, second: int) -> Work:
    """Core 0 is busy in user space at 40 %, and walks in the kernel before the reset; core 1 is like it."""
    return {"python": 0.4, **({WALK: 0.6} if core == 0 and RESET - 5 <= second < RESET else {})}


def sampled_store(root: Path) -> RecordedStore:
    """Two segments of 45 s."""
    reset = event_of("nic-reset", RESET, core=0, device="eth0")
    sampled_segment(root, plan, seconds=range(LENGTH), events=[reset])
    sampled_segment(root, plan, seconds=range(LENGTH, 2 * LENGTH))
    return RecordedStore(root)


def seconds(begin: float, end: float) -> Range:
    """Some seconds of the store."""
    return Range(HOST, BEGIN_US + int(begin * SECOND_US), BEGIN_US + int(end * SECOND_US))
