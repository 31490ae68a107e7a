"""What a soak has seen until now: looks at the recorder, and a digest of every segment that was sealed."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field

from lab.faults.churn import Churn
from lab.recorders import Recorder, segments_of
from lab.scenarios.soak.digest import Digest, digest
from lab.scenarios.soak.watch import Look, look
from necroscope.store.store import StoredSegment


@dataclass(slots=True)
class Observed:
    """Grows with the soak: a few hundred bytes a second."""

    recorder: Recorder
    churn: Churn
    cores: frozenset[int] = frozenset(os.sched_getaffinity(0))
    looks: list[Look] = field(default_factory=list)
    digests: dict[str, Digest] = field(default_factory=dict)  # by the segment's name, in their order
    most_bytes: int = 0  # of all segments at one time
    open_most_bytes: int = 0  # of those that are written or wait to be sealed, with what perf writes
    left: tuple[str, ...] = ()  # sealed segments that are still there

    def watch(self, seconds: float, every_seconds: float) -> None:
        """Look again and again for some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            next_look = time.monotonic() + every_seconds
            self.looks.append(look(self.recorder, time.monotonic()))
            self.read_sealed()
            time.sleep(max(min(next_look, end) - time.monotonic(), 0))

    def read_sealed(self) -> None:
        """Read the segments that were sealed since."""
        segments = segments_of(self.recorder.store)
        sealed = [segment for segment in segments if not segment.is_open]
        for segment in sealed:
            if segment.folder.name not in self.digests:
                pid = self.churn.process.pid
                self.digests[segment.folder.name] = digest(segment, self.churn.run, pid, self.cores)
        self.left = tuple(segment.folder.name for segment in sealed)
        open_bytes = sum(_size_bytes(segment) for segment in segments if segment.is_open)
        self.open_most_bytes = max(self.open_most_bytes, open_bytes)
        self.most_bytes = max(self.most_bytes, open_bytes + sum(map(_size_bytes, sealed)))

    def status(self) -> str:
        """A line for the live view."""
        if not self.looks:
            return ""
        last = self.looks[-1]
        return (
            f"{last.resident_bytes / 2**20:.1f} MiB, {last.descriptors} descriptors,"
            f" {len(self.digests)} segments read, {len(self.left)} of them still there"
        )


def _size_bytes(segment: StoredSegment) -> int:
    size = 0
    for file in segment.folder.rglob("*"):
        with suppress(OSError):  # just being removed
            size += file.stat().st_size if file.is_file() else 0
    return size
