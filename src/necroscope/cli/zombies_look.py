"""What `zombies` reads: this host, second by second, and what its recorder wrote; or a recorded range."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from necroscope.cli.selecting import choose_range
from necroscope.diagnosis.zombies.recorded_seen import (
    LedgerSeen,
    add_leaks,
    last_boot_in,
    recorded_leaks,
    recorded_seen,
)
from necroscope.diagnosis.zombies.walk_time import walk_time
from necroscope.diagnosis.zombies.zombie_report import Seen
from necroscope.errors import CannotLookError, NecroscopeError, StoreError
from necroscope.model.examination import NotChecked
from necroscope.model.labels import Labels
from necroscope.model.reading import Reading
from necroscope.model.shell_command import option, shell_command
from necroscope.model.time_range import TimeRange
from necroscope.model.timestamp import SECOND_NS
from necroscope.signals.cgroup_counts import Count, counts_in, rate_ns, recorded_counts
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.cgroup_ledger import CGROUP_LEDGER, Leak
from necroscope.sources.host import Host
from necroscope.sources.instance import open_instance
from necroscope.sources.memory_cgroups import MEMORY_CGROUPS, MemoryCgroups
from necroscope.sources.statistics_reads import open_statistics_reads
from necroscope.sources.zombie_pins import ZombiePins, read_zombie_pins
from necroscope.store.read_range import read_moments
from necroscope.store.sampler import Sampler
from necroscope.store.segment import Moment
from necroscope.store.store import Store, StoredSegment, read_segment
from necroscope.store.store_place import store_of_root

FRESH_NS = 30 * SECOND_NS  # an open segment whose last moment is older was left by a crash
REREAD_NS = 5 * SECOND_NS  # the recorder's ledger, while watching: its journal may have megabytes
MEMORY_TOTAL = re.compile(r"^MemTotal: +(\d+) kB$", re.MULTILINE)
LONG_NS = 24 * 3600 * SECOND_NS


class LiveLook:
    """This host, read once a second, with the history that its recorder wrote."""

    def __init__(self, arguments: argparse.Namespace, thresholds: Thresholds) -> None:
        self._rate_ns = rate_ns(thresholds)
        self._arguments = arguments
        self._host = Host(arguments.root)
        self.labels = open_instance(self._host)().value or Labels()
        self.troubles: list[NotChecked] = []
        self._stored = self._stored_of_this_boot()
        self._ledger_read_ns = 0
        self._recorded: LedgerSeen | None = None
        self.recorder = self._find_recorder()
        own = (MEMORY_CGROUPS,) if self.recorder else (MEMORY_CGROUPS, CGROUP_LEDGER)
        self._sampler = Sampler(self._host, own)
        self._moments: list[Moment] = []
        self._leaks: dict[int, Leak] = {}
        self._pins: Reading[ZombiePins] | None = None
        self._pins_due = 0.0
        # Once, before anything else: what is slow here must not be repeated every second.
        self._reads = open_statistics_reads(self._host)()
        now_ns = time.time_ns()
        self._walks = walk_time(self._stored, TimeRange(now_ns - LONG_NS, now_ns))
        self._history = self._read_history(now_ns)
        recent = TimeRange(now_ns - self._rate_ns, now_ns)
        self._recent = recorded_counts(self._stored, recent) if self.recorder else []

    @property
    def is_live(self) -> bool:
        """Whether there is more than one moment to read."""
        return self._host.is_live

    def read(self) -> None:
        """One more moment."""
        moment = self._sampler.read(everything=True)
        ledger = moment.readings.get(CGROUP_LEDGER.id)
        if ledger and ledger.value:
            add_leaks(self._leaks, ledger.value)
        self._moments = [*self._moments, moment][-self._rate_ns // SECOND_NS :]

    def seen(self) -> Seen:
        """All that is known now."""
        last = self._moments[-1]
        counts: Reading[MemoryCgroups] = last.readings[MEMORY_CGROUPS.id]
        if counts.value is None:
            assert counts.absence
            raise CannotLookError(
                f"memory cgroups cannot be counted: {counts.reason}", hint=MEMORY_CGROUPS.hint(counts.absence)
            )
        now_ns = time.time_ns()
        own = counts_in(self._moments)
        recent = [c for c in _joined(self._recent, own) if c.time_ns >= last.time_ns - self._rate_ns]
        ledger = self._ledger(last)
        groups = ledger.reading.value.groups if ledger.reading.value else ()
        return Seen(
            labels=self.labels,
            time_ns=now_ns,
            counts=counts.value,
            long_series=_joined(self._history, own),
            recent_series=recent,
            ledger=ledger.reading,
            ledger_time_ns=ledger.time_ns,
            leaks=self._leaks_left(ledger) if self._arguments.list else None,
            pins=self._read_pins({group.example.rpartition("/")[0] for group in groups}),
            reads=self._reads,
            walks=self._walks,
            memory_total_bytes=memory_total(self._host),
        )

    def _read_pins(self, parents: set[str]) -> Reading[ZombiePins]:
        """What holds them; again only when that has become a hundredth of the time since."""
        began = time.monotonic()
        if self._pins is None or began >= self._pins_due:
            self._pins = read_zombie_pins(self._host, parents)
            took = time.monotonic() - began
            self._pins_due = began + 100 * took
        return self._pins

    def _read_history(self, now_ns: int) -> list[Count]:
        begin = self._arguments.begin
        begin_ns = begin.utc_ns(self._stored) if begin and self._stored else now_ns - LONG_NS
        return recorded_counts(self._stored, TimeRange(begin_ns, now_ns))

    def _stored_of_this_boot(self) -> list[StoredSegment]:
        if self._arguments.store is None or not self.labels.boot_id:
            return []
        try:
            found = Store(self._arguments.store).segments()
        except NecroscopeError as error:
            self.troubles.append(NotChecked("recordings", error.what, error.hint, ("the trend",)))
            return []
        own = [segment for segment in found if segment.boot_id == self.labels.boot_id]
        if not own and (other := store_of_root(self._arguments.store)):
            hint = f"{shell_command(option('--store', str(other)))} has those of the service"
            self.troubles.append(NotChecked("recordings", "none are in the own store", hint, ("the trend",)))
        return own

    def _find_recorder(self) -> bool:
        """Whether a recorder of this host writes a ledger now; its newest is kept."""
        self._recorded = self._newest_ledger()
        return self._recorded is not None and self._recorded.reading.value is not None

    def _newest_ledger(self) -> LedgerSeen | None:
        segments = newest_segments(self._arguments.store, self.labels)
        if not any(s.is_open and time.time_ns() - s.end_ns < FRESH_NS for s in segments):
            return None
        self._stored = [*(s for s in self._stored if s.folder not in {n.folder for n in segments}), *segments]
        for segment in reversed(segments):
            with suppress(StoreError):
                for moment in reversed(read_moments(segment, (CGROUP_LEDGER,))):
                    if reading := moment.readings.get(CGROUP_LEDGER.id):
                        return LedgerSeen(moment.time_ns, reading)
        return None

    def _ledger(self, last: Moment) -> LedgerSeen:
        if not self.recorder or not self._recorded:
            return LedgerSeen(last.time_ns, last.readings[CGROUP_LEDGER.id])
        if last.time_ns - self._ledger_read_ns > REREAD_NS:
            self._ledger_read_ns = last.time_ns
            self._recorded = self._newest_ledger() or self._recorded
        return self._recorded

    def _leaks_left(self, ledger: LedgerSeen) -> list[Leak]:
        if not self.recorder:
            return list(self._leaks.values())
        return recorded_leaks(self._stored, ledger)


def memory_total(host: Host) -> int | None:
    """All memory of the machine, in bytes."""
    match = MEMORY_TOTAL.search(host.read("/proc/meminfo").value or "")
    return int(match[1]) * 1024 if match else None


def _joined(recorded: Sequence[Count], own: Sequence[Count]) -> list[Count]:
    last_ns = recorded[-1].time_ns if recorded else 0
    return [*recorded, *(count for count in own if count.time_ns > last_ns)]


def look_back(arguments: argparse.Namespace, thresholds: Thresholds) -> Seen:
    """The end of a recorded range, of any host in the store."""
    chosen = choose_range(arguments)
    begin_ns = chosen.time.begin_ns if arguments.begin else chosen.time.end_ns - LONG_NS
    when = TimeRange(begin_ns, chosen.time.end_ns)
    stored = last_boot_in(chosen.segments, when)
    seen = recorded_seen(stored, when, thresholds)
    ledger = LedgerSeen(seen.ledger_time_ns, seen.ledger)
    return replace(
        seen,
        leaks=recorded_leaks(stored, ledger) if arguments.list else None,
        walks=walk_time(stored, when),
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
