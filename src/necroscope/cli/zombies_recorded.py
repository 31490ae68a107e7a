"""What `zombies` reads of a recorded range: the counts and the ledger at its end, and what led there."""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from necroscope.cli.selecting import choose_range
from necroscope.diagnosis.zombies.recorded_seen import LedgerSeen, last_boot_in, recorded_leaks, recorded_seen
from necroscope.diagnosis.zombies.walk_time import walk_time
from necroscope.diagnosis.zombies.zombie_report import Seen
from necroscope.errors import NecroscopeError
from necroscope.model.labels import Labels
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import Store, StoredSegment, read_segment

LONG_NS = 24 * 3600 * SECOND_NS


def look_back(arguments: argparse.Namespace, thresholds: Thresholds) -> Seen:
    """The end of a recorded range, of any host in the store."""
    chosen = choose_range(arguments)
    begin_ns = chosen.time.begin_ns if arguments.begin else chosen.time.end_ns - LONG_NS
    time = TimeRange(begin_ns, chosen.time.end_ns)
    stored = last_boot_in(chosen.segments, time)
    seen = recorded_seen(stored, time, thresholds)
    ledger = LedgerSeen(seen.ledger_time_ns, seen.ledger)
    return replace(
        seen,
        leaks=recorded_leaks(stored, ledger) if arguments.list else None,
        walks=walk_time(stored, time),
    )


def newest_segments(store: Path | None, labels: Labels, most: int = 2) -> list[StoredSegment]:
    """The last segments of this boot: much cheaper than to list all."""
    if store is None or not labels.boot_id:
        return []
    found = []
    with suppress(OSError):
        folder = Store(store).host_folder(labels.hostname)
        names = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
        for name in names[-most:]:
            with suppress(NecroscopeError):
                found.append(read_segment(folder / name))
    return [segment for segment in found if segment.boot_id == labels.boot_id]
