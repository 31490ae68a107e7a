"""What is new since the last time, put into the spool: facts, segments, and whole segments where wanted.

A name is staged once. What a kill leaves staged and not remembered is found in the spool by its name.
"""

from __future__ import annotations

import json
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from necroscope.errors import StoreError
from necroscope.fleet.place.canonical import digest_of
from necroscope.fleet.ship.facts import take_facts
from necroscope.fleet.ship.parts import (
    COUNTERS,
    FACTS,
    FILES,
    SEGMENT,
    SEGMENT_NAME,
    SegmentFile,
    facts_part,
    files_part,
    part_name,
    segment_part,
)
from necroscope.fleet.ship.recorded import Recorded
from necroscope.fleet.ship.requests import Request
from necroscope.fleet.ship.shipping_progress import ShippingProgress
from necroscope.fleet.ship.spool import Spool, Waiting
from necroscope.fleet.ship.summary import summarise
from necroscope.model.timestamp import hour_of, parse_compact_utc
from necroscope.signals.thresholds import Thresholds
from necroscope.sources.host import Host
from necroscope.sources.plain_files import read_plain
from necroscope.store.retention import Entry
from necroscope.store.seal import PROFILE
from necroscope.store.segment_damage import damaged_segment
from necroscope.store.segment_description import ListedFile
from necroscope.store.store import CAPTURE, DESCRIPTION, MAX_DESCRIPTION_BYTES, Damage, StoredSegment

NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
DIGEST = re.compile(r"[0-9a-f]{64}")
WORTH = 2  # as model.event.worth_keeping says
RECENT_NS = (
    24 * 3600 * 10**9
)  # older ones are the business of requests: a new place does not get all of the past


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be shipped of which host."""

    folder: Path  # of the host, in the store
    name: str  # of the host, in the place
    profiles: str  # events, never, all
    counters: bool
    spool_bytes: int
    thresholds: Thresholds
    facts_of: Host | None  # whom to ask for facts; None: nobody, as it is not that host


@dataclass(slots=True)
class Staged:
    """What was staged, and what could not be."""

    names: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    damaged: dict[Path, Damage] = field(default_factory=dict)
    is_more: bool = False  # there was no time or no room for all


class Stager:
    """Stages until a moment of the monotonic clock."""

    def __init__(self, wish: Wish, spool: Spool, progress: ShippingProgress, end: float) -> None:
        self.staged = Staged()
        self._wish = wish
        self._spool = spool
        self._progress = progress
        self._end = end

    def stage(self, requests: Sequence[Request]) -> None:
        """All that is new. StoreError where the spool cannot be written: the segments wait where they are."""
        self.staged.is_more = False
        try:
            recorded = Recorded(self._wish.folder)
            self.staged.damaged = recorded.damaged
            self._remember(recorded)
            self._stage_facts()
            self._stage_segments(recorded)
            self._stage_whole(recorded, requests)
            for one in self._spool.keep_within(self._wish.spool_bytes):
                self._give_up(one.name)
            self._spool.sync()
            self._progress.save(self._spool.folder)
        except OSError as error:
            hint = "what was recorded stays in the store"
            raise StoreError(f"{self._spool.folder}: {error.strerror or error}", hint=hint) from error

    def is_done(self, asked: Request, now_us: int) -> bool:
        """Whether all that there is of a request is staged, and no more can come."""
        wanted = within(Recorded(self._wish.folder).entries, asked.range.begin_us, asked.range.end_us)
        damaged = {path.name for path in self.staged.damaged}
        left = [
            one
            for one in wanted
            if _name(FILES, one) not in self._progress.staged and one.name not in damaged
        ]
        return not left and asked.range.end_us <= now_us

    def _remember(self, recorded: Recorded) -> None:
        self._progress.forget(recorded.names)
        for waiting in self._spool.waiting():
            if waiting.name not in self._progress.staged:  # we were killed before it was remembered
                self._progress.staged.add(waiting.name)
                self._remember_facts(waiting)

    def _remember_facts(self, waiting: Waiting) -> None:
        if waiting.kind == FACTS:
            with suppress(StoreError):  # damaged: that is told when it is to be sent
                document = json.loads(self._spool.open(waiting).content)
                self._progress.add_facts(int(document["time_us"]), str(document["facts"]))

    def _stage_facts(self) -> None:
        now_us = time.time_ns() // 1000
        hour = hour_of(now_us)
        if self._wish.facts_of is None or f"{FACTS}-{hour}" in self._progress.staged:
            return
        facts = take_facts(self._wish.facts_of, now_us)
        if facts is None:
            return
        for digest, content in facts.blobs.items():
            if digest not in self._progress.sections:
                self._spool.put_blob(digest, content)
        self._spool.put(facts_part(self._wish.name, hour, now_us, facts.id, facts.sections))
        self._progress.add_facts(now_us, facts.id)
        self._note(f"{FACTS}-{hour}")

    def _stage_segments(self, recorded: Recorded) -> None:
        newest_boot = recorded.entries[-1].boot_id if recorded.entries else ""
        for entry in self._new(SEGMENT, recorded.entries):
            with recorded.damage_noted(entry.name):
                segment, is_clock_right = recorded.read(entry)
                is_this_boot = entry.boot_id == newest_boot
                facts = self._progress.facts_at(segment.end_ns // 1000, is_this_boot=is_this_boot)
                told = summarise(
                    segment, self._wish.name, facts, self._wish.thresholds, is_clock_right=is_clock_right
                )
                self._spool.put(segment_part(*told))
                self._note(_name(SEGMENT, entry))

    def _stage_whole(self, recorded: Recorded, requests: Sequence[Request]) -> None:
        entries = recorded.entries
        for asked in requests:
            wanted = within(entries, asked.range.begin_us, asked.range.end_us)
            self._want_again({_name(FILES, one) for one in wanted})
            self._stage_files(FILES, wanted, recorded)
        if self._wish.profiles == "all":
            self._stage_files(FILES, entries, recorded)
        elif self._wish.profiles == "events":
            self._stage_files(FILES, around_events(entries, time.time_ns()), recorded)
        if self._wish.counters:
            left = [one for one in entries if _name(FILES, one) not in self._progress.staged]
            self._stage_files(COUNTERS, left, recorded)

    def _want_again(self, names: set[str]) -> None:
        """What was given up before somebody asked for it."""
        again = names & self._progress.given_up
        self._progress.given_up -= again
        self._progress.staged -= again

    def _stage_files(self, kind: str, entries: Sequence[Entry], recorded: Recorded) -> None:
        for entry in self._new(kind, entries):
            with recorded.damage_noted(entry.name):
                segment, _ = recorded.read(entry)
                files = files_of(segment, with_samples=kind == FILES)
                size_bytes = sum(file.bytes for file in files)
                if size_bytes > self._wish.spool_bytes:
                    self._note(_name(kind, entry))
                    self._give_up(_name(kind, entry))
                    continue
                if not self._make_room(size_bytes):
                    self.staged.is_more = True
                    return
                for file in files:
                    self._spool.link_blob(file.sha256, segment.folder / file.name)
                self._spool.put(files_part(kind, self._wish.name, segment, files))
                self._note(_name(kind, entry))

    def _make_room(self, size_bytes: int) -> bool:
        """Whether a whole segment fits. If not, it waits in the store until the spool is sent.

        While the place is away that may be too long, and older whole segments give way.
        """
        room = self._wish.spool_bytes - size_bytes
        if self._progress.is_away:
            for one in self._spool.keep_within(room, whole_only=True):
                self._give_up(one.name)
        return self._spool.total_bytes() <= room

    def _new(self, kind: str, entries: Sequence[Entry]) -> Iterator[Entry]:
        """Sealed segments of which no such part was staged, as long as there is time."""
        for entry in entries:
            if entry.is_open or _name(kind, entry) in self._progress.staged:
                continue
            if time.monotonic() > self._end:
                self.staged.is_more = True
                return
            yield entry

    def _note(self, name: str) -> None:
        self._progress.staged.add(name)
        self.staged.names.append(name)

    def _give_up(self, name: str) -> None:
        self._progress.given_up.add(name)
        self._progress.given_up_total += 1
        self.staged.given_up.append(name)


def _name(kind: str, entry: Entry) -> str:
    return part_name(kind, entry.name, entry.boot_id)


def around_events(entries: Sequence[Entry], now_ns: int) -> list[Entry]:
    """List the sealed segments with events and their neighbours; entries are of one host, in order.

    The segment after an event exists only later, so this is decided again at every run.
    """
    wanted = set()
    for place, entry in enumerate(entries):
        if entry.kept >= WORTH and now_ns - entry.end_ns <= RECENT_NS:
            wanted |= {
                near
                for near in (place - 1, place, place + 1)
                if 0 <= near < len(entries) and entries[near].boot_id == entry.boot_id
            }
    return [entries[place] for place in sorted(wanted) if not entries[place].is_open]


def within(entries: Sequence[Entry], begin_us: int, end_us: int) -> list[Entry]:
    """The segments, also open ones, that have some of a range of time (UTC)."""
    return [one for one in entries if _begin_us(one) < end_us and one.end_ns // 1000 >= begin_us]


def _begin_us(entry: Entry) -> int:
    if not SEGMENT_NAME.fullmatch(entry.name):
        return entry.end_ns // 1000
    return parse_compact_utc(entry.name[:16]) // 1000


def files_of(segment: StoredSegment, *, with_samples: bool) -> list[SegmentFile]:
    """What the description lists, and the description itself. StoreError where one is not as it says."""
    description = read_plain(segment.folder / DESCRIPTION, MAX_DESCRIPTION_BYTES)
    listed = [_checked(segment, file) for file in segment.description.files]
    wanted = [
        file
        for file in listed
        if not file.name.startswith(CAPTURE) and (with_samples or not file.name.startswith(f"{PROFILE}/"))
    ]
    return [SegmentFile(DESCRIPTION, len(description), digest_of(description)), *wanted]


def _checked(segment: StoredSegment, file: ListedFile) -> SegmentFile:
    path = segment.folder / file.name
    if not NAME.fullmatch(file.name) or file.bytes is None or not DIGEST.fullmatch(file.sha256):
        raise damaged_segment(f"{segment.folder / DESCRIPTION} lists a file that cannot be: '{file.name}'")
    try:
        status = path.lstat()
    except OSError as error:
        raise damaged_segment(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.bytes:
        raise damaged_segment(f"{path} is not the file that was sealed")
    return SegmentFile(file.name, file.bytes, file.sha256)
