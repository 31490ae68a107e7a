"""What a flame graph is compared with: the quiet seconds around it, or a stretch that somebody names.

Quiet are the seconds that `culprit` compares with: on the same cores, at most ten minutes before or after,
120 at most, without those of events and of saturated cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from necroscope.diagnosis.quiet_baseline.quiet_seconds import FARTHEST, quiet_seconds
from necroscope.errors import NoSamplesError
from necroscope.model.time_range import TimeRange, merged
from necroscope.model.timestamp import SECOND_NS, iso_utc
from necroscope.profiles.skip_unreadable import skip_unreadable
from necroscope.profiles.tally import tally
from necroscope.profiles.window import Selection, Split, Window, require_samples, touched, windows
from necroscope.signals.thresholds import Thresholds
from necroscope.store.store import Damage, StoredSegment
from necroscope.store.stored_events import events_between

AROUND_NS = (FARTHEST + 60) * SECOND_NS  # an event that lasts may begin before the first quiet second
MOST_TOLD = 3  # stretches that a title names one by one
NO_QUIET = "no quiet second is recorded within ten minutes of it"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The samples to compare with, and what they are, for a title."""

    window: Window
    text: str


def quiet_baseline(
    segments: list[StoredSegment],
    selection: Selection,
    thresholds: Thresholds,
    damaged: list[Damage],
    split: Split = "comm",
) -> Baseline:
    """The quiet seconds around a selection, on its cores. NoSamplesError: there are none."""
    wide = selection.widened(AROUND_NS)
    parts, left = skip_unreadable(
        lambda some: _quiet_parts(some, selection, thresholds, damaged), segments, wide, damaged
    )
    if not parts:
        raise NoSamplesError(NO_QUIET, hint="necroscope timeline shows what is recorded")
    found, _ = skip_unreadable(lambda some: windows(some, parts, split), left, wide, damaged)
    return Baseline(found, _quiet_text(parts, selection))


def named_baseline(
    segments: list[StoredSegment],
    selection: Selection,
    span: tuple[int, int],
    damaged: list[Damage],
    split: Split,
) -> Baseline:
    """Another stretch, in UTC, with the same filters. NoSamplesError: nothing of it is recorded."""
    part = replace(selection, begin_ns=span[0], end_ns=span[1], boot_id="", offset_ns=0)
    found, left = skip_unreadable(lambda some: windows(some, (part,), split), segments, part, damaged)
    if not found.seconds:
        require_samples(found, left)
    return Baseline(found, f"{part.seconds:.3g} s until {iso_utc(part.end_ns)}")


def _quiet_parts(
    segments: Sequence[StoredSegment], selection: Selection, thresholds: Thresholds, damaged: list[Damage]
) -> list[Selection]:
    near = touched(segments, selection)
    if not near:
        return []
    first = near[0]
    here = TimeRange(*selection.range_in(first))
    own = _of_its_boot(segments, first, here) if first.boot_id else near
    stored = events_between(segments, selection.widened(AROUND_NS), damaged)
    events = [one.event for one in stored if one.segment.boot_id == first.boot_id]
    starts = _captured(own, quiet_seconds(own, [here], events, selection.cpus, thresholds))
    offset_ns = selection.offset_in(first)
    whole = replace(selection, boot_id=first.boot_id, offset_ns=offset_ns)
    return [
        replace(whole, begin_ns=one.begin_ns + offset_ns, end_ns=one.end_ns + offset_ns)
        for one in merged(TimeRange(start, start + SECOND_NS) for start in starts)
    ]


def _of_its_boot(
    segments: Sequence[StoredSegment], first: StoredSegment, here: TimeRange
) -> list[StoredSegment]:
    """The segments of a boot that are near enough, by its own clock; of days, these are few."""
    around = here.widened(AROUND_NS)
    own = (s for s in segments if s.boot_id == first.boot_id)
    return [s for s in own if around.overlaps(s.begin_ns - s.offset_ns, s.end_ns - s.offset_ns)]


def _captured(segments: Sequence[StoredSegment], starts: Sequence[int]) -> list[int]:
    """Seconds with samples on any core: where there are none, nobody looked."""
    if not starts:
        return []
    counted = tally(segments, starts, (0,))  # who ran is not asked: of one core that is counted quickly
    return [start for start, samples in zip(counted.starts_ns, counted.everywhere, strict=True) if samples]


def _quiet_text(parts: Sequence[Selection], selection: Selection) -> str:
    count = round(sum(part.seconds for part in parts))
    what = f"{count} quiet second{'s' if count > 1 else ''}"
    day = iso_utc(selection.begin_ns)[:10]
    if len(parts) > MOST_TOLD:
        ends = _clock(parts[0].begin_ns, day), _clock(parts[-1].end_ns, day)
        return f"{what} in {len(parts)} stretches from {ends[0]} to {ends[1]}"
    told = [f"{_clock(part.begin_ns, day)} to {_clock(part.end_ns, day)}" for part in parts]
    return f"{what}, {' and '.join(filter(None, (', '.join(told[:-1]), told[-1])))}"


def _clock(utc_ns: int, day: str) -> str:
    """To the second, without the day that the title has."""
    text = iso_utc(utc_ns)
    return text[11:19] if text.startswith(day) else f"{text[:19]}Z"
