"""What the sources gave in recorded segments, as their descriptions say."""

from __future__ import annotations

from collections.abc import Sequence

from necroscope.server.answers.diagnosis import NotChecked
from necroscope.sources.cores import CORES
from necroscope.sources.kernel_log import KERNEL_LOG
from necroscope.store.store import StoredSegment

TELLING = (CORES.id, KERNEL_LOG.id)  # without any of them, no symptom can be seen


def saw_anything(segments: Sequence[StoredSegment]) -> bool:
    """Whether symptoms could be seen at all. An open segment is taken to have what it is recorded for."""
    return any(s.is_open or any(_values(s, name) for name in TELLING) for s in segments)


def absent_sources(segments: Sequence[StoredSegment]) -> list[NotChecked]:
    """Sources that gave nothing in any sealed segment, and why."""
    sealed = [segment for segment in segments if not segment.is_open]
    reasons: dict[str, str] = {}
    for segment in sealed:
        for name, row in segment.description.sources.items():
            reasons[name] = row.reason
    given = {name for name in reasons if any(_values(segment, name) for segment in sealed)}
    return [NotChecked(name, reason, "") for name, reason in sorted(reasons.items()) if name not in given]


def _values(segment: StoredSegment, source: str) -> int:
    row = segment.description.sources.get(source)
    return row.readings - row.absent if row else 0
