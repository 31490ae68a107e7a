"""An open segment made into columnar files: by a short-lived child of the recorder, or after a crash.

Everything is written beside the journal and synced before the description says that the segment is sealed;
only then the journal and perf's file go. A child that is killed at any point leaves a segment that is
still open, and the next attempt begins anew.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from necroscope.errors import NecroscopeError, StoreError
from necroscope.model.event import Event, worth_keeping
from necroscope.sources.plain_files import open_plain
from necroscope.store.counters import read_counters, read_tables, write_counters
from necroscope.store.durable import FOLDER_MODE, remove_partials, sync_folder, sync_tree, write_durably
from necroscope.store.journal import JOURNAL, LOCK, MAX_JOURNAL_BYTES, Journal
from necroscope.store.process_lock import LOCK_MODE, AlreadyHeldError, locked
from necroscope.store.segment import Moment
from necroscope.store.segment_damage import damaged_segment
from necroscope.store.store import (
    CAPTURE,
    DESCRIPTION,
    SEALED,
    StoredSegment,
    describe_files,
    read_document,
    read_segment,
)
from necroscope.store.stored_events import EVENTS, last_told, write_events

NAMES = ("all", "kernel", "none")  # of functions in the samples: all, those of the kernel, or no samples
COUNTERS = "counters"
PROFILE = "profile"
# The capture, the folder for the profile, the boot it is of, and the first and last time that belong to it.
SealProfile = Callable[[Path, Path, str, int | None, int | None], Mapping[str, Any]]


def seal_recorded(segment: StoredSegment, seal_profile: SealProfile, *, keep_capture: bool = False) -> str:
    """Seal an open segment, and say what became of it: `sealed`, or `removed` where nothing is in it."""
    folder = segment.folder
    try:
        with (
            locked(folder / LOCK, LOCK_MODE, remove=True),
            os.fdopen(open_plain(folder / JOURNAL), "rb") as file,
        ):
            if not read_segment(folder).is_open:  # somebody else did it between our look and our lock
                return "sealed"
            data = file.read(MAX_JOURNAL_BYTES + 1)
            if len(data) > MAX_JOURNAL_BYTES:  # what is beyond would be lost
                raise StoreError(f"{folder}: the journal is larger than {MAX_JOURNAL_BYTES:,} bytes")
            try:
                journal, tables = read_tables(data)
            except (ValueError, LookupError, TypeError) as error:
                what = f"{folder / JOURNAL}: {type(error).__name__}: {error}"
                raise damaged_segment(what) from error
            _clear(folder)  # of an attempt that was cut short
            if not journal.moments and not segment.capture.exists():
                shutil.rmtree(folder)
                return "removed"
            try:
                (folder / COUNTERS).mkdir(mode=FOLDER_MODE)
                write_counters(folder / COUNTERS, journal.moments, tables)
                _seal(segment, journal, seal_profile, keep_capture=keep_capture)
            except OSError:
                if read_segment(folder).is_open:
                    _clear(folder)  # a full disk has better use for the room
                raise
            return "sealed"
    except AlreadyHeldError as error:
        raise StoreError(f"{folder} is still being written, or sealed by somebody else") from error
    except OSError as error:
        raise StoreError(f"{folder}: cannot be sealed: {error.strerror or error}") from error


def _clear(folder: Path) -> None:
    for name in (COUNTERS, PROFILE):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / EVENTS).unlink(missing_ok=True)
    remove_partials(folder / DESCRIPTION)


def _seal(segment: StoredSegment, journal: Journal, seal_profile: SealProfile, *, keep_capture: bool) -> None:
    folder = segment.folder
    profile = _profile(segment, journal, seal_profile)
    offset_ns = segment.offset_ns
    events = list(last_told([*journal.events, *_lost(profile, journal)], offset_ns).values())
    write_events(folder / EVENTS, events, offset_ns)
    first, last = _span(segment, journal, profile)
    kept = _kept_captures(segment, profile, keep_capture=keep_capture)
    names = [folder / COUNTERS, folder / PROFILE, folder / EVENTS, *kept]
    document = {
        **read_document(folder),
        "state": SEALED,
        "begin_ns": first + offset_ns,
        "end_ns": last + offset_ns,
        "anchors": [asdict(anchor) for anchor in journal.anchors],
        "ended": journal.end.why if journal.end else "killed",
        "sources": _sources(journal.moments),
        "events": dict(Counter(event.kind for event in events)),
        "kept": worth_keeping(event.kind for event in events),
        **({"profile": profile} if profile.get("samples") else {"no_profile": profile.get("error", "")}),
        "files": describe_files(folder, [name for name in names if name.exists()]),
    }
    sync_tree(folder)
    write_durably(folder / DESCRIPTION, json.dumps(document, indent=1).encode())
    sync_folder(folder)
    (folder / JOURNAL).unlink()
    for path in folder.glob(f"{CAPTURE}*"):
        if path not in kept:
            path.unlink()


def _span(segment: StoredSegment, journal: Journal, profile: Mapping[str, Any]) -> tuple[int, int]:
    """The first and the last time of a segment; a damaged journal may have no moment, and still samples."""
    times = [moment.time_ns for moment in (journal.moments[:1] + journal.moments[-1:])]
    times += [profile[name] for name in ("begin_ns", "end_ns") if name in profile]
    if not times:
        times = [segment.begin_ns - segment.offset_ns]
    return min(times), max(times)


def _kept_captures(
    segment: StoredSegment, profile: Mapping[str, Any], *, keep_capture: bool
) -> Sequence[Path]:
    """perf's file where it is wanted; where it could not be read also the one that has its head."""
    if "error" in profile:
        return sorted(segment.folder.glob(f"{CAPTURE}*"))
    return [segment.capture] if keep_capture and segment.capture.exists() else []


def _profile(segment: StoredSegment, journal: Journal, seal_profile: SealProfile) -> dict[str, Any]:
    """The facts of the sealed profile; `error` says why there is none, nothing that there are no samples."""
    folder = segment.folder / PROFILE
    if not segment.capture.exists():
        return {}
    folder.mkdir(mode=FOLDER_MODE)
    clip = journal.clip_begin_ns, journal.clip_end_ns
    try:
        facts = dict(seal_profile(segment.capture, folder, segment.boot_id, *clip))
    except NecroscopeError as error:
        facts = {"error": error.what}
    if not facts.get("samples"):
        shutil.rmtree(folder)
        return facts if "error" in facts else {}
    facts["log_clock_error_ns"] = _log_clock_error(facts.pop("lines", []), segment.folder / COUNTERS)
    return facts


def _log_clock_error(lines: Sequence[tuple[int, int, str]], counters: Path) -> int | None:
    """By how much the times of kernel log lines differ from those that perf saw of the same lines."""
    if not lines:
        return None
    # Imported here: most segments have none.
    from necroscope.sources.kernel_log import KERNEL_LOG

    logged = {
        line.text: line.time_ns
        for moment in read_counters(counters, (KERNEL_LOG,))
        if (log := moment.value(KERNEL_LOG))
        for line in log.lines
    }
    errors = [logged[text.strip()] - time_ns for time_ns, _, text in lines if text.strip() in logged]
    return max(errors, key=abs) if errors else None


def _lost(profile: Mapping[str, Any], journal: Journal) -> Iterator[Event]:
    """Samples that nobody would miss: those that the kernel dropped, and a capture that cannot be read."""
    if not journal.moments:
        return
    begin_ns, end_ns = journal.moments[0].time_ns, journal.moments[-1].time_ns
    if lost := max(profile.get("lost_samples") or 0, profile.get("lost_records") or 0):
        text = f"the kernel dropped {lost:,} records of the profile: its buffers were full"
        yield Event("capture-gap", end_ns, "lost-samples", text, sequence=lost)
    if "error" in profile:
        seconds = round((end_ns - begin_ns) / 1e9, 3)
        text = f"no samples for {seconds} s: {profile['error']}"
        yield Event("capture-gap", begin_ns, "unreadable-capture", text, seconds=seconds)


def _sources(moments: Sequence[Moment]) -> dict[str, Any]:
    """How often every source was read, what that cost, and why it gave nothing the last time it did not."""
    sources: dict[str, Any] = {}
    for moment in moments:
        for name, reading in moment.readings.items():
            row = sources.setdefault(name, {"readings": 0, "absent": 0, "reason": "", "cost_ns": 0})
            row["readings"] += 1
            row["cost_ns"] += moment.cost_ns.get(name, 0)
            if reading.absence is not None:
                row["absent"] += 1
                row["reason"] = reading.reason
    return sources
