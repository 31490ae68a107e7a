"""What an earlier recorder left on this host: segments to be sealed, and where its recording ended."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from necroscope.errors import StoreError
from necroscope.model.event import Event
from necroscope.sources.host import Host
from necroscope.store.journal import JOURNAL
from necroscope.store.retention import read_entries
from necroscope.store.store import CAPTURE, DESCRIPTION, StoredSegment, read_segment

NEWEST = 2  # segments whose end is looked up; a store may have thousands
MISSED_NS = 1_500_000_000  # a whole second at least


@dataclass(frozen=True, slots=True)
class Before:
    """The past of this host, as far as a new recording has to know it."""

    boot_id: str
    open_segments: list[StoredSegment]
    end_ns: int | None  # when this boot was recorded last, on the recording's clock

    def gap(self, now_ns: int) -> tuple[Event, ...]:
        """The time since then, in which nobody recorded."""
        if self.end_ns is None or now_ns - self.end_ns < MISSED_NS:
            return ()
        seconds = round((now_ns - self.end_ns) / 1e9, 3)
        was_killed = any(segment.boot_id == self.boot_id for segment in self.open_segments)
        why = "the recorder was killed" if was_killed else "no recorder ran"
        text = f"nothing was recorded for {seconds} s: {why}"
        return (Event("capture-gap", self.end_ns, "recorder", text, seconds=seconds),)


def look_back(folder: Path, host: Host) -> Before:
    """Look at the folder of a host, which nobody else writes to; half-made things are cleared away."""
    boot_id = host.word("/proc/sys/kernel/random/boot_id")
    open_segments = [
        segment for path in sorted(folder.glob(f"[!.]*/{JOURNAL}")) if (segment := _left_open(path.parent))
    ]
    for path in folder.glob("[!.]*"):
        if path.is_dir() and not (path / DESCRIPTION).exists():
            _clear(path)
    # By the recording's clock: the wall clock may have been set back, and names go by it.
    own = [entry for entry in read_entries(folder) if entry.boot_id == boot_id]
    recent = sorted(own, key=lambda entry: entry.begin_monotonic_ns)[-NEWEST:]
    ends = []
    for entry in recent:
        with suppress(StoreError):
            segment = read_segment(folder / entry.name)
            ends.append(segment.end_ns - segment.offset_ns)
    return Before(boot_id, open_segments, max(ends, default=None))


def _clear(folder: Path) -> None:
    """Remove a segment whose recorder was killed before it was described."""
    journal = folder / JOURNAL
    with suppress(OSError):  # not empty: somebody else's
        if journal.exists() and not journal.stat().st_size:
            for path in (journal, *folder.glob(f".{DESCRIPTION}.*"), *folder.glob(f"{CAPTURE}*")):
                path.unlink()
        folder.rmdir()


def _left_open(folder: Path) -> StoredSegment | None:
    try:
        segment = read_segment(folder)
    except StoreError:  # killed before it had a description, or damaged: a person must look
        return None
    if segment.is_open:
        return segment
    # Sealed, and killed before the last step.
    kept = {file.name for file in segment.description.files}
    for path in (folder / JOURNAL, *folder.glob(f"{CAPTURE}*")):
        if path.name not in kept:
            path.unlink(missing_ok=True)  # its sealing child may still be at it
    return None
